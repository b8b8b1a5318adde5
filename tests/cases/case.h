// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the programs here share: numbers that are the same everywhere, and the time of the pass that is measured.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/// The next of a sequence, the same on every machine.
static inline uint32_t case_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

static inline double case_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/// Says on standard error how long the pass took that began at `since`.
static inline void case_pass(double since) { fprintf(stderr, "case: pass %.3f s\n", case_now() - since); }

/// Argument number i, or what stands for it.
static inline long case_argument(int argc, char **argv, int i, long otherwise) { return argc > i ? atol(argv[i]) : otherwise; }

/// Memory, or the end of the program.
static inline void *case_memory(size_t bytes) {
  void *memory = malloc(bytes);
  if (!memory) {
    fputs("case: no memory\n", stderr);
    exit(3);
  }
  return memory;
}
