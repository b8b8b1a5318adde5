// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// EMBAR: the "embarrassingly parallel" kernel of the NAS benchmarks, a Monte Carlo simulation. It
// stands for the simplest access of all: one large array, swept from its beginning to its end with
// stride 1, first written, then read, again and again. Nothing is kept: a page that was used is of no
// use until the next sweep, and with an array larger than memory, the page used longest ago, which an
// operating system gives up first, is the one that is wanted next.
//
// Array: x, 2 * pairs doubles (8 bytes each); --memory-size is the size of x.
// Each iteration (a batch of new random numbers):
//   generate  writes x once
//   tally     reads x once
// A batch needs nothing of the batch before it.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

#include <math.h>

enum { RINGS = 10 };

/// Accepted pairs become two independent normal deviates each.
struct tally {
  uint64_t ring[RINGS]; // pairs by the whole part of the larger absolute value; the last has the rest too
  uint64_t pairs;       // looked at
  double sum_x, sum_y;
  double squares; // of both
};

static const char help[] =
    "usage: embar --memory-size TOTAL [--iterations 3] [--seed 1] [--times]\n"
    "Makes normal deviates from pairs of uniform random numbers and counts them in square rings.\n"
    "Prints the counts and sums, and checks them against the normal distribution.\n"
    "  --memory-size TOTAL  bytes of the array of random numbers (units K, M, G are binary)\n"
    "  --iterations N       batches: the array is filled and read that many times\n"
    "  --seed S             of the random numbers\n"
    "  --times              seconds of each phase, on stderr\n";

/// Uniform in (-1, 1).
static void generate(double *x, size_t n, uint64_t *state) {
  for (size_t i = 0; i < n; i++)
    x[i] = 2.0 * next_unit(state) - 1.0;
}

/// The polar method: a point in the unit circle gives two deviates.
static void count(const double *x, size_t pairs, struct tally *tally) {
  for (size_t i = 0; i < pairs; i++) {
    double a = x[2 * i], b = x[2 * i + 1];
    double t = a * a + b * b;
    if (t > 1.0 || t == 0.0)
      continue;
    double scale = sqrt(-2.0 * log(t) / t);
    double gx = a * scale, gy = b * scale;
    double larger = fmax(fabs(gx), fabs(gy));
    tally->ring[larger < RINGS - 1 ? (int)larger : RINGS - 1] += 1;
    tally->sum_x += gx;
    tally->sum_y += gy;
    tally->squares += gx * gx + gy * gy;
  }
  tally->pairs += pairs;
}

static uint64_t accepted(const struct tally *tally) {
  uint64_t total = 0;
  for (int i = 0; i < RINGS; i++)
    total += tally->ring[i];
  return total;
}

/// Whether `count` of n tries is within six standard deviations of what `probability` lets expect.
/// A few more are allowed, because rare events are not normally distributed.
static int plausible(uint64_t count, double n, double probability) {
  double deviation = sqrt(n * probability * (1.0 - probability));
  return fabs((double)count - n * probability) <= 6.0 * deviation + 5.0;
}

static int consistent(const struct tally *tally) {
  const double quarter_pi = 0.78539816339744831;
  double n = (double)accepted(tally), sum_limit = 6.0 * sqrt(n);
  int good = plausible(accepted(tally), (double)tally->pairs, quarter_pi);
  for (int i = 0; i < RINGS - 1; i++) {
    double inner = erf(i / sqrt(2.0)), outer = erf((i + 1) / sqrt(2.0)); // of one deviate; a ring is square
    good = good && plausible(tally->ring[i], n, outer * outer - inner * inner);
  }
  // A deviate has variance 1; its square has mean 1 and variance 2.
  good = good && fabs(tally->sum_x) <= sum_limit && fabs(tally->sum_y) <= sum_limit;
  return good && fabs(tally->squares - 2.0 * n) <= 6.0 * sqrt(4.0 * n);
}

static void print(const struct tally *tally) {
  for (int i = 0; i < RINGS; i++)
    printf("ring %d: %llu\n", i, (unsigned long long)tally->ring[i]);
  printf("accepted: %llu\n", (unsigned long long)accepted(tally));
  printf("sums: %.15e %.15e\nsquares: %.15e\n", tally->sum_x, tally->sum_y, tally->squares);
}

int main(int argc, char **argv) {
  static uint64_t bytes, iterations = 3, seed = 1;
  static const struct app_option options[] = {
      {"--memory-size", &bytes}, {"--iterations", &iterations}, {"--seed", &seed}, {NULL, NULL}};
  parse_options(argc, argv, "embar", help, options);
  size_t pairs = (size_t)(bytes / (2 * sizeof(double)));
  if (pairs == 0 || iterations == 0)
    fail("nothing to do", "--memory-size must be 16 or more and --iterations 1 or more");

  double *x = (double *)allocate(2 * pairs, sizeof *x);
  struct tally tally = {0};
  uint64_t state = seed * 2654435761u + 88172645463325252u;
  for (uint64_t batch = 0; batch < iterations; batch++) {
    generate(x, 2 * pairs, &state);
    phase("generate");
    count(x, pairs, &tally);
    phase("tally");
  }
  free(x);
  printf("pairs: %zu, %llu batches\n", pairs, (unsigned long long)iterations);
  print(&tally);
  return verification(consistent(&tally));
}
