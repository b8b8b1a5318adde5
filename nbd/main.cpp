// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pagecast-nbd serve: for the runtime, which hands over descriptors and memory (runtime/nbd/channel.h).
// pagecast-nbd measure URI SECONDS: for pagecast doctor.
#include "nbd/exchange.h"
#include "nbd/measure.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace pagecast;

namespace {

/// Nothing of the program's stays open here: who reads from a pipe of its must see it end.
void let_go_of_the_program() {
  const int nothing = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);
  if (syscall(SYS_close_range, NbdChannel::kDescriptors, ~0u, 0) == 0) return;
  for (int fd = NbdChannel::kDescriptors; fd < 65536; ++fd) close(fd);
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
  let_go_of_the_program();
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

} // namespace

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "serve")) return serve();
  if (argc == 4 && !strcmp(argv[1], "measure")) return nbd::measure(argv[2], atof(argv[3]));
  fputs("pagecast-nbd is a part of Pagecast that it starts itself: pagecast run --backing nbd://HOST/ -- PROGRAM\n", stderr);
  return 2;
}
