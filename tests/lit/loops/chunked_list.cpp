// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Worklists in chunks, as std::queue and std::deque keep them, run in rounds, too, and what is taken from their front is read
// by way of the table of chunks. That they do what they did: run/chunked_list.cpp.
// RUN: %nests "%s" -std=c++20 | %FileCheck "%s"

#include "../Inputs/graph.h"
#include <queue>
#include <stack>

// The load of the chunk's place comes first: what follows is three more loads away.
// CHECK-LABEL: nests of '{{.*}}search
// CHECK: sliced
// CHECK: backedges=(-1 + %round)
// CHECK: reads indirect element=4
// CHECK: reads indirect element=8 {{.*}} base=%speculated
// CHECK: reads indirect element=4 {{.*}} range=4
// CHECK: reads writes indirect element=4 {{.*}} base=%speculated
void search(const Graph &g, std::vector<int> &dist, int from) {
  std::queue<int> todo;
  todo.push(from);
  dist[from] = 0;
  while (!todo.empty()) {
    int u = todo.front();
    todo.pop();
    for (long e = g.first[u]; e < g.first[u + 1]; e++)
      if (dist[g.to[e]] < 0) {
        dist[g.to[e]] = dist[u] + 1;
        todo.push(g.to[e]);
      }
  }
}

// It ends where its size is 0, which is computed from both ends; what is in it is a structure; and it is given by reference.
struct item {
  long at;
  double way;
  int from;
};
// CHECK-LABEL: nests of '{{.*}}sized
// CHECK: backedges=(-1 + %round)
// CHECK: indirect element=8 {{.*}}
void sized(std::deque<item> &todo, double *__restrict best, const long *__restrict next) {
  while (todo.size() > 0) {
    item i = todo.front();
    todo.pop_front();
    long n = next[i.at];
    if (best[n] > i.way + 1) {
      best[n] = i.way + 1;
      todo.push_back({n, best[n], (int)i.at});
    }
  }
}

// Taken away at the end of an iteration.
// CHECK-LABEL: nests of '{{.*}}late
// CHECK: backedges=(-1 + %round)
// CHECK: indirect element=4
void late(std::queue<unsigned> &todo, int *__restrict seen, const unsigned *__restrict next) {
  while (!todo.empty()) {
    unsigned n = next[todo.front()];
    if (!seen[n]) {
      seen[n] = 1;
      todo.push(n);
    }
    todo.pop();
  }
}

// Level by level: it can be counted, but runs in rounds, since the table of chunks may move.
// CHECK-LABEL: nests of '{{.*}}level
// CHECK: backedges=(8191 umin (-1 + %left
// CHECK: indirect element=4
void level(std::queue<unsigned> &todo, int *__restrict seen, const unsigned *__restrict next) {
  for (unsigned long left = todo.size(); left > 0; left--) {
    unsigned n = next[todo.front()];
    todo.pop();
    if (!seen[n]) {
      seen[n] = 1;
      todo.push(n);
    }
  }
}

// Negative twin: nothing is added, and the loop is left as it is; its places are known all the same.
// CHECK-LABEL: nests of '{{.*}}counted
// CHECK-NOT: round
// CHECK: indirect element=8
long counted(std::queue<unsigned> &todo, const long *__restrict cost) {
  long sum = 0;
  for (unsigned long left = todo.size(); left > 0; left--) {
    sum += cost[todo.front()];
    todo.pop();
  }
  return sum;
}

// Negative twin: what comes next is what was added last.
// CHECK-LABEL: nests of '{{.*}}deep
// CHECK-NOT: round
void deep(std::stack<unsigned> &todo, int *__restrict seen, const unsigned *__restrict next) {
  while (!todo.empty()) {
    unsigned n = next[todo.top()];
    todo.pop();
    if (!seen[n]) {
      seen[n] = 1;
      todo.push(n);
    }
  }
}

// Negative twin: not each iteration takes something.
// CHECK-LABEL: nests of '{{.*}}sometimes
// CHECK-NOT: round
long sometimes(std::queue<unsigned> &todo, int *__restrict seen, const unsigned *__restrict next) {
  long sum = 0;
  while (!todo.empty()) {
    unsigned n = next[todo.front()];
    if (seen[n]++ & 1) todo.pop();
    sum += n;
  }
  return sum;
}

// Negative twin: what is put in front comes next.
// CHECK-LABEL: nests of '{{.*}}in_front
// CHECK-NOT: round
void in_front(std::deque<unsigned> &todo, int *__restrict seen, const unsigned *__restrict next) {
  while (!todo.empty()) {
    unsigned n = next[todo.front()];
    todo.pop_front();
    if (seen[n]) continue;
    seen[n] = 1;
    if (n & 1) todo.push_front(n);
    else todo.push_back(n);
  }
}

// Negative twin: the list is behind a pointer, and nobody says that its other end may be looked at.
// CHECK-LABEL: nests of '{{.*}}elsewhere
// CHECK-NOT: round
void elsewhere(std::queue<unsigned> *const *list, int *__restrict seen, const unsigned *__restrict next) {
  std::queue<unsigned> *todo = *list;
  while (!todo->empty()) {
    unsigned n = next[todo->front()];
    todo->pop();
    if (!seen[n]) {
      seen[n] = 1;
      todo->push(n);
    }
  }
}
