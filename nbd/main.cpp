// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pagecast-nbd help SCHEME SHARE SMALLEST INTERVAL PROCESS [WORD=VALUE]...: for pagecast run, the helper of a job, which ends with
// that process. Shares are per cent. Words: `helpers`, of all; `report`, a file; `ranks`, of a profile; and for each team of a
// profile's phase PHASE=RANK,RANK..., a phase being a hexadecimal number.
// pagecast-nbd serve: for the runtime, which hands over descriptors and memory (runtime/nbd/channel.h).
// pagecast-nbd measure URI SECONDS: for pagecast doctor.
#include "nbd/exchange.h"
#include "nbd/job_helper.h"
#include "nbd/measure.h"
#include "runtime/nbd/helper_start.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace pagecast;

namespace {

/// Nothing of the program's stays open here: who reads from a pipe of its must see it end.
void let_go_of_the_program(int first, bool keeps_errors = false) {
  const int nothing = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < (keeps_errors ? 2 : 3); ++fd) dup2(nothing, fd);
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  for (int fd = first; fd < 65536; ++fd) close(fd);
}

char *map(int fd, uint64_t bytes) {
  struct stat s{};
  if (fstat(fd, &s) || static_cast<uint64_t>(s.st_size) < bytes) return nullptr;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char *>(memory);
}

uint64_t bytes_of(int fd) {
  struct stat s{};
  return fstat(fd, &s) ? 0 : static_cast<uint64_t>(s.st_size);
}

/// A descriptor that is readable when who started this has ended, or begun another program. Negative: it cannot be had.
int make_end(int process) {
  const int ends = epoll_create1(EPOLL_CLOEXEC), ended = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  epoll_event readable{EPOLLIN, {}}, hung_up{EPOLLHUP, {}};
  if (ended >= 0) epoll_ctl(ends, EPOLL_CTL_ADD, ended, &readable);
  return epoll_ctl(ends, EPOLL_CTL_ADD, NbdChannel::kControl, &hung_up) ? -1 : ends;
}

int serve() {
  let_go_of_the_program(NbdChannel::kDescriptors);
  sigset_t all;
  sigfillset(&all); // what the terminal or the system sends is for the program, with which this ends
  sigprocmask(SIG_SETMASK, &all, nullptr);
  auto *channel =
      reinterpret_cast<NbdChannel *>(map(NbdChannel::kMemory, std::max(bytes_of(NbdChannel::kMemory), sizeof(NbdChannel))));
  if (!channel || channel->version != NbdChannel::kVersion || channel->channel_bytes > bytes_of(NbdChannel::kMemory)) return 1;
  char *staging = map(NbdChannel::kStaging, channel->staging_bytes);
  const int end = make_end(channel->process);
  if (!staging || end < 0) return 1;
  nbd::Exchange exchange(*channel, staging, end);
  if (!exchange.begin()) return 1;
  exchange.run();
  return 0;
}

/// The memory and the pipe of a job, which its members open by our process number. Null: they cannot be had.
Job *make_job() {
  int pipe[2];
  const int memory = static_cast<int>(syscall(SYS_memfd_create, "pagecast-job", 0));
  if (memory < 0 || ftruncate(memory, sizeof(Job)) || pipe2(pipe, O_NONBLOCK)) return nullptr;
  const int both = open(("/proc/self/fd/" + std::to_string(pipe[0])).c_str(), O_RDWR | O_NONBLOCK);
  // Aside first, since these numbers may be in use by one another.
  const int kept[] = {fcntl(memory, F_DUPFD, Job::kDescriptors), fcntl(both, F_DUPFD, Job::kDescriptors)};
  if (both < 0 || dup2(kept[0], Job::kMemory) < 0 || dup2(kept[1], Job::kPipe) < 0) return nullptr;
  auto *job = reinterpret_cast<Job *>(map(Job::kMemory, sizeof(Job)));
  if (!job || !os::lock_byte(Job::kMemory, Job::kHelperLock, false)) return nullptr;
  job->version = Job::kVersion;
  return job;
}

/// PHASE=RANK,RANK...
void add_team(const char *text, uint32_t number, nbd::JobScheme *scheme) {
  char *at;
  auto &phase = scheme->plan[strtoull(text, &at, 16)];
  while (*at) phase[strtoll(at + 1, &at, 10)] = number;
}

nbd::JobScheme scheme_of(int argc, char **argv) {
  nbd::JobScheme scheme;
  const std::string kind = argv[2];
  scheme.kind = kind == "reserved"   ? nbd::JobScheme::kAll
                : kind == "adaptive" ? nbd::JobScheme::kByProfile
                                     : nbd::JobScheme::kLive;
  scheme.rules = {atof(argv[3]) / 100, static_cast<uint32_t>(atoi(argv[4]))};
  scheme.interval = atof(argv[5]) / 100;
  for (int i = 7; i < argc; ++i) {
    const std::string word = argv[i], name = word.substr(0, word.find('='));
    if (name == "ranks") scheme.ranks = atoll(argv[i] + strlen("ranks="));
    else if (name == "helpers") scheme.helpers = static_cast<uint32_t>(std::max(1, atoi(argv[i] + strlen("helpers="))));
    else if (name == "report") scheme.report = word.substr(strlen("report="));
    else add_team(argv[i], static_cast<uint32_t>(i), &scheme);
  }
  return scheme;
}

int help(int argc, char **argv) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  Job *job = make_job();
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, atoi(argv[6]), 0));
  if (!job || ended < 0) return 1;
  const int kept = fcntl(ended, F_DUPFD, Job::kDescriptors);
  const char byte = 0;
  if (write(Job::kReady, &byte, 1) != 1 || dup2(kept, Job::kReady) < 0) return 1;
  const nbd::JobScheme scheme = scheme_of(argc, argv);
  let_go_of_the_program(Job::kDescriptors, scheme.kind == nbd::JobScheme::kByProfile); // whose misfits are said
  nbd::JobHelper(*job, scheme, Job::kReady).run();
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc >= 7 && !strcmp(argv[1], "help")) return help(argc, argv);
  if (argc == 2 && !strcmp(argv[1], "serve")) return serve();
  if (argc == 4 && !strcmp(argv[1], "measure")) return nbd::measure(argv[2], atof(argv[3]));
  fputs("pagecast-nbd is a part of Pagecast that it starts itself: pagecast run --backing nbd://HOST/ -- PROGRAM\n", stderr);
  return 2;
}
