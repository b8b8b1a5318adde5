// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random slices through a volume of N x N x N floats in a file, as of a program that shows one. A slice at a place of z is
// contiguous; one at a place of y is strided, N rows of N floats. With --hints it says ahead which parts of the file a slice, and the next ones, will read.
//
// Build:  cc -O2 slices.c -lpagecast-hints -o slices
// Run:    ./slices [--hints] VOLUME N SLICES SEED [AXIS]     AXIS: y or z; default: some of each
#include <fcntl.h>
#include <pagecast/hints.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct slice {
  int axis;
  uint64_t place;
};

/// What is read at once: N parts, or one.
struct parts {
  uint64_t count, bytes, first, apart;
};

static uint64_t random_number(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/// Floats are at (z * N + y) * N + x.
static struct parts parts_of(struct slice slice, uint64_t n) {
  const uint64_t row = n * sizeof(float), plane = n * row;
  if (slice.axis == 'z')
    return (struct parts){1, plane, slice.place * plane, 0};
  return (struct parts){n, row, slice.place * row, plane};
}

/// Hints of whole slices, as long as there is room. Returns how many slices are hinted now.
static uint64_t hint(int file, uint64_t n, const struct slice *slices, uint64_t from, uint64_t count, struct pagecast_range *ranges) {
  for (; from < count; from++) {
    const struct parts parts = parts_of(slices[from], n);
    for (uint64_t i = 0; i < parts.count; i++)
      ranges[i] = (struct pagecast_range){parts.first + i * parts.apart, parts.bytes};
    if (pagecast_hint_queued() + parts.count > 2048 || pagecast_hint_file(file, ranges, parts.count) < (int)parts.count)
      break;
  }
  return from;
}

static uint64_t show(int file, struct parts parts, char *buffer) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < parts.count; i++) {
    const off_t at = (off_t)(parts.first + i * parts.apart);
    for (uint64_t done = 0; done < parts.bytes;) {
      const ssize_t n = pread(file, buffer, parts.bytes - done, at + (off_t)done);
      if (n <= 0)
        exit(1);
      for (ssize_t k = 0; k + 3 < n; k += 4) {
        uint32_t word;
        memcpy(&word, buffer + k, sizeof word);
        sum = sum * 31 + word;
      }
      done += (uint64_t)n;
    }
  }
  return sum;
}

int main(int count, char **arguments) {
  const int hints = count > 1 && !strcmp(arguments[1], "--hints");
  char **const a = arguments + hints;
  if (count - hints < 5)
    return fprintf(stderr, "usage: slices [--hints] VOLUME N SLICES SEED [AXIS]\n"), 2;
  const int file = open(a[1], O_RDONLY), axis = count - hints > 5 ? a[5][0] : 0;
  const uint64_t n = strtoull(a[2], NULL, 10), wanted = strtoull(a[3], NULL, 10);
  uint64_t seed = strtoull(a[4], NULL, 10) * 2 + 1, sum = 0, hinted = 0;
  struct slice *const slices = malloc(wanted * sizeof *slices);
  struct pagecast_range *const ranges = malloc(n * sizeof *ranges);
  char *const buffer = malloc(n * n * sizeof(float));
  if (file < 0 || !slices || !ranges || !buffer)
    return perror(a[1]), 1;
  for (uint64_t i = 0; i < wanted; i++) {
    slices[i].axis = axis ? axis : random_number(&seed) % 2 ? 'y' : 'z';
    slices[i].place = random_number(&seed) % n;
  }
  for (uint64_t i = 0; i < wanted; i++) {
    if (hints && hinted < wanted)
      hinted = hint(file, n, slices, hinted > i ? hinted : i, wanted, ranges);
    sum = sum * 31 + show(file, parts_of(slices[i], n), buffer);
  }
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
