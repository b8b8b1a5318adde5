// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// overlapping FILE UNTIL HOW: reads parts of FILE until the file UNTIL is there, and says how many bytes. HOW: "direct", past the page
// cache; "mixed", an io_uring and reads that need none; "ring", all by an io_uring; "closed", so that no descriptor tells of it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kEntries = 8, kBytes = 4096, kRegisterRing = 20, kByIndex = 16, kSeconds = 20 };

static struct io_uring_params facts;
static char *asked, *answered;
static struct io_uring_sqe *entry;
static int ring;
static unsigned flags = IORING_ENTER_GETEVENTS;

static int set_up(int closes) {
  ring = (int)syscall(SYS_io_uring_setup, kEntries, &facts);
  if (ring < 0) return 0;
  asked = mmap(0, facts.sq_off.array + kEntries * sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
  answered = mmap(0, facts.cq_off.cqes + facts.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
  entry = mmap(0, kEntries * sizeof *entry, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
  struct { unsigned offset, unused; unsigned long long file; } one = {~0u, 0, (unsigned long long)ring};
  if (closes && syscall(SYS_io_uring_register, ring, kRegisterRing, &one, 1) == 1) {
    close(ring);
    ring = (int)one.offset;
    flags |= kByIndex;
  }
  return 1;
}

static int read_by_ring(int file, char *to, long offset) {
  unsigned *tail = (unsigned *)(asked + facts.sq_off.tail), *head = (unsigned *)(answered + facts.cq_off.head);
  const unsigned at = *tail % kEntries;
  memset(entry + at, 0, sizeof *entry);
  entry[at].opcode = IORING_OP_READ;
  entry[at].fd = file;
  entry[at].addr = (unsigned long)to;
  entry[at].len = kBytes;
  entry[at].off = (unsigned long)offset;
  ((unsigned *)(asked + facts.sq_off.array))[at] = at;
  __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring, 1, 1, flags, 0, 0) < 0) return -1;
  const struct io_uring_cqe *all = (struct io_uring_cqe *)(answered + facts.cq_off.cqes);
  const int result = all[*head % facts.cq_entries].res;
  __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
  return result;
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  const char *how = arguments[3];
  const int rings = !strcmp(how, "ring") || !strcmp(how, "closed"), file = open(arguments[1], O_RDONLY | (strcmp(how, "direct") ? 0 : O_DIRECT));
  if (strcmp(how, "direct") && !set_up(!strcmp(how, "closed"))) return 77;
  char *to = 0;
  if (file < 0 || posix_memalign((void **)&to, kBytes, kBytes)) return 1;
  long wrong = 0;
  alarm(kSeconds); // for nobody says anything
  for (long i = 0; access(arguments[2], F_OK); i++) {
    const long offset = i * 37 % 1024 * 65536;
    wrong += (rings ? read_by_ring(file, to, offset) : (int)pread(file, to, kBytes, offset)) != kBytes;
  }
  printf("wrong %ld\n", wrong);
  return 3;
}
