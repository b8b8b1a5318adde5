// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indirect references: what is recognised, and what is refused for which reason.
// RUN: %nests "%s" | %FileCheck "%s"

// Load and store of one address are one group; the keys are its index.
// CHECK-LABEL: nests of 'histogram'
// CHECK: group 0: reads index element=4 [0, 4) base=%key strides={4}
// CHECK-NEXT: group 1: reads writes indirect element=4 [0, 4) base=%count indices=1 members=2 {{.*}} name=count
// CHECK-NOT: refused
void histogram(int *restrict count, const int *restrict key, long n) {
  for (long i = 0; i < n; i++)
    count[key[i]]++;
}

// CHECK-LABEL: nests of 'scatter'
// CHECK: reads element=4 {{.*}} name=from
// CHECK-NEXT: reads index element=4 {{.*}} name=where
// CHECK-NEXT: writes indirect element=4 [0, 4) base=%to indices=1
void scatter(int *restrict to, const int *restrict from, const int *restrict where, long n) {
  for (long i = 0; i < n; i++)
    to[where[i]] = from[i];
}

// Two index loads and arithmetic.
// CHECK-LABEL: nests of 'two'
// CHECK: reads indirect element=8 [0, 8) base=%m indices=2
double two(const double *m, const int *row, const unsigned short *column, long n, long width) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += m[(row[i] >> 2) * width + (column[i] & 1023)];
  return s;
}

// Members of one record are one group.
// CHECK-LABEL: nests of 'records'
// CHECK: reads index element=4
// CHECK-NEXT: reads writes indirect element=8 [0, 16) base=%r indices=1 members=4
// CHECK-NOT: group
struct record { int id; int other; double value; };
void records(struct record *restrict r, const int *restrict order, long n) {
  for (long i = 0; i < n; i++) {
    r[order[i]].id += 1;
    r[order[i]].value *= 1.25;
  }
}

// An index of the outer loop with a stride in the inner one: each row is a range, not a touch for each element.
// CHECK-LABEL: nests of 'gathered_rows'
// CHECK: nest 0: loops=1 {{.*}} sliced
// CHECK: group 0: reads index element=8 [0, 8) base=%which strides={8}
// CHECK: group 1: reads indirect element=8 [0, 8) base=%m indices=1 range=8
double gathered_rows(const double *m, const long *which, long n, long width) {
  double s = 0;
  for (long i = 0; i < n; i++)
    for (long j = 0; j < width; j++)
      s += m[which[i] * width + j];
  return s;
}

// CHECK-LABEL: nests of 'chained'
// CHECK: group 0: reads index {{.*}} name=q
// CHECK-NEXT: group 1: reads indirect {{.*}} name=p
// CHECK-NEXT: group 2: reads indirect {{.*}} name=x
// CHECK-NOT: refused
double chained(const double *x, const int *p, const int *q, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += x[p[q[i]]];
  return s;
}

// CHECK-LABEL: nests of 'conditional_index'
// The slice asks the flag itself, so that this is one of its indices.
// CHECK: group 0: reads index element=4 {{.*}} name=flag
// CHECK-NEXT: group 1: reads index conditional element=4 {{.*}} name=index
// CHECK-NEXT: group 2: reads writes indirect conditional element=4 {{.*}} indices=2 {{.*}} name=p
// CHECK-NOT: refused
void conditional_index(int *restrict p, const int *restrict flag, const int *restrict index, long n) {
  for (long i = 0; i < n; i++)
    if (flag[i])
      p[index[i]]++;
}

// The index is there in every iteration; only its use is conditional.
// CHECK-LABEL: nests of 'conditional_use'
// CHECK: reads index element=4 {{.*}} name=index
// CHECK-NEXT: reads writes indirect conditional element=4 {{.*}} name=p
// CHECK-NOT: refused
void conditional_use(int *restrict p, const int *restrict index, long n) {
  for (long i = 0; i < n; i++) {
    int k = index[i];
    if (k >= 0)
      p[k]++;
  }
}

// What the pointers point to has no common base: 0 in the table.
// CHECK-LABEL: nests of 'pointers'
// CHECK: nest 0: loops=1
// CHECK: group 0: reads index element=8 [0, 8) base=%p strides={8}
// CHECK-NEXT: group 1: reads indirect element=8 [0, 8) base=0 indices=1
// CHECK-NOT: refused
long pointers(long **p, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    s += *p[i];
  return s;
}

// A pseudo-random walk: the iterations before tell the address, without a load.
// CHECK-LABEL: nests of 'random_walk'
// CHECK: group 0: reads writes indirect element=8 [0, 8) base=%p indices=0
// CHECK-NOT: refused
void random_walk(unsigned long *p, unsigned long x, long n, unsigned long mask) {
  for (long i = 0; i < n; i++) {
    x = x << 1 ^ (x >> 63 ? 7 : 0);
    p[x & mask] ^= x;
  }
}
