// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that change the protection of parts of their large data: mprotect splits the kernel's mappings, and what
// a program has made unreadable nobody else may read or lose. Prints what it saw; all of it is the same everywhere.
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MB ((size_t)1 << 20)
#define PAGE ((size_t)4096)

static void check(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static unsigned char *map(size_t bytes) {
  unsigned char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(p != MAP_FAILED, "mmap");
  return p;
}

static void protect(void *p, size_t bytes, int protection) { check(!mprotect(p, bytes, protection), "mprotect"); }

static void fill(unsigned char *p, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++) p[i] = (unsigned char)(i * 7 + (i >> 12) + seed);
}

static uint64_t digest(const unsigned char *p, size_t bytes) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 1099511628211u;
  return hash;
}

/// Drives everything else out of memory.
static void crowd(void) {
  static unsigned char *other;
  if (!other) other = map(28 * MB);
  fill(other, 28 * MB, 1);
  printf("crowd %016llx\n", (unsigned long long)digest(other, 28 * MB));
}

// --- what a signal handler sees ---------------------------------------------------------------------

static sigjmp_buf back;
static unsigned char *volatile touched;
static volatile int code;

static void on_fault(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)context;
  touched = info->si_addr;
  code = info->si_code;
  siglongjmp(back, 1);
}

/// Whether a touch of the byte is refused, with the address and the reason that the program may expect.
static const char *touch(volatile unsigned char *p, int store) {
  if (sigsetjmp(back, 1)) return touched == p && code == SEGV_ACCERR ? "refused" : "refused for another reason";
  if (store) *p = *p + 1;
  else (void)*p;
  return "allowed";
}

/// Opens the page that was touched, as a garbage collector does.
static volatile unsigned opened;
static void on_barrier(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)context;
  if (mprotect((void *)((uintptr_t)info->si_addr & ~(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE)) abort();
  opened++;
}

static void handle(void (*handler)(int, siginfo_t *, void *)) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  check(!sigaction(SIGSEGV, &action, NULL), "sigaction");
}

// --- the cases -----------------------------------------------------------------------------------------

/// One page at the end and one in the middle that nobody is to touch.
static void guard_pages(void) {
  const size_t bytes = 24 * MB + 6 * PAGE, middle = 11 * MB + 3 * PAGE;
  unsigned char *p = map(bytes);
  protect(p + bytes - PAGE, PAGE, PROT_NONE);
  protect(p + middle, PAGE, PROT_NONE);
  for (int round = 0; round < 2; round++) {
    fill(p, middle, 2 + round);
    fill(p + middle + PAGE, bytes - middle - 2 * PAGE, 3 + round);
    crowd();
    printf("guards %016llx %016llx, %s, %s, %s\n", (unsigned long long)digest(p, middle),
           (unsigned long long)digest(p + middle + PAGE, bytes - middle - 2 * PAGE), touch(p + middle, 0),
           touch(p + bytes - PAGE, 1), touch(p + bytes - PAGE - 1, 0));
  }
  check(!munmap(p, bytes), "munmap");
  p = map(bytes); // most likely the same place
  fill(p, bytes, 4);
  printf("anew %016llx\n", (unsigned long long)digest(p, bytes));
  check(!munmap(p, bytes), "munmap");
}

/// Every second page read-only: as many mappings as pages.
static void alternating(void) {
  const size_t bytes = 4 * MB;
  unsigned char *p = map(bytes);
  for (size_t i = 0; i < bytes; i += 2 * PAGE) protect(p + i, PAGE, PROT_READ);
  for (size_t i = PAGE; i < bytes; i += 2 * PAGE) fill(p + i, PAGE, (unsigned)(i >> 12));
  crowd();
  printf("alternating %016llx, %s, %s\n", (unsigned long long)digest(p, bytes), touch(p + 2 * MB, 1), touch(p + 2 * MB + PAGE, 1));
  check(!munmap(p, bytes), "munmap");
}

static void read_only_half(void) {
  const size_t bytes = 24 * MB;
  unsigned char *p = map(bytes);
  fill(p, bytes, 5);
  protect(p, bytes / 2, PROT_READ);
  for (int round = 0; round < 2; round++) {
    printf("read-only %016llx", (unsigned long long)digest(p, bytes));
    printf(", %s, %s, %s\n", touch(p, 1), touch(p + bytes / 2 - 1, 1), touch(p + bytes / 2, 1));
    crowd();
  }
  protect(p, bytes / 2, PROT_READ | PROT_WRITE);
  fill(p + MB, MB, 6);
  crowd();
  printf("writable %016llx\n", (unsigned long long)digest(p, bytes));
  check(!munmap(p, bytes), "munmap");
}

/// What is unreadable while memory is short keeps its contents.
static void unreadable(void) {
  const size_t bytes = 12 * MB;
  unsigned char *p = map(bytes);
  for (int round = 0; round < 2; round++) {
    fill(p, bytes, 7 + round);
    protect(p + 3 * PAGE, bytes - 5 * PAGE, PROT_NONE);
    crowd();
    printf("hidden: %s, %s\n", touch(p + 3 * PAGE, 0), touch(p + 2 * PAGE, 0));
    crowd();
    protect(p, bytes, PROT_READ | PROT_WRITE);
    printf("back %016llx\n", (unsigned long long)digest(p, bytes));
  }
  check(!munmap(p, bytes), "munmap");
}

/// A write barrier: each page is opened by the first store to it.
static void barrier(void) {
  const size_t bytes = 20 * MB;
  unsigned char *p = map(bytes);
  fill(p, bytes, 9);
  protect(p, bytes, PROT_NONE);
  handle(on_barrier);
  opened = 0;
  for (size_t i = 0; i < bytes; i += 16 * PAGE + 64) p[i]++;
  printf("opened %u\n", opened);
  protect(p, bytes, PROT_READ);
  printf("barrier %016llx\n", (unsigned long long)digest(p, bytes));
  handle(on_fault);
  check(!munmap(p, bytes), "munmap");
}

/// Locked memory does not become unlocked or lost.
static void locked(void) {
  const size_t bytes = 12 * MB;
  unsigned char *p = map(bytes);
  fill(p, bytes, 10);
  const int may = mlock(p + 2 * MB, 16 * PAGE) == 0;
  crowd();
  printf("locked %016llx\n", (unsigned long long)digest(p, bytes));
  if (may) check(!munlock(p + 2 * MB, 16 * PAGE), "munlock");
  check(!munmap(p, bytes), "munmap");
}

/// Indirect references whose index array ends at a guard page. Its last entries point far and wide.
__attribute__((noinline)) static uint64_t gather(const uint32_t *index, const uint64_t *from, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += from[index[i]] ^ i;
  return sum;
}

/// Rows that end at a mark: what follows it may not be read, though the loop's bound does not say so.
__attribute__((noinline)) static uint64_t gather_marked(const uint32_t *index, const uint64_t *from, size_t rows, size_t n) {
  uint64_t sum = 0;
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < n; i++) {
      if (index[i] == UINT32_MAX) break;
      sum += from[(index[i] + r * 4099) % (3 * MB)] ^ i;
    }
  return sum;
}

static void marked(void) {
  const size_t entries = 4096, targets = 3 * MB, tail = MB;
  unsigned char *whole = map(entries * sizeof(uint32_t) + tail);
  uint32_t *index = (uint32_t *)whole;
  uint64_t *from = (uint64_t *)map(targets * sizeof(uint64_t));
  fill(whole, entries * sizeof(uint32_t) + tail, 12); // the tail is in memory, too
  protect(whole + entries * sizeof(uint32_t), tail, PROT_NONE);
  for (size_t i = 0; i < targets; i++) from[i] = i * 2654435761u;
  for (size_t i = 0; i < entries; i++) index[i] = (uint32_t)(i * 2654435761u % targets);
  index[entries - 1] = UINT32_MAX;
  printf("marked %016llx\n", (unsigned long long)gather_marked(index, from, 8, entries + tail / 8));
  check(!munmap(whole, entries * sizeof(uint32_t) + tail) && !munmap(from, targets * sizeof(uint64_t)), "munmap");
}

static void slices(void) {
  const size_t entries = 2 * MB, targets = 3 * MB;
  const size_t bytes = entries * sizeof(uint32_t);
  unsigned char *map_of_index = map(bytes + PAGE);
  protect(map_of_index + bytes, PAGE, PROT_NONE);
  uint32_t *index = (uint32_t *)map_of_index;
  uint64_t *from = (uint64_t *)map(targets * sizeof(uint64_t)), x = 12345;
  for (size_t i = 0; i < targets; i++) from[i] = i * 2654435761u;
  for (size_t i = 0; i < entries; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    index[i] = (uint32_t)((x >> 33) % 4096 + i) % targets;
  }
  // In parts, while the next part of the array, ahead of where the program is, is hidden.
  uint64_t sum = 0;
  for (size_t part = 0; part < 8; part++) {
    const size_t begin = part * (entries / 8);
    if (part < 7) protect(map_of_index + bytes / 8 * (part + 1), bytes / 8, PROT_NONE);
    sum += gather(index + begin, from, entries / 8);
    if (part < 7) protect(map_of_index + bytes / 8 * (part + 1), bytes / 8, PROT_READ);
  }
  printf("slices %016llx %016llx\n", (unsigned long long)sum, (unsigned long long)gather(index, from, entries));
  check(!munmap(index, bytes + PAGE) && !munmap(from, targets * sizeof(uint64_t)), "munmap");
}

int main(void) {
  handle(on_fault);
  // Before anything is paged: the region comes after the guard.
  unsigned char *early = map(6 * MB);
  fill(early, 6 * MB, 11);
  protect(early + MB, 16 * PAGE, PROT_NONE);
  guard_pages();
  alternating();
  read_only_half();
  unreadable();
  barrier();
  locked();
  slices();
  marked();
  protect(early + MB, 16 * PAGE, PROT_READ);
  printf("early %016llx\n", (unsigned long long)digest(early, 6 * MB));
  return 0;
}
