// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Worklists run in rounds, each of which can be counted. That they do what they did: run/worklists.c.
// RUN: %nests "%s" | %FileCheck "%s"

// CHECK-LABEL: nests of 'search'
// CHECK: nest 0: loops=1
// CHECK: backedges=(-1 + %round)
// CHECK: group 0: reads index element=4 {{.*}} name=queue
// CHECK: reads indirect {{.*}} name=off
// CHECK: reads indirect {{.*}} name=adj
// CHECK: indirect {{.*}} name=dist
long search(int *restrict queue, const long *restrict off, const int *restrict adj, int *restrict dist, long head, long tail) {
  while (head < tail) {
    int u = queue[head++];
    for (long e = off[u]; e < off[u + 1]; e++)
      if (dist[adj[e]] < 0) {
        dist[adj[e]] = dist[u] + 1;
        queue[tail++] = adj[e];
      }
  }
  return tail;
}

// Pointers, which go downwards, and are compared for equality.
// CHECK-LABEL: nests of 'pointers'
// CHECK: backedges=(-1 + %round)
// CHECK: group 0: reads index element=4 {{.*}} strides={-4}
// CHECK: group 1: {{.*}} indirect {{.*}} name=next
void pointers(unsigned *restrict from, unsigned *restrict to, unsigned *restrict next) {
  while (from != to) {
    unsigned *place = &next[*from--];
    if (*place) {
      *to-- = *place;
      *place = 0;
    }
  }
}

// The bound is in memory, and the loop stores to it.
// CHECK-LABEL: nests of 'in_memory'
// CHECK: backedges=(-1 + %round)
// CHECK: group 0: reads index element=4 {{.*}} name=queue
// CHECK: indirect {{.*}} name=seen
struct list {
  long tail;
};
void in_memory(struct list *l, const int *restrict queue, char *restrict seen) {
  for (long head = 0; head < l->tail; head++)
    if (!seen[queue[head]]) {
      seen[queue[head]] = 1;
      l->tail++;
    }
}

// A ring: places come round, and are read by a slice.
// CHECK-LABEL: nests of 'ring'
// CHECK: backedges=(-1 + %round)
// CHECK: reads indirect {{.*}} indices=0 {{.*}} name=queue
// CHECK: indirect {{.*}} name=seen
long ring(unsigned *restrict queue, unsigned long mask, const unsigned *restrict next, char *restrict seen, unsigned long tail) {
  unsigned long head = 0;
  while (head != tail) {
    unsigned u = queue[head++ & mask];
    if (!seen[next[u]]) {
      seen[next[u]] = 1;
      queue[tail++ & mask] = next[u];
    }
  }
  return (long)tail;
}

// Negative twin: one that may grow, and then turns at another place.
// CHECK-LABEL: nests of 'growing_ring'
// CHECK-NOT: round
// CHECK: refused UnknownTripCount
long growing_ring(unsigned *queue, unsigned long mask, const unsigned *next, char *seen, unsigned long tail) {
  unsigned long head = 0;
  while (head != tail) {
    unsigned u = queue[head++ & mask];
    if (!seen[next[u]]) {
      seen[next[u]] = 1;
      queue[tail++ & mask] = next[u];
    }
    mask = mask * 2 + 1;
  }
  return (long)tail;
}

// Negative twin: nothing leads from the list to anywhere.
// CHECK-LABEL: nests of 'only_a_list'
// CHECK-NOT: round
// CHECK: refused UnknownTripCount
long only_a_list(const int *queue, long tail) {
  long sum = 0;
  for (long head = 0; head < tail; head++) {
    sum += queue[head];
    if (queue[head] & 1) tail += 2;
  }
  return sum;
}

// Negative twin: what is taken from the list is its end.
// CHECK-LABEL: nests of 'stack'
// CHECK-NOT: round
long stack(int *restrict list, const int *restrict next, long top) {
  long sum = 0;
  while (top > 0) {
    int u = list[--top];
    sum += u;
    if (next[u]) list[top++] = next[u];
  }
  return sum;
}

// Negative twin: the bound stays, and the loop can be counted as it is.
// CHECK-LABEL: nests of 'stays'
// CHECK-NOT: round
// CHECK: backedges=
void stays(long *restrict count, const int *restrict key, const long *restrict n) {
  for (long i = 0; i < *n; i++)
    count[key[i]]++;
}
