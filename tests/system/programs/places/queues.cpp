// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Breadth-first searches with std::queue and std::deque over nodes of a page each, several times as many as memory holds.
#include <cstdint>
#include <cstdio>
#include <deque>
#include <queue>
#include <vector>

#ifndef NODES
#define NODES 18000
#endif
enum { Nodes = NODES, Edges = 3 };

struct Node {
  int to[Edges];
  int depth;
  char more[4096 - 4 * (Edges + 1)];
};

static uint64_t state = 88172645463325252u;
static unsigned number() {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (unsigned)(state >> 20);
}

__attribute__((noinline)) static uint64_t search(std::vector<Node> &nodes, int from) {
  std::queue<int> todo;
  todo.push(from);
  nodes[from].depth = 1;
  uint64_t sum = 0;
  while (!todo.empty()) {
    int u = todo.front();
    todo.pop();
    sum = sum * 31 + u;
    for (int v : nodes[u].to)
      if (nodes[v].depth == 0) {
        nodes[v].depth = nodes[u].depth + 1;
        todo.push(v);
      }
  }
  return sum;
}

struct Step {
  int at;
  int64_t way;
  double cost;
};

__attribute__((noinline)) static double visit(const std::vector<Node> &nodes, int from) {
  std::deque<Step> todo{{from, 0, 1}};
  std::vector<bool> seen(nodes.size());
  double sum = 0;
  while (todo.size() > 0) {
    const Step s = todo.front();
    todo.pop_front();
    sum += s.cost * nodes[s.at].depth;
    for (int v : nodes[s.at].to)
      if (!seen[v]) {
        seen[v] = true;
        todo.push_back({v, s.way + 1, s.cost * 0.99});
      }
  }
  return sum;
}

__attribute__((noinline)) static long by_levels(const std::vector<Node> &nodes, int from) {
  std::queue<int> todo;
  std::vector<bool> seen(nodes.size());
  todo.push(from);
  long sum = 0;
  for (long level = 1; !todo.empty(); level++)
    for (size_t left = todo.size(); left > 0; left--) {
      const Node &n = nodes[todo.front()];
      todo.pop();
      sum += level * n.depth;
      for (int v : n.to)
        if (!seen[v]) {
          seen[v] = true;
          todo.push(v);
        }
    }
  return sum;
}

int main() {
  std::vector<Node> nodes(Nodes);
  for (Node &n : nodes)
    for (int &to : n.to) to = (int)(number() % Nodes);
  printf("%lu\n", search(nodes, 1));
  printf("%.17g\n", visit(nodes, 2));
  printf("%ld\n", by_levels(nodes, 3));
}
