// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks of a graph's nodes, as of pages that link to each other: the edges are gone through again in each round, and the ranks that
// they name, few of them much more often than others, stay in use.
//
// Usage: ranks NODES EDGES ROUNDS. So many edges for each node.
#include "case.h"

/// Returns the ranks of the last round, which are in one of the two.
__attribute__((noinline)) static double *ranks_after(long rounds, const uint32_t *first, const uint32_t *from, double *rank, double *next,
                                                     long nodes) {
  for (long r = 0; r < rounds; r++) {
    for (long i = 0; i < nodes; i++) {
      double sum = 0;
      for (uint32_t e = first[i]; e < first[i + 1]; e++) sum += rank[from[e]];
      next[i] = 0.15 + 0.85 * sum / (first[i + 1] - first[i]);
    }
    double *last = rank;
    rank = next;
    next = last;
  }
  return rank;
}

int main(int argc, char **argv) {
  const long nodes = case_argument(argc, argv, 1, 100000), edges = case_argument(argc, argv, 2, 8), rounds = case_argument(argc, argv, 3, 3);
  uint32_t *first = case_memory((size_t)(nodes + 1) * sizeof *first), *from = case_memory((size_t)(nodes * edges) * sizeof *from);
  double *rank = case_memory((size_t)nodes * sizeof *rank), *next = case_memory((size_t)nodes * sizeof *next);
  uint64_t state = 3;
  for (long i = 0; i <= nodes; i++) first[i] = (uint32_t)(i * edges);
  for (long e = 0; e < nodes * edges; e++) {
    const double u = case_random(&state) / 2147483648.0;
    from[e] = (uint32_t)(u * u * u * (double)nodes);
  }
  for (long i = 0; i < nodes; i++) rank[i] = 1 + (double)(i % 3);
  const double since = case_now();
  rank = ranks_after(rounds, first, from, rank, next, nodes);
  case_pass(since);
  double sum = 0;
  for (long i = 0; i < nodes; i++) sum += rank[i] * (double)(i % 7);
  printf("%ld nodes, %.12e\n", nodes, sum);
  return 0;
}
