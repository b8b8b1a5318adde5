// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the programs of this folder share: their options, their failures, their times. A program is one
// source file and includes this once; nothing has to be linked. C11 and C++11.
//
//   static uint64_t bytes, iterations = 3;
//   static const struct app_option options[] = {
//       {"--memory-size", &bytes}, {"--iterations", &iterations}, {NULL, NULL}};
//   int main(int argc, char **argv) {
//     parse_options(argc, argv, "name", "usage: name --memory-size TOTAL ...\n", options);
//     double *a = (double *)allocate(n, sizeof *a);
//     ...
//     phase("fill"); // with --times, on stderr: the seconds since the phase before
//     return verification(residual < 1e-6);
//   }
#ifndef APPS_COMMON_H
#define APPS_COMMON_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/// An option that takes a number, with K, M or G (binary) behind it if it is large, or, where `value` is
/// NULL, a text. `value` or `text` holds the default before parsing. A table ends in {NULL, NULL}.
struct app_option {
  const char *name;
  uint64_t *value;
  const char **text;
};

static struct {
  const char *name;
  int times;    // --times was given
  double since; // when the phase began, seconds
} app = {"app", 0, 0};

/// Ends the program with status 2, which is never a failed verification (1).
static inline void fail(const char *what, const char *detail) {
  fprintf(stderr, "%s: %s: %s\n", app.name, what, detail);
  exit(2);
}

static inline uint64_t parse_number(const char *text) {
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  int shift = 0;
  if (*end == 'K' || *end == 'k')
    shift = 10;
  if (*end == 'M' || *end == 'm')
    shift = 20;
  if (*end == 'G' || *end == 'g')
    shift = 30;
  if (errno || end == text || text[0] < '0' || text[0] > '9' || (shift ? end[1] : end[0]) ||
      value > UINT64_MAX >> shift)
    fail("not a number such as 12 or 256M", text);
  return (uint64_t)value << shift;
}

/// Never NULL; not filled. Freed with free().
static inline void *allocate(size_t count, size_t size) {
  void *memory = size && count > SIZE_MAX / size ? NULL : malloc(count * size);
  if (!memory)
    fail("no memory", strerror(ENOMEM));
  return memory;
}

static inline double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/// Ends a phase. The first begins when the options have been parsed.
static inline void phase(const char *name) {
  double time = now();
  if (app.times)
    fprintf(stderr, "%s: %-10s %8.3f s\n", app.name, name, time - app.since);
  app.since = time;
}

/// Sets the values of `options` and sees to --help and --times itself. Without any argument the help
/// goes to stderr, with status 2.
static inline void parse_options(int argc, char **argv, const char *name, const char *help,
                                 const struct app_option *options) {
  app.name = name;
  for (int i = 1; i < argc; i++) {
    const struct app_option *option = options;
    if (!strcmp(argv[i], "--help")) {
      fputs(help, stdout);
      exit(0);
    }
    if (!strcmp(argv[i], "--times")) {
      app.times = 1;
      continue;
    }
    while (option->name && strcmp(option->name, argv[i]))
      option++;
    if (!option->name)
      fail("unknown option (--help lists them)", argv[i]);
    if (i + 1 == argc)
      fail(option->value ? "a number must follow" : "a word must follow", argv[i]);
    i++;
    if (option->value)
      *option->value = parse_number(argv[i]);
    else
      *option->text = argv[i];
  }
  if (argc < 2) {
    fputs(help, stderr);
    exit(2);
  }
  app.since = now();
}

/// The last line of every program, and its exit status.
static inline int verification(int passed) {
  printf("verification: %s\n", passed ? "passed" : "FAILED");
  return !passed;
}

/// For solvers: with every iteration a mean square falls to between `least` and `most` of what it was, until rounding
/// is all that is left.
static inline int fell_between(double least, double most, double first, double last, uint64_t iterations) {
  double low = first, high = first, rounding = 1e-20 * first;
  for (uint64_t i = 0; i < iterations; i++) {
    low = least * low;
    high = most * high;
  }
  return high > rounding ? low <= last && last <= high : last <= rounding;
}

/// xorshift64: the next state, never 0 if `*state` was not 0.
static inline uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/// Uniform in [0, 1).
static inline double next_unit(uint64_t *state) {
  return (double)(next_random(state) >> 11) / 9007199254740992.0;
}

#endif
