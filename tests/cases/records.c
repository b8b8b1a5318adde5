// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each turn reads a record with a call, and then goes over the rows of four tables that the record names: training of
// embeddings, sparse updates, key-value stores. Across turns nothing is known; at the start of a turn all of its rows are.
//
// Usage: records ROWS TURNS WIDTH
#include "case.h"

struct record {
  uint32_t from, to;
  double wanted;
};

static FILE *records(long rows, long turns) {
  FILE *file = tmpfile();
  uint64_t state = 5;
  for (long t = 0; file && t < turns; t++) {
    const struct record r = {case_random(&state) % (uint32_t)rows, case_random(&state) % (uint32_t)rows, (double)(t % 9)};
    if (fwrite(&r, sizeof r, 1, file) != 1) return NULL;
  }
  if (file) rewind(file);
  return file;
}

int main(int argc, char **argv) {
  const long rows = case_argument(argc, argv, 1, 10000), turns = case_argument(argc, argv, 2, 1000), width = case_argument(argc, argv, 3, 300);
  const size_t bytes = (size_t)(rows * width) * sizeof(double);
  double *near = case_memory(bytes), *far = case_memory(bytes), *near_slope = case_memory(bytes), *far_slope = case_memory(bytes);
  FILE *file = records(rows, turns);
  if (!file) return fputs("records: no file for them\n", stderr), 3;
  for (long i = 0; i < rows * width; i++) {
    near[i] = (double)(i % 17) * 0.01, far[i] = (double)(i % 19) * 0.01;
    near_slope[i] = far_slope[i] = 1;
  }
  const double since = case_now();
  double cost = 0;
  struct record r;
  while (fread(&r, sizeof r, 1, file) == 1) {
    double *a = near + r.from * width, *b = far + r.to * width, *as = near_slope + r.from * width, *bs = far_slope + r.to * width;
    double off = -r.wanted;
    for (long k = 0; k < width; k++) off += a[k] * b[k];
    for (long k = 0; k < width; k++) {
      const double da = 1e-5 * off * b[k], db = 1e-5 * off * a[k];
      a[k] -= da / as[k];
      b[k] -= db / bs[k];
      as[k] += da * da;
      bs[k] += db * db;
    }
    cost += off * off;
  }
  case_pass(since);
  printf("%.12e\n", cost);
  return 0;
}
