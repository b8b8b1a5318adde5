// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gathers whose places lie in a small part of an array for long, then anywhere, and so again. Prints how many were
// anywhere.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWords = 12 << 20, kHot = kWords / 24, kHotPlaces = 1500000, kColdPlaces = 8000, kPhases = 3 };

static uint64_t gather(const uint64_t *a, const uint32_t *place, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    uint64_t word = a[place[i]];
    for (unsigned k = 0; k < 16; k++) word = (word ^ word >> 29) * 6364136223846793005u; // slower than a slice
    sum += word;
  }
  return sum;
}

int main(void) {
  const size_t each = kHotPlaces + kColdPlaces, count = each * kPhases;
  uint64_t *a = malloc(kWords * sizeof *a), at = 1;
  uint32_t *place = malloc(count * sizeof *place);
  if (!a || !place) return 1;
  for (size_t i = 0; i < kWords; i++) a[i] = i * 2654435761u;
  for (size_t i = 0; i < count; i++) {
    at = at * 6364136223846793005u + 1442695040888963407u;
    place[i] = (uint32_t)((at >> 33) % (i % each < kHotPlaces ? kHot : kWords));
  }
  printf("%d %llx\n", kColdPlaces * kPhases, (unsigned long long)gather(a, place, count));
  return 0;
}
