// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads blocks of a slow file, and between the reads does what can be seen from outside. effects FILE DIRECTORY READS
// A copy that runs ahead would do all of it too early and twice, if it could: every count is printed at the end.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signals, breaks;
static void count_signal(int number) { (void)number, signals++; }
static void count_break(int number) { (void)number, breaks++; }

static char path[512];
static const char *in(const char *directory, const char *name, int number) {
  snprintf(path, sizeof path, "%s/%s%d", directory, name, number);
  return path;
}

/// Counts bytes until all writers are gone, and signals. A copy that kept the pipe open would make it wait for ever.
static pid_t start_counter(int *to, int *from) {
  int down[2], up[2];
  if (pipe(down) || pipe(up)) exit(3);
  const pid_t child = fork();
  if (child == 0) {
    close(down[1]);
    long counts[2] = {0, 0};
    char byte;
    for (ssize_t n; (n = read(down[0], &byte, 1)) == 1 || (n < 0 && errno == EINTR);) counts[0] += n == 1;
    counts[1] = signals;
    if (write(up[1], counts, sizeof counts) < 0) _exit(1);
    _exit(0);
  }
  close(down[0]);
  *to = down[1];
  *from = up[0];
  return child;
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  const char *const directory = arguments[2];
  const int file = open(arguments[1], O_RDONLY), reads = atoi(arguments[3]);
  struct stat facts;
  if (fstat(file, &facts)) return 3;
  signal(SIGRTMIN, count_signal);
  int to_child, from_child;
  const pid_t child = start_counter(&to_child, &from_child);
  const int shared_file = open(in(directory, "shared", 0), O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (ftruncate(shared_file, 4096)) return 3;
  volatile int *const shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared_file, 0);
  volatile int *const closed = mmap(NULL, 4096, PROT_READ, MAP_SHARED, shared_file, 0); // could be made writable
  volatile int *const anonymous = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int event = eventfd(0, EFD_NONBLOCK), log = open(in(directory, "log", 0), O_RDWR | O_CREAT | O_APPEND | O_TRUNC, 0644);
  const int sequence = open(in(directory, "sequence", 0), O_RDWR | O_CREAT | O_TRUNC, 0644);
  const int watched = epoll_create1(EPOLL_CLOEXEC);
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets)) return 3;
  mkfifo(in(directory, "fifo", 0), 0600);
  // Whoever opens this file breaks the lease on it, which is told by SIGIO.
  signal(SIGIO, count_break);
  const int leased = open(in(directory, "leased", 0), O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (write(leased, "leased", 6) != 6) return 3;
  const int leasing = fcntl(leased, F_SETLEASE, F_WRLCK) == 0; // not all file systems have leases
  // Memory of which pages are written, or taken out of the file, in turn.
  const int holes = open(in(directory, "holes", 0), O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (ftruncate(holes, 8 * 4096)) return 3;
  volatile char *const holed = mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, holes, 0);
  char held[8] = "";
  // A descriptor whose position this process shares with a child.
  const int common = open(in(directory, "common", 0), O_RDWR | O_CREAT | O_TRUNC, 0644);

  uint64_t sum = 0, state = 12345;
  long failures = 0, fifo_readers = 0;
  char block[4096];
  for (int i = 0; i < reads; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const off_t at = (off_t)((state >> 33) % (uint64_t)(facts.st_size / 4096)) * 4096;
    failures += pread(file, block, sizeof block, at) != sizeof block;
    for (size_t k = 0; k < sizeof block; k++) sum = sum * 31 + (unsigned char)block[k];
    shared[0]++;
    anonymous[0]++;
    if (i % 7 == 0) {
      mprotect((void *)closed, 4096, PROT_READ | PROT_WRITE);
      ((volatile int *)closed)[1]++;
    }
    dprintf(log, "%d\n", i);
    failures += write(sequence, "x", 1) != 1;
    // Whoever opened the FIFO for reading in the background would be seen here.
    const int writer = open(in(directory, "fifo", 0), O_WRONLY | O_NONBLOCK);
    fifo_readers += writer >= 0;
    if (writer >= 0) close(writer);
    const int reader = open(in(directory, "fifo", 0), O_RDONLY | O_NONBLOCK);
    if (reader >= 0) close(reader);
    if (i % 10) continue;
    const uint64_t one = 1;
    failures += write(to_child, "p", 1) != 1;
    kill(child, SIGRTMIN); // of these, each is queued
    const struct timespec moment = {0, 2000000};
    nanosleep(&moment, NULL);
    failures += write(event, &one, 8) != 8;
    // What is watched, all who share it see: it may be added once, and taken away once.
    struct epoll_event input = {.events = EPOLLIN}, seen;
    struct pollfd room = {.fd = sockets[0], .events = POLLOUT};
    failures += poll(&room, 1, -1) != 1;
    failures += epoll_ctl(watched, EPOLL_CTL_ADD, event, &input) != 0;
    failures += epoll_wait(watched, &seen, 1, 0) != 1;
    failures += epoll_ctl(watched, EPOLL_CTL_DEL, event, NULL) != 0;
    if (i % 30 == 10) failures += send(sockets[0], "s", 1, 0) != 1; // this ends a copy, and so would hide what comes after it
    const int page = i / 10 % 8;
    failures += holed[page * 4096] != held[page];
    if (i / 10 % 3 == 0) failures += madvise((void *)(holed + page * 4096), 4096, MADV_REMOVE) != 0;
    held[page] = i / 10 % 3 ? 'h' : 0;
    if (held[page]) holed[page * 4096] = held[page];
    const int made = creat(in(directory, "made", i), 0644);
    failures += write(made, "hello", 5) != 5;
    close(made);
    char other[512];
    snprintf(other, sizeof other, "%s/renamed%d", directory, i);
    if (i % 20 == 0) failures += rename(in(directory, "made", i), other) != 0;
    else if (i % 30 == 0) failures += unlink(in(directory, "made", i)) != 0;
    failures += mkdir(in(directory, "dir", i), 0755) != 0;
    if (i % 50 == 0) failures += rmdir(in(directory, "dir", i)) != 0;
    failures += flock(log, LOCK_EX | LOCK_NB) != 0;
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1};
    failures += fcntl(sequence, F_SETLK, &range) != 0;
    const struct timespec times[2] = {{1000, 0}, {1000 + i, 0}};
    futimens(sequence, times);
    fchmod(sequence, 0600 | (i / 10 % 8));
    symlink("nowhere", in(directory, "link", i));
    fallocate(shared_file, FALLOC_FL_KEEP_SIZE, 4096 + i, 4096);
    if (i % 30 != 20) continue; // so does this
    const pid_t brief = fork();
    if (brief == 0) _exit(write(common, "c", 1) == 1 ? i / 10 % 100 : 101);
    int status;
    failures += waitpid(-1, &status, 0) != brief || WEXITSTATUS(status) != i / 10 % 100; // and no other child is found
  }
  close(to_child);
  long counted[2] = {0, 0};
  failures += read(from_child, counted, sizeof counted) != sizeof counted;
  int status = 0;
  waitpid(child, &status, 0);
  failures += waitpid(-1, NULL, 0) != -1 || errno != ECHILD;
  uint64_t events = 0;
  failures += read(event, &events, 8) != 8;
  int sent = 0;
  for (char byte; recv(sockets[1], &byte, 1, 0) == 1;) sent++;
  fstat(sequence, &facts);
  printf("sum %016lx shared %d %d anonymous %d pipe %ld signals %ld child %d events %lu sent %d\n", sum, shared[0], shared[1],
         anonymous[0], counted[0], counted[1], status, events, sent);
  printf("sequence %ld mode %o fifo %ld failures %ld offset %ld\n", (long)facts.st_size, facts.st_mode,
         fifo_readers, failures, (long)lseek(sequence, 0, SEEK_CUR));
  printf("common %ld breaks %d lease %d\n", (long)lseek(common, 0, SEEK_CUR), (int)breaks, leasing == (fcntl(leased, F_GETLEASE) == F_WRLCK));
  return 0;
}
