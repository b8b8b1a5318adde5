// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every way to get large memory, and to give parts of it back.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
static uint64_t hash = 14695981039346656037u;

static void fill(unsigned char *p, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++)
    p[i] = (unsigned char)(i * 7 + (i >> 12) + seed);
}

static void absorb(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ p[i]) * 1099511628211u;
}

static void check(int ok, const char *what) {
  if (!ok) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
  }
}

int main(void) {
  unsigned char *a = malloc(24 * MB), *b = calloc(3, 8 * MB), *c = NULL;
  check(a && b && !posix_memalign((void **)&c, 2 * MB, 16 * MB + 5), "allocation");
  check(((uintptr_t)c & (2 * MB - 1)) == 0, "alignment");
  fill(a, 24 * MB, 1);
  absorb(b, 24 * MB); // zero
  fill(c, 16 * MB + 5, 3);
  a = realloc(a, 40 * MB); // moves what is partly on the disk
  check(a != NULL, "realloc");
  memset(a + 24 * MB, 9, 16 * MB);
  absorb(a, 40 * MB);
  a = realloc(a, 30 * MB + 1); // shorter
  check(a != NULL, "shorter realloc");
  absorb(a, 30 * MB + 1);
  b = realloc(b, 1000); // small again
  absorb(b, 1000);
  unsigned char *m = mmap(NULL, 32 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(m != MAP_FAILED, "mmap");
  fill(m, 32 * MB, 5);
  check(!munmap(m + 8 * MB, 8 * MB), "munmap of the middle");
  check(!madvise(m + 16 * MB, 4 * MB, MADV_DONTNEED), "madvise");
  absorb(m, 8 * MB);
  absorb(m + 16 * MB, 16 * MB); // the first 4 MB are zero again
  unsigned char *moved = mremap(m + 16 * MB, 16 * MB, 20 * MB, MREMAP_MAYMOVE);
  check(moved != MAP_FAILED, "mremap");
  absorb(moved, 20 * MB);
  // System calls with buffers on pages that are not there.
  int pipes[2];
  check(!pipe(pipes), "pipe");
  for (size_t i = 0; i < 24 * MB; i += 3 * MB) {
    unsigned char back[5000];
    check(write(pipes[1], a + i, 5000) == 5000 && read(pipes[0], back, 5000) == 5000, "pipe transfer");
    absorb(back, 5000);
    check(write(pipes[1], a + i, 4096) == 4096 && read(pipes[0], c + i / 2, 4096) == 4096, "pipe into a region");
  }
  absorb(c, 16 * MB + 5);
  // A child that runs another program.
  pid_t child = fork();
  if (child == 0) execl("/bin/true", "true", (char *)NULL), _exit(127);
  int status = -1;
  check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "fork and exec");
  for (int round = 0; round < 50; round++) { // work arrays that come and go
    unsigned char *w = malloc(3 * MB);
    check(w != NULL, "malloc in a loop");
    fill(w, 3 * MB, (unsigned)round);
    absorb(w + MB, 4096);
    free(w);
  }
  absorb(a, 30 * MB);
  free(a), free(b), free(c);
  munmap(moved, 20 * MB), munmap(m, 8 * MB);
  printf("%016llx\n", (unsigned long long)hash);
  return 0;
}
