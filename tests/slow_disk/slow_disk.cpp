// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A directory as it would be on slow storage: slow_disk DIRECTORY MOUNTPOINT SERVERS MILLISECONDS [MANNER], served through
// /dev/fuse until SIGTERM. Read-only.
//
// Files are striped over SERVERS by 64 KiB. A server answers one request at a time and takes MILLISECONDS for it; names and
// facts are on the server that their file's number says. What has been answered, the kernel keeps until it is told not to. There
// are two other manners: "forgets" keeps names and facts, but neither listings nor what is in files when they are opened again;
// "asks" asks a server at each open of a file.
//
// At its end it writes one line of JSON: what was asked for, and by whom (the names of threads).
//
// Example: 4 servers of 15 ms answer 266 requests a second, and one asker at a time gets 66.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <mutex>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace {

constexpr uint64_t kStripe = 64 << 10, kLargest = 1 << 20;
constexpr int kThreads = 96;
constexpr uint64_t kLong = 1 << 20; // seconds that the kernel may keep what it was told

int device = -1, servers = 4;
uint64_t latency = 0; // ns
std::string mountpoint;
bool forgets = false, asks = false;
std::atomic<uint64_t> requests, bytes, waiting, most_waiting;

uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

// ---- the servers: when each is free again -------------------------------------------------------------------------

std::mutex busy;
std::vector<uint64_t> free_at;

/// When the server with this number will have answered one more request.
uint64_t answered(uint64_t number) {
  uint64_t &free = free_at[number % free_at.size()];
  free = std::max(free, now()) + latency;
  return free;
}

void wait_until(uint64_t when) {
  const timespec time = {static_cast<time_t>(when / 1000000000u), static_cast<long>(when % 1000000000u)};
  const uint64_t now_waiting = ++waiting;
  for (uint64_t most = most_waiting; most < now_waiting && !most_waiting.compare_exchange_weak(most, now_waiting);) {}
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {}
  waiting--;
}

// ---- who has asked ---------------------------------------------------------------------------------------------------

struct Asked {
  uint64_t requests = 0, bytes = 0;
  uint64_t lists = 0; ///< requests for names, which are not among the others
};
std::mutex counting;
std::unordered_map<std::string, Asked> by_name;
std::unordered_map<uint32_t, std::string> names_of_threads;

std::string name_of_thread(uint32_t thread) {
  char path[64], name[32] = "?";
  snprintf(path, sizeof path, "/proc/%u/comm", thread);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = file < 0 ? 0 : read(file, name, sizeof name - 1);
  if (n > 0) name[n - 1] = 0;
  if (file >= 0) close(file);
  for (char &c : name)
    if (c == '"' || c == '\\') c = '_';
  return name;
}

/// With the lock.
Asked &asked_by(uint32_t thread) {
  std::string &name = names_of_threads[thread];
  if (name.empty() || name == "?") name = name_of_thread(thread);
  return by_name[name];
}

void count_for(uint32_t thread, uint64_t length) {
  const std::lock_guard lock(counting);
  Asked &asked = asked_by(thread);
  asked.requests++;
  asked.bytes += length;
}

void count_list_for(uint32_t thread) {
  const std::lock_guard lock(counting);
  asked_by(thread).lists++;
}

void print_counts() {
  const std::lock_guard lock(counting);
  printf("{\"requests\": %lu, \"bytes\": %lu, \"at_once\": %lu, \"by\": {", requests.load(), bytes.load(), most_waiting.load());
  const char *comma = "";
  for (const auto &[name, asked] : by_name) {
    printf("%s\"%s\": {\"requests\": %lu, \"bytes\": %lu, \"lists\": %lu}", comma, name.c_str(), asked.requests, asked.bytes,
           asked.lists);
    comma = ", ";
  }
  printf("}}\n");
  fflush(stdout);
}

void wait_for_facts(uint64_t inode) {
  requests++;
  uint64_t when;
  {
    const std::lock_guard lock(busy);
    when = answered(inode);
  }
  wait_until(when);
}

void wait_for_bytes(uint64_t inode, uint64_t offset, uint64_t length) {
  requests++;
  bytes += length;
  uint64_t when = 0;
  {
    const std::lock_guard lock(busy);
    for (uint64_t at = offset / kStripe; at <= (offset + (length ? length - 1 : 0)) / kStripe; at++)
      when = std::max(when, answered(inode + at));
  }
  wait_until(when);
}

// ---- names: a number stands for a path under the directory ----------------------------------------------------------

std::mutex naming;
std::unordered_map<uint64_t, std::string> paths;

std::string path_of(uint64_t node) {
  const std::lock_guard lock(naming);
  return paths[node];
}

fuse_attr attributes(const struct stat &s) {
  fuse_attr a = {};
  a.ino = s.st_ino;
  a.size = static_cast<uint64_t>(s.st_size);
  a.blocks = static_cast<uint64_t>(s.st_blocks);
  a.mtime = static_cast<uint64_t>(s.st_mtime);
  a.mode = s.st_mode;
  a.nlink = static_cast<uint32_t>(s.st_nlink);
  a.uid = s.st_uid;
  a.gid = s.st_gid;
  a.blksize = 4096;
  return a;
}

void reply(uint64_t unique, int error, const void *body, size_t length) {
  std::vector<char> out(sizeof(fuse_out_header) + length);
  fuse_out_header head = {static_cast<uint32_t>(out.size()), -error, unique};
  memcpy(out.data(), &head, sizeof head);
  if (length) memcpy(out.data() + sizeof head, body, length);
  if (write(device, out.data(), out.size()) < 0) return; // whoever asked may be gone
}

void answer_init(uint64_t unique) {
  fuse_init_out out = {};
  out.major = 7;
  out.minor = 31;
  out.max_readahead = kLargest;
  out.flags = FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES;
  out.max_background = 128;
  out.congestion_threshold = 96;
  out.max_write = kLargest;
  out.max_pages = kLargest >> 12;
  out.time_gran = 1;
  reply(unique, 0, &out, sizeof out);
}

void answer_lookup(uint64_t unique, uint64_t node, const char *name) {
  const std::string path = path_of(node) + "/" + name;
  struct stat facts;
  const int failure = lstat(path.c_str(), &facts) ? errno : 0;
  wait_for_facts(failure ? node : facts.st_ino);
  fuse_entry_out out = {};
  out.entry_valid = out.attr_valid = kLong;
  if (failure && failure != ENOENT) return reply(unique, failure, nullptr, 0);
  if (!failure) {
    out.nodeid = facts.st_ino == FUSE_ROOT_ID ? ~0ull : facts.st_ino;
    out.attr = attributes(facts);
    const std::lock_guard lock(naming);
    paths[out.nodeid] = path;
  }
  reply(unique, 0, &out, sizeof out); // number 0: there is none, and that is kept, too
}

void answer_facts(uint64_t unique, uint64_t node) {
  struct stat facts;
  if (lstat(path_of(node).c_str(), &facts)) return reply(unique, errno, nullptr, 0);
  wait_for_facts(facts.st_ino);
  fuse_attr_out out = {};
  out.attr_valid = kLong;
  out.attr = attributes(facts);
  reply(unique, 0, &out, sizeof out);
}

/// What the kernel's handle of an open directory is: all that is in it. A million names would take hours if each part of the answer began
/// with the first again.
struct Names {
  struct One {
    uint64_t number;
    uint32_t type;
    std::string name;
  };
  std::vector<One> all;
};

/// 0: it cannot be read.
uint64_t open_names(const std::string &path) {
  DIR *const directory = opendir(path.c_str());
  if (!directory) return 0;
  Names *const names = new Names;
  while (const dirent *const entry = readdir(directory)) names->all.push_back({entry->d_ino, entry->d_type, entry->d_name});
  closedir(directory);
  return reinterpret_cast<uint64_t>(names);
}

void answer_open(uint64_t unique, uint64_t node, bool directory) {
  const int file = directory ? -1 : open(path_of(node).c_str(), O_RDONLY | O_CLOEXEC);
  const uint64_t names = directory ? open_names(path_of(node)) : 0;
  if (directory ? !names : file < 0) return reply(unique, errno, nullptr, 0);
  fuse_open_out out = {};
  out.fh = directory ? names : static_cast<uint64_t>(file);
  if (!forgets) out.open_flags = FOPEN_KEEP_CACHE | (directory ? FOPEN_CACHE_DIR : 0);
  if (asks && !directory) wait_for_facts(node); // else its facts are known: no server is asked
  reply(unique, 0, &out, sizeof out);
}

void answer_read(uint64_t unique, uint64_t node, const fuse_read_in &in, uint32_t thread) {
  std::vector<char> data(in.size);
  const ssize_t n = pread(static_cast<int>(in.fh), data.data(), in.size, static_cast<off_t>(in.offset));
  if (n < 0) return reply(unique, errno, nullptr, 0);
  count_for(thread, static_cast<uint64_t>(n));
  wait_for_bytes(node, in.offset, static_cast<uint64_t>(n));
  reply(unique, 0, data.data(), static_cast<size_t>(n));
}

/// All names at once; what the kernel has no room for it asks for again.
void answer_names(uint64_t unique, uint64_t node, const fuse_read_in &in, uint32_t thread) {
  count_list_for(thread);
  const std::vector<Names::One> &all = reinterpret_cast<const Names *>(in.fh)->all;
  std::vector<char> out;
  if (in.offset == 0) wait_for_facts(node);
  for (uint64_t number = in.offset; number < all.size(); number++) {
    const Names::One &one = all[number];
    const size_t length = one.name.size(), room = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + length);
    if (out.size() + room > in.size) break;
    fuse_dirent made = {};
    made.ino = one.number;
    made.off = number + 1;
    made.namelen = static_cast<uint32_t>(length);
    made.type = one.type;
    const size_t at = out.size();
    out.resize(at + room);
    memcpy(out.data() + at, &made, FUSE_NAME_OFFSET);
    memcpy(out.data() + at + FUSE_NAME_OFFSET, one.name.data(), length);
  }
  reply(unique, 0, out.data(), out.size());
}

void answer_link(uint64_t unique, uint64_t node) {
  char target[4096];
  const ssize_t n = readlink(path_of(node).c_str(), target, sizeof target);
  if (n < 0) return reply(unique, errno, nullptr, 0);
  wait_for_facts(node);
  reply(unique, 0, target, static_cast<size_t>(n));
}

void answer_space(uint64_t unique) {
  fuse_statfs_out out = {};
  out.st = {1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096, 0, {}};
  reply(unique, 0, &out, sizeof out);
}

void answer(const char *request) {
  fuse_in_header in;
  memcpy(&in, request, sizeof in);
  const char *const body = request + sizeof in;
  fuse_read_in read = {};
  fuse_release_in release = {};
  switch (in.opcode) {
  case FUSE_INIT: return answer_init(in.unique);
  case FUSE_LOOKUP: return answer_lookup(in.unique, in.nodeid, body);
  case FUSE_GETATTR: return answer_facts(in.unique, in.nodeid);
  case FUSE_OPEN: return answer_open(in.unique, in.nodeid, false);
  case FUSE_OPENDIR: return answer_open(in.unique, in.nodeid, true);
  case FUSE_READLINK: return answer_link(in.unique, in.nodeid);
  case FUSE_STATFS: return answer_space(in.unique);
  case FUSE_READ:
  case FUSE_READDIR:
    memcpy(&read, body, sizeof read);
    return in.opcode == FUSE_READ ? answer_read(in.unique, in.nodeid, read, in.pid)
                                  : answer_names(in.unique, in.nodeid, read, in.pid);
  case FUSE_RELEASE:
  case FUSE_RELEASEDIR:
    memcpy(&release, body, sizeof release);
    if (in.opcode == FUSE_RELEASE) close(static_cast<int>(release.fh));
    else delete reinterpret_cast<Names *>(release.fh);
    return reply(in.unique, 0, nullptr, 0);
  case FUSE_FLUSH: return reply(in.unique, 0, nullptr, 0);
  case FUSE_FORGET:
  case FUSE_BATCH_FORGET:
  case FUSE_INTERRUPT: return;
  default: return reply(in.unique, ENOSYS, nullptr, 0);
  }
}

void serve() {
  std::vector<char> request(kLargest + (64 << 10));
  for (;;) {
    const ssize_t n = read(device, request.data(), request.size() - 1);
    if (n < 0 && (errno == EINTR || errno == ENOENT)) continue;
    if (n < 0) _exit(0); // unmounted
    request[static_cast<size_t>(n)] = 0;
    answer(request.data());
  }
}

} // namespace

int main(int count, char **arguments) {
  if (count != 5 && count != 6)
    return fprintf(stderr, "usage: slow_disk DIRECTORY MOUNTPOINT SERVERS MILLISECONDS [forgets|asks]\n"), 2;
  forgets = count == 6 && !strcmp(arguments[5], "forgets");
  asks = count == 6 && !strcmp(arguments[5], "asks");
  servers = atoi(arguments[3]);
  latency = static_cast<uint64_t>(atof(arguments[4]) * 1e6);
  mountpoint = arguments[2];
  if (servers < 1) return 2;
  free_at.assign(static_cast<size_t>(servers), 0);
  char *const root = realpath(arguments[1], nullptr);
  if (!root) return perror(arguments[1]), 1;
  paths[FUSE_ROOT_ID] = root;
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ends, signal);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  char options[128];
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,max_read=%lu", device, kLargest);
  if (device < 0 || mount("pagecast-slow", arguments[2], "fuse", MS_RDONLY | MS_NOSUID | MS_NODEV, options))
    return perror("slow_disk: cannot be mounted"), 1;
  for (int i = 0; i < kThreads; i++) std::thread(serve).detach();
  struct stat facts;
  if (stat(arguments[2], &facts)) return perror(arguments[2]), 1; // waits until it answers
  puts("ready");
  fflush(stdout);
  int signal;
  sigwait(&ends, &signal);
  print_counts();
  umount2(arguments[2], MNT_DETACH); // other threads may end the process now
  _exit(0);
}
