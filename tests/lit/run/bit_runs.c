// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over indices made by shifts and masks do what they did, whether they can go in runs or not: first iterations and numbers of
// them that are no multiples, masks that do not fit together, bits that overlap, counters that wrap, and what is left behind.
// RUN: %differential "%s" "%t"

#include <stdint.h>
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
enum { kPlaces = 1 << 12 };

static uint32_t a[2 * kPlaces];
static void fill(void) {
  for (uint32_t i = 0; i < 2 * kPlaces; i++) a[i] = i * 2654435761u;
}
static uint64_t sum(void) {
  uint64_t s = 0;
  for (uint32_t i = 0; i < 2 * kPlaces; i++) s = s * 31 + a[i];
  return s;
}

/// The number of the last place is left behind.
NOINLINE long shifts(long from, long to, int bit, int amount) {
  long last = -1;
  for (long i = from; i < to; i++) {
    long p = (long)((uint64_t)(i >> bit) << amount) | (i & ((1L << bit) - 1)), q = p | 1L << bit;
    p &= 2 * kPlaces - 1, q &= 2 * kPlaces - 1;
    uint32_t x = a[p], y = a[q];
    a[p] = x * 3 + y, a[q] = x - y;
    last = q;
  }
  return last;
}

NOINLINE void plain(long n, int bit) {
  for (long i = 0; i < n; i++) {
    long p = (i >> bit) << (bit + 1) | (i & ((1L << bit) - 1)), q = p | 1L << bit;
    uint32_t x = a[p], y = a[q];
    a[p] = x * 3 + y, a[q] = x - y;
  }
}

NOINLINE uint32_t masks(long from, long to, long low, long partner) {
  uint32_t left = 1;
  for (long i = from; i < to; i++) {
    long p = ((i & -low) << 1) | (i & (low - 1)), q = p ^ partner;
    p &= 2 * kPlaces - 1, q &= 2 * kPlaces - 1;
    left = left * 7 + a[p];
    a[q] += left;
  }
  return left;
}

NOINLINE void two_masks(long n, long one, long other) {
  for (long i = 0; i < n; i++) {
    long p = (((i & -other) << 1) | (i & (one - 1))) & (2 * kPlaces - 1);
    a[p] = a[p] * 5 + (uint32_t)i;
  }
}

/// Comes round.
NOINLINE void narrow(uint32_t from, uint32_t trips, unsigned bit) {
  uint32_t i = from;
  do {
    uint32_t p = (i >> bit) << (bit + 1) | (i & ((1u << bit) - 1));
    a[p & (2 * kPlaces - 1)] ^= i;
    i++;
  } while (--trips);
}

/// Of signed numbers.
NOINLINE void below_zero(long from, long to, long bit) {
  for (long i = from; i < to; i++) {
    long p = (i >> bit) * (2L << bit) + (i & ((1L << bit) - 1));
    a[p & (2 * kPlaces - 1)] += (uint32_t)p;
  }
}

/// The bits above are wanted beside.
NOINLINE uint64_t beside(long n, int bit) {
  uint64_t s = 0;
  for (long i = 0; i < n; i++) {
    long high = i >> bit, low = i & ((1L << bit) - 1);
    s = s * 3 + (uint64_t)(high - low);
    a[high << (bit + 1) | low] += (uint32_t)s;
  }
  return s;
}

/// The shift may be too short for the bits below.
NOINLINE uint64_t overlapping(uint64_t n, unsigned bit, unsigned amount) {
  uint64_t s = 0;
  for (uint64_t i = 0; i < n; i++) s = s * 3 + ((i >> bit) << amount | (i & ((1ul << bit) - 1)));
  return s;
}

/// The number begins again where the counter comes round, and need not be of the bits above the mask.
NOINLINE uint64_t numbers(uint32_t from, uint32_t trips, unsigned bit, unsigned low) {
  uint64_t s = 0;
  uint32_t i = from;
  do {
    s = s * 3 + (i >> bit) - (i & ((1u << low) - 1));
    i++;
  } while (--trips);
  return s;
}

/// Three masks, which need not be of one bit.
NOINLINE uint64_t masked(uint64_t n, uint64_t one, uint64_t two, uint64_t three) {
  uint64_t s = 0;
  for (uint64_t i = 0; i < n; i++) s = s * 3 + (i & -one) + (i & (two - 1)) * 5 + (i & (three - 1)) * 7;
  return s;
}

int main(void) {
  for (int bit = 0; bit < 12; bit++) {
    fill();
    plain(kPlaces, bit);
    plain(1L << bit, bit);
    plain(kPlaces - 48, bit);
    printf("%d: %lu\n", bit, sum());
    for (int amount = 0; amount < 14; amount += amount == bit ? 1 : 3)
      for (long from = 0; from < 96; from += 16) printf("%ld ", shifts(from, kPlaces - from % 64, bit, amount));
    printf("%ld ", shifts(-1024, 256, bit, bit + 1));
    for (long low = 1; low < 300; low += low < 130 ? low : 7)
      printf("%u ", masks(64, 64 + kPlaces / 2, low, low) + masks(0, kPlaces / 2, low, 1L << bit) + masks(3, 999, low, low));
    for (int other = 0; other < 12; other++) two_masks(kPlaces, 1L << bit, 1L << other);
    two_masks(kPlaces, 24, 24);
    narrow(0xffffff00u, 512, bit), narrow(0xfffffff0u, 17, bit), narrow(0x7fffff80u, 256, bit), narrow(32, 4096, bit);
    below_zero(-512, 512, bit), below_zero(INT64_MIN / 2, INT64_MIN / 2 + 640, bit);
    for (unsigned other = 0; other < 14; other++) printf("%lu ", overlapping(kPlaces, bit, other));
    for (unsigned other = bit; other < 12; other += 2)
      printf("%lu %lu ", numbers(64, 4096, bit, other), numbers(0xfffff800u, 4096, other, bit));
    for (uint64_t other = 16; other < 300; other += other < 130 ? other : 24)
      printf("%lu %lu ", masked(4096, 1ul << bit, 1ul << bit, other), masked(4096, other, 1ul << bit, 1ul << bit));
    printf("%lu %lu\n", beside(kPlaces, bit), sum());
  }
  return 0;
}
