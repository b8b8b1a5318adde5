// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Worklists that run in rounds visit what they did, in the same order: bounds that grow, shrink, jump over the counter, are
// in memory, or are left in the middle of a round.
// RUN: %differential "%s" "%t"

#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
enum { kNodes = 3000, kEdges = 4 };

static int queue[kNodes * 8], adj[kNodes * kEdges], dist[kNodes];
static unsigned seed = 12345;
static unsigned number(void) { return (seed = seed * 1103515245u + 12345u) >> 8; }

NOINLINE long search(int start) {
  int head = 0, tail = 0;
  queue[tail++] = start;
  dist[start] = 0;
  while (head < tail) {
    int u = queue[head++];
    for (int e = u * kEdges; e < (u + 1) * kEdges; e++)
      if (dist[adj[e]] < 0) {
        dist[adj[e]] = dist[u] + 1;
        queue[tail++] = adj[e];
      }
  }
  return tail;
}

// The list shrinks by what is left out, and ends early.
NOINLINE long shrinking(long tail, int wanted) {
  long sum = 0;
  for (long head = 0; head < tail; head++) {
    int v = queue[head];
    if (adj[v] == wanted) return sum - head;
    if (v % 7 == 3) tail -= 2;
    else if (v % 11 == 5 && tail < kNodes * 7) queue[tail++] = adj[v] / 2;
    sum = sum * 3 + adj[v] + dist[v];
  }
  return sum + tail;
}

// In steps of 3, with the bound among the places that the counter passes over.
NOINLINE long steps(unsigned tail) {
  long sum = 0;
  unsigned head = 0;
  do {
    int v = queue[head];
    sum = sum * 5 + adj[v];
    if (v & 1 && tail < kNodes * 7) tail++;
    head += 3;
  } while (head <= tail);
  return sum + head;
}

NOINLINE long pointers(int *from, int *to) {
  long sum = 0;
  while (from != to) {
    int v = *from--;
    sum = sum * 7 + adj[v];
    if (dist[v] > 0 && to > queue + 16) {
      dist[v] = -dist[v];
      *to-- = adj[v];
    }
  }
  return sum;
}

struct list {
  int *items;
  long tail;
};
NOINLINE long in_memory(struct list *l) {
  long sum = 0;
  for (long head = 0; head < l->tail; head++) {
    int v = l->items[head];
    sum = sum * 9 + dist[v];
    if (adj[v] % 5 == 0 && l->tail < kNodes * 7) l->items[l->tail++] = v / 2;
    if (adj[v] == 1) l->tail = head;
  }
  return sum + l->tail;
}

// Places come round: what was read is written over.
NOINLINE long ring(unsigned long mask, unsigned long tail, int turns) {
  long sum = 0;
  unsigned long head = 0;
  while (head != tail) {
    int v = queue[head++ & mask];
    sum = sum * 3 + dist[v] + adj[v];
    if (adj[v] % 3 && tail - head < mask && turns-- > 0) queue[tail++ & mask] = adj[v];
    if (adj[v] % 5 == 1 && head != tail) queue[--tail & mask] = v;
  }
  return sum + (long)tail;
}

int main(void) {
  for (int trial = 0; trial < 20; trial++) {
    for (int i = 0; i < kNodes; i++) dist[i] = -1;
    for (int i = 0; i < kNodes * kEdges; i++) adj[i] = (int)(number() % kNodes);
    for (int i = 0; i < kNodes * 8; i++) queue[i] = (int)(number() % kNodes);
    long tail = search(trial);
    printf("%ld %ld", tail, shrinking(tail, trial * 100));
    printf(" %ld %ld", shrinking(0, 0), steps(1000));
    printf(" %ld", pointers(queue + kNodes * 6, queue + kNodes * 5));
    struct list l = {queue, trial * 50};
    printf(" %ld", in_memory(&l));
    printf(" %ld %ld\n", ring(1023, 300, 5000), ring(15, 0, 10));
  }
  return 0;
}
