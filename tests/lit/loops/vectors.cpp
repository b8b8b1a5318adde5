// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors that grow inside loops: where they are is loaded again, or computed anew, where they have needed more room. Their
// places are taken to be what they were before the loop, or the round of a worklist (worklists.c).
// REQUIRES: llvm-19
// RUN: %nests "%s" | %FileCheck "%s"

#include "../Inputs/graph.h"

// CHECK-LABEL: nests of '{{.*}}search
// CHECK: sliced
// CHECK: backedges=(-1 + %round)
// CHECK: group 0: reads index element=4 {{.*}}.resume
// CHECK: reads indirect element=8 {{.*}} base=%speculated
// CHECK: reads indirect element=4 {{.*}} base=%speculated{{.*}} range=4
// CHECK: reads writes indirect element=4 {{.*}} base=%speculated

// Two vectors that take turns. The bounds of rows are loaded again behind the calls; the range ends where pointers meet.
// CHECK-LABEL: nests of '{{.*}}levels
// CHECK: sliced
// CHECK: group 0: reads index element=4
// CHECK: reads indirect element=8 {{.*}} base=%speculated
// CHECK: reads indirect element=4 {{.*}} base=%speculated{{.*}} range=4
void levels(const Graph &g, std::vector<int> &dist, std::vector<int> &now, std::vector<int> &next) {
  for (int u : now)
    for (long e = g.first[u]; e < g.first[u + 1]; e++)
      if (dist[g.to[e]] < 0) {
        dist[g.to[e]] = dist[u] + 1;
        next.push_back(g.to[e]);
      }
}

// What is kept of a gather. Nobody says that the call that makes room, and is given a reference to the element, stores to it.
// CHECK-LABEL: nests of '{{.*}}kept
// CHECK: group 0: reads index element=4
// CHECK: group 1: reads indirect element=8 {{.*}} name=x
std::vector<double> kept(const double *x, const int *at, long n) {
  std::vector<double> result;
  for (long i = 0; i < n; i++)
    if (x[at[i]] > 0) result.push_back(x[at[i]]);
  return result;
}

// Negative twin: what is filled in order, from what is in order, would only be slower for a test in each iteration.
// CHECK-LABEL: nests of '{{.*}}filtered
// CHECK-NOT: nest 0
// CHECK: refused UnknownTripCount
void filtered(const std::vector<int> &x, std::vector<int> &result) {
  for (std::size_t i = 0; i < x.size(); i++)
    if (x[i] % 3 == 0) result.push_back(x[i]);
}

// Negative twin: a pointer that goes on is nowhere to be foreseen.
struct Node {
  Node *next;
  double value[100];
};
// CHECK-LABEL: nests of '{{.*}}chain
// CHECK-NOT: group
// CHECK-LABEL: nests of '{{.*}}last
double chain(Node *n, long most) {
  double sum = 0;
  for (long i = 0; i < most; i++) {
    sum += n->value[i % 100];
    if (n->next) n = n->next;
  }
  return sum;
}

void last(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i] += 1;
}
