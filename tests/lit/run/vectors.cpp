// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors that grow, move and shrink inside the loops that go over them hold what they would.
// RUN: %differential "%s" "%t"

#include "../Inputs/graph.h"
#include <cstdio>
#define NOINLINE __attribute__((noinline))

static unsigned seed = 4711;
static unsigned number() { return (seed = seed * 1103515245u + 12345u) >> 8; }

static Graph random_graph(int nodes) {
  Graph g;
  for (int i = 0; i < nodes; i++) {
    g.first.push_back(long(g.to.size()));
    for (unsigned e = number() % 6; e > 0; e--) g.to.push_back(int(number() % unsigned(nodes)));
  }
  g.first.push_back(long(g.to.size()));
  return g;
}

NOINLINE static std::vector<int> levels(const Graph &g, int start) {
  std::vector<int> dist(g.first.size() - 1, -1), now{start}, next;
  dist[start] = 0;
  while (!now.empty()) {
    next.clear();
    for (int u : now)
      for (long e = g.first[u]; e < g.first[u + 1]; e++)
        if (dist[g.to[e]] < 0) {
          dist[g.to[e]] = dist[u] + 1;
          next.push_back(g.to[e]);
        }
    std::swap(now, next);
  }
  return dist;
}

// The list loses its end while it is gone over, and is thrown away altogether.
NOINLINE static long shrinking(std::vector<int> list, const std::vector<int> &value) {
  long sum = 0;
  for (std::size_t i = 0; i < list.size(); i++) {
    int v = value[list[i]];
    sum = sum * 3 + v;
    if (v % 3 == 0) list.pop_back();
    if (v % 5 == 1 && i < list.size() && list.size() < 3000) list.insert(list.begin() + long(i) + 1, v / 2);
    if (v % 397 == 7) list.clear();
  }
  return sum + long(list.size());
}

NOINLINE static std::vector<int> kept(const std::vector<int> &x, const std::vector<int> &at) {
  std::vector<int> result;
  for (std::size_t i = 0; i < at.size(); i++)
    if (x[at[i]] & 1) result.push_back(x[at[i]]);
  return result;
}

int main() {
  for (int trial = 0; trial < 6; trial++) {
    const int nodes = 200 + trial * 150;
    Graph g = random_graph(nodes);
    std::vector<int> dist(nodes, -1), order{trial};
    dist[trial] = 0;
    search(g, dist, order);
    long sum = 0;
    for (int v : order) sum = sum * 7 + v + dist[v];
    for (int d : levels(g, trial)) sum = sum * 5 + d;
    std::vector<int> value;
    for (int i = 0; i < nodes; i++) value.push_back(int(number() % unsigned(nodes)));
    sum += shrinking(value, value) + shrinking(order, value);
    for (int v : kept(value, order)) sum = sum * 11 + v;
    std::printf("%zu %ld\n", order.size(), sum);
  }
  return 0;
}
