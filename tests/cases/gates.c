// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gates on single bits of a state vector: pairs of places whose numbers differ in one bit. As "shifts", the numbers are
// made from the loop's counter by shifts and masks, as quantum simulators, Walsh transforms and FFT butterflies do; as
// "nest", the same places are gone through by two loops.
//
// Usage: gates BITS shifts|nest
#include "case.h"

#include <complex.h>
#include <string.h>

__attribute__((noinline)) static void by_shifts(double complex *state, long places, int bit) {
  const long low = (1L << bit) - 1, partner = 1L << bit;
  for (long pair = 0; pair < places / 2; pair++) {
    const long a = ((pair & ~low) << 1) | (pair & low), b = a | partner;
    const double complex x = state[a], y = state[b];
    state[a] = 0.8 * x - 0.6 * y;
    state[b] = 0.6 * x + 0.8 * y;
  }
}

__attribute__((noinline)) static void by_nest(double complex *state, long places, int bit) {
  const long partner = 1L << bit;
  for (long block = 0; block < places; block += 2 * partner)
    for (long a = block; a < block + partner; a++) {
      const double complex x = state[a], y = state[a + partner];
      state[a] = 0.8 * x - 0.6 * y;
      state[a + partner] = 0.6 * x + 0.8 * y;
    }
}

int main(int argc, char **argv) {
  const int bits = (int)case_argument(argc, argv, 1, 20), step = bits > 4 ? bits / 4 : 1;
  const int nest = argc > 2 && strcmp(argv[2], "nest") == 0;
  const long places = 1L << bits;
  double complex *state = case_memory((size_t)places * sizeof *state);
  for (long i = 0; i < places; i++) state[i] = (double)(i % 13) + (double)(i % 5) * I;
  const double since = case_now();
  for (int bit = 0; bit < bits; bit += step) {
    const double start = case_now();
    if (nest) by_nest(state, places, bit);
    else by_shifts(state, places, bit);
    fprintf(stderr, "case: bit-%d %.3f s\n", bit, case_now() - start);
  }
  case_pass(since);
  double sum = 0;
  for (long i = 0; i < places; i += 1021) sum += creal(state[i]) * (double)(i % 7) - cimag(state[i]);
  printf("%.12e\n", sum);
  return 0;
}
