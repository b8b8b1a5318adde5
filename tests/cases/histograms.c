// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Histograms of columns of bytes, through a list of rows in ascending order, as trees are grown by gradient boosting, and
// as column stores filter. The columns are gone through once, the list and what it names are gone through again for each.
//
// Usage: histograms ROWS COLUMNS KEEP. Of KEEP rows about one is in the list.
#include "case.h"

enum { kBins = 128 };

__attribute__((noinline)) static double column(const uint8_t *code, const uint32_t *list, long n, const float *slope, const float *weight) {
  double sum[kBins] = {0}, mass[kBins] = {0}, out = 0;
  for (long i = 0; i < n; i++) {
    const uint32_t r = list[i];
    sum[code[r]] += slope[r];
    mass[code[r]] += weight[r];
  }
  for (int b = 0; b < kBins; b++) out += sum[b] * b + mass[b];
  return out;
}

int main(int argc, char **argv) {
  const long rows = case_argument(argc, argv, 1, 1000000), columns = case_argument(argc, argv, 2, 8), keep = case_argument(argc, argv, 3, 1);
  uint8_t *code = case_memory((size_t)(rows * columns));
  float *slope = case_memory((size_t)rows * sizeof *slope), *weight = case_memory((size_t)rows * sizeof *weight);
  uint32_t *list = case_memory((size_t)rows * sizeof *list);
  uint64_t state = 11;
  long n = 0;
  for (long i = 0; i < rows * columns; i++) code[i] = case_random(&state) % kBins;
  for (long r = 0; r < rows; r++) {
    slope[r] = (float)(case_random(&state) & 0xffff) * 1e-4f;
    weight[r] = 1.0f + (float)(r % 3);
    if (case_random(&state) % (uint32_t)keep == 0) list[n++] = (uint32_t)r;
  }
  const double since = case_now();
  double out = 0;
  for (long c = 0; c < columns; c++) out += column(code + c * rows, list, n, slope, weight);
  case_pass(since);
  printf("%ld rows, %.12e\n", n, out);
  return 0;
}
