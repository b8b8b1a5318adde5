// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches: inner loops that end when they have found something are hinted for where they begin, or go.
// REQUIRES: llvm-19
// RUN: %nests "%s" | %FileCheck "%s"

#include "../Inputs/lower_bound.h"

LOWER_BOUND(place_of_long, long)
LOWER_BOUND(place_of_double, double)
LOWER_BOUND(place_of_long_double, long double)

struct slot { long key, value; };
static inline unsigned long hash(long key) { return ((unsigned long)key * 0x9E3779B97F4A7C15u) >> 7; }

// CHECK-LABEL: nests of 'probe'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=64
// CHECK: group 0: reads index element=8 {{.*}} strides={8} {{.*}} name=key
// CHECK-NEXT: group 1: reads indirect element=8 [0, 16) base=%t indices=1 {{.*}} name=t
// CHECK-NEXT: group 2: reads indirect conditional element=8 {{.*}} name=t
// CHECK-NOT: {{nest|refused}}
long probe(const struct slot *t, unsigned long mask, const long *key, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    for (unsigned long p = hash(key[i]) & mask; t[p].key; p = (p + 1) & mask)
      if (t[p].key == key[i]) {
        s += t[p].value;
        break;
      }
  return s;
}

// What was found at once is where the search begins.
// CHECK-LABEL: nests of 'insert'
// CHECK: group 1: reads writes indirect element=8 [0, 16) base=%t indices=1 members=4
// CHECK-NOT: {{nest|refused}}
void insert(struct slot *t, unsigned long mask, const long *key, long n) {
  for (long i = 0; i < n; i++) {
    unsigned long p = hash(key[i]) & mask;
    while (t[p].key && t[p].key != key[i])
      p = (p + 1) & mask;
    t[p].key = key[i];
    t[p].value += i;
  }
}

// CHECK-LABEL: nests of 'chained'
// CHECK: group 1: reads indirect element=4 {{.*}} name=head
// CHECK-NEXT: group 2: reads indirect conditional element=8 [0, 16) {{.*}} name=row
// CHECK-NEXT: group 3: reads indirect conditional element=4 {{.*}} name=next
// CHECK-NOT: {{nest|refused}}
long chained(const int *head, const int *next, const struct slot *row, const long *key, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    for (int j = head[hash(key[i])]; j >= 0; j = next[j])
      if (row[j].key == key[i])
        s += row[j].value;
  return s;
}

// In rows.
// CHECK-LABEL: nests of 'intersect'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 sliced
// CHECK: group 1: reads indirect element=4 {{.*}} range=4 {{.*}} name=list
// CHECK-NEXT: group 2: reads indirect element=4 [0, 8) {{.*}} name=first
// CHECK-NEXT: group 3: reads indirect conditional {{.*}} name=list
// CHECK-NEXT: group 4: reads indirect conditional {{.*}} name=list
// CHECK-NOT: {{nest|refused}}
long intersect(const int *first, const int *list, int n) {
  long common = 0;
  for (int v = 0; v < n; v++)
    for (int k = first[v]; k < first[v + 1]; k++) {
      int a = first[v], b = first[list[k]];
      while (a < first[v + 1] && b < first[list[k] + 1]) {
        if (list[a] < list[b]) a++;
        else if (list[a] > list[b]) b++;
        else common++, a++, b++;
      }
    }
  return common;
}

// One search in another.
// CHECK-LABEL: nests of 'descend'
// CHECK: group 2: reads indirect conditional element=8 [0, 72) base=0 indices=2
// CHECK-NOT: {{nest|refused}}
struct node { long key[8]; struct node *child[8]; struct node *next; };
long descend(struct node *const *root, const long *key, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    for (const struct node *p = root[i]; p;) {
      int c = 0;
      while (p->key[c] < key[i]) c++;
      s += c;
      p = p->child[c];
    }
  return s;
}

// All begin at the same place: a slice goes on with them by itself.
// CHECK-LABEL: nests of 'sorted'
// CHECK: group 0: reads index element=8 {{.*}} name=key
// CHECK-NEXT: group 1: reads indirect conditional element=8 [0, 8) base=%a indices=1 {{.*}} name=a
// CHECK-NOT: {{group|nest|refused}}
long sorted(const long *a, long m, const long *key, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    s += place_of_long(a, m, key[i]);
  return s;
}

// So they do where keys are floating-point numbers.
// CHECK-LABEL: nests of 'sorted_numbers'
// CHECK: group 0: reads index element=8 {{.*}} name=key
// CHECK-NEXT: group 1: reads indirect conditional element=8 [0, 8) base=%a indices=1 {{.*}} name=a
// CHECK-NOT: {{group|nest|refused}}
long sorted_numbers(const double *a, long m, const double *key, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    s += place_of_double(a, m, key[i]);
  return s;
}

// What it has found leads on.
// CHECK-LABEL: nests of 'joined'
// CHECK: name=key
// CHECK-NEXT: group 1: reads indirect conditional element=8 {{.*}} name=a
// CHECK-NEXT: group 2: reads indirect {{.*}}element=4 {{.*}} name=value
// CHECK-NOT: {{group|nest|refused}}
long joined(const long *a, const int *value, long m, const long *key, long n) {
  long s = 0;
  for (long i = 0; i < n; i++) {
    long from = 0, to = m;
    while (from < to) {
      long middle = (from + to) / 2;
      if (a[middle] < key[i]) from = middle + 1;
      else to = middle;
    }
    s += value[from];
  }
  return s;
}

// Negative twins: it cannot be followed where numbers that slices do not have are compared, and all begin at the same place,
// CHECK-LABEL: nests of 'sorted_long'
// CHECK: group 0: reads element=10 {{.*}} name=key
// CHECK-NOT: group
// CHECK: refused UnknownTripCount
long sorted_long(const long double *a, long m, const long double *key, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    s += place_of_long_double(a, m, key[i]);
  return s;
}

// or a function says where it goes on,
// CHECK-LABEL: nests of 'asked'
// CHECK: name=first
// CHECK-NEXT: group 1: reads indirect {{.*}} name=value
// CHECK-NOT: group
long asked(const int *value, const int *first, int (*next)(int), long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    for (int j = first[i]; j >= 0; j = next(j))
      s += value[j];
  return s;
}

// Loops that are no searches in one that might be, as of a sort: what goes round in them is gone through once.
// CHECK-LABEL: nests of 'partitions'
// CHECK-LABEL: nests of 'rolling'
void partitions(long *a, const long *from, const long *to, long n) {
  for (long i = 0; i < n; i++) {
    long *p = a + from[i], *q = a + to[i];
    for (;;) {
      while (*p < a[0]) ++p;
      --q;
      while (a[0] < *q) --q;
      if (p >= q) break;
      long t = *p;
      *p = *q;
      *q = t;
      ++p;
    }
    a[i] = p - q;
  }
}

// where it begins depends on the searches before,
// CHECK: group 0: {{.*}} name=text
// CHECK-NOT: group
// CHECK: refused LoopCarried
// CHECK: refused UnknownTripCount
long rolling(const struct slot *t, unsigned long mask, const unsigned char *text, long n) {
  long s = 0;
  unsigned long word = 0;
  for (long i = 0; i < n; i++) {
    word = word << 2 ^ text[i] ^ word >> 40;
    for (unsigned long p = hash(word) & mask; t[p].key; p = (p + 1) & mask) {
      s += t[p].value;
      word ^= p;
    }
  }
  return s;
}

// nothing around it can be counted,
// CHECK-LABEL: nests of 'alone'
// CHECK-NEXT: refused UnknownTripCount
long alone(const int *next, const int *value, int i) {
  long s = 0;
  for (; i >= 0; i = next[i])
    s += value[i];
  return s;
}

// what goes on with what a search has found knows where that is,
// CHECK-LABEL: nests of 'behind'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=8
// CHECK: group 0: reads writes element=8 [0, 8) base=((8 * %m * %j.0) + %a) strides={8}
// CHECK-NOT: group
// CHECK: refused UnknownTripCount
void behind(double *restrict a, const int *restrict next, long n, long m) {
  for (long i = 0; i < n; i++) {
    long j = i;
    while (next[j] >= 0)
      j = next[j];
    for (long k = 0; k < m; k++)
      a[j * m + k] += 1;
  }
}

// they begin next to each other,
// CHECK-LABEL: nests of 'insertion'
// CHECK-NEXT: refused UnknownTripCount
void insertion(long *a, long n) {
  for (long i = 1; i < n; i++) {
    long moved = a[i], j = i;
    for (; a[j - 1] > moved; j--)
      a[j] = a[j - 1];
    a[j] = moved;
  }
}

// and a search may not come to an end: what is stored in such a loop is not overwritten for certain.
// CHECK-LABEL: nests of 'filled'
// CHECK-NOT: overwrites
// CHECK: writes element=8 {{.*}} name=a
// CHECK-NOT: overwrites
void filled(double *restrict a, const int *restrict next, const int *restrict first, long n) {
  for (long i = 0; i < n; i++) {
    int j = first[i];
    while (next[j] >= 0)
      j = next[j];
    a[i] = j;
  }
}
