// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph as rows of neighbours in vectors, and its breadth-first search over a list that grows while it is gone over.
#include <cstddef>
#include <vector>

struct Graph {
  std::vector<long> first;
  std::vector<int> to;
};

__attribute__((noinline)) void search(const Graph &g, std::vector<int> &dist, std::vector<int> &order) {
  for (std::size_t i = 0; i < order.size(); i++) {
    int u = order[i];
    for (long e = g.first[u]; e < g.first[u + 1]; e++)
      if (dist[g.to[e]] < 0) {
        dist[g.to[e]] = dist[u] + 1;
        order.push_back(g.to[e]);
      }
  }
}
