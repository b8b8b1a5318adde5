// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Worklists in chunks that run in rounds visit what they did, in the same order: std::queue and std::deque of several sizes of
// elements, whose tables move, which are left in the middle of a round, by exceptions too, or are emptied and filled again.
// RUN: %differential "%s" "%t" -std=c++20

#include <algorithm>
#include <cstdio>
#include <deque>
#include <queue>
#include <stdexcept>
#include <vector>

#define NOINLINE __attribute__((noinline))

enum { Nodes = 20000, Edges = 3 };
static std::vector<int> to(Nodes * Edges + 8), dist(Nodes);
static unsigned seed = 12345;
static unsigned number() { return (seed = seed * 1103515245u + 12345u) >> 8; }

NOINLINE static long search(int from, int wanted) {
  std::queue<int> todo;
  todo.push(from);
  dist[from] = 0;
  long sum = 0;
  while (!todo.empty()) {
    int u = todo.front();
    todo.pop();
    sum = sum * 3 + u;
    if (u == wanted) return -sum;
    for (int e = u * Edges; e < (u + 1) * Edges; e++)
      if (dist[to[e]] < 0) {
        dist[to[e]] = dist[u] + 1;
        todo.push(to[e]);
      }
  }
  return sum;
}

template <int Bytes> struct item {
  int at, depth;
  char pad[Bytes - 7];
};

template <int Bytes> NOINLINE static long sized(std::deque<item<Bytes>> &todo, int turns) {
  long sum = 0;
  while (todo.size() > 0) {
    item<Bytes> i = todo.front();
    todo.pop_front();
    sum = sum * 5 + dist[i.at] + i.depth;
    if (turns-- > 0)
      for (int k = 0; k < i.at % 3; k++) todo.push_back({to[i.at * Edges + k], i.depth + 1, {}});
    if (turns % 1000 == 7) todo.clear(), todo.push_back({turns > 0 ? turns % Nodes : 0, 0, {}});
  }
  return sum;
}

NOINLINE static long levels(std::queue<unsigned short> &todo, int most) {
  long sum = 0;
  int level = 0;
  while (!todo.empty() && level < most) {
    for (size_t left = todo.size(); left > 0; left--) {
      unsigned u = todo.front();
      todo.pop();
      sum += dist[u] * level;
      if (dist[u] % 4) todo.push(to[u]);
      if (dist[u] % 3 == 0 && todo.size() < 2500) todo.push(to[u + 1]);
    }
    level++;
  }
  return sum + level;
}

struct thrower {
  std::queue<long> todo;
  NOINLINE long run(int when, int more) {
    long sum = 0;
    while (!todo.empty()) {
      long u = todo.front();
      if (--when == 0) throw std::runtime_error("enough");
      sum = sum * 7 + to[u];
      if (dist[u] & 1 && more-- > 0) todo.push(to[u + 2]);
      todo.pop();
    }
    return sum;
  }
};

NOINLINE static long both_ends(std::deque<int> &todo, int turns) {
  long sum = 0;
  while (!todo.empty()) {
    int u = todo.front();
    todo.pop_front();
    sum = sum * 11 + dist[u];
    if (turns-- <= 0) continue;
    if (u % 5 == 0 && !todo.empty()) todo.pop_back();
    if (u % 3) todo.push_back(to[u]);
    else todo.push_front(to[u + 1]);
  }
  return sum;
}

int main() {
  for (int &t : to) t = (int)(number() % Nodes);
  for (int trial = 0; trial < 6; trial++) {
    std::fill(dist.begin(), dist.end(), -1);
    printf("%ld", search(trial, trial % 2 ? -1 : (int)(number() % Nodes)));
    std::deque<item<9>> small;
    std::deque<item<24>> odd;
    std::deque<item<600>> large;
    for (int i = 0; i < trial * 700 + 1; i++) small.push_back({i, 0, {}}), odd.push_back({i, 1, {}}), large.push_back({i, 2, {}});
    printf(" %ld %ld %ld", sized(small, 30000), sized(odd, 30000), sized(large, 3000));
    std::queue<unsigned short> todo;
    for (int i = 0; i < 900; i++) todo.push((unsigned short)(number() % Nodes)); // its slice goes over a whole round at each strip
    printf(" %ld %zu", levels(todo, 16), todo.size());
    thrower t;
    for (int i = 0; i < 4000; i++) t.todo.push(number() % Nodes);
    try {
      printf(" %ld", t.run(trial < 5 ? 1000 * trial + 1 : -1, 9000));
    } catch (const std::runtime_error &) {
      printf(" %zu %ld", t.todo.size(), t.todo.front());
    }
    std::deque<int> ends(1000, 3); // of eight chunks; the slice of each short round goes over all that there is
    printf(" %ld\n", both_ends(ends, 10000));
  }
}
