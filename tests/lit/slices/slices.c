// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices: which addresses they can compute, and which not. What they compute: run/rows.c, emit/slice.ll.
// REQUIRES: llvm-19
// RUN: %nests "%s" | %FileCheck "%s"

// Chains of 2, 3 and 4 loads: each load but the first is a group that the slice touches.
// CHECK-LABEL: nests of 'two'
// CHECK: group 0: reads index element=4 {{.*}} strides={4} {{.*}} name=q
// CHECK-NEXT: group 1: reads indirect element=4 [0, 4) base=%p indices=1 {{.*}} name=p
// CHECK-NEXT: group 2: reads indirect element=8 [0, 8) base=%x indices=1 {{.*}} name=x
// CHECK-NOT: refused
double two(const double *x, const int *p, const int *q, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += x[p[q[i]]];
  return s;
}
// CHECK-LABEL: nests of 'three'
// CHECK: group 3: reads indirect {{.*}} name=x
// CHECK-NOT: refused
double three(const double *x, const int *p, const int *q, const int *r, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += x[p[q[r[i]]]];
  return s;
}
// CHECK-LABEL: nests of 'four'
// CHECK: group 4: reads indirect {{.*}} name=x
// CHECK-NOT: refused
double four(const double *x, const int *p, const int *q, const int *r, const int *u, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += x[p[q[r[u[i]]]]];
  return s;
}
// Negative twin: 5 loads behind one another.
// CHECK-LABEL: nests of 'five'
// CHECK: group 4: reads indirect {{.*}} name=p
// CHECK-NOT: group
// CHECK: refused IndirectDepth in {{.*}} at [[@LINE+4]]:10
double five(const double *x, const int *p, const int *q, const int *r, const int *u, const int *v, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += x[p[q[r[u[v[i]]]]]];
  return s;
}

// Members of what pointers point to.
// CHECK-LABEL: nests of 'follow'
// CHECK: group 0: reads index element=8 {{.*}} name=roots
// CHECK-NEXT: group 1: reads indirect element=8 [0, 8) base=0 indices=1
// CHECK-NEXT: group 2: reads indirect element=8 [0, 8) base=0 indices=1
// CHECK-NEXT: group 3: reads indirect element=8 [0, 8) base=0 indices=1
// CHECK-NOT: refused
struct node { struct node *left, *right; long key; };
long follow(struct node **roots, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    s += roots[i]->left->right->key;
  return s;
}

// CHECK-LABEL: nests of 'hashed'
// CHECK: group 0: reads index element=8 {{.*}} name=k
// CHECK-NEXT: group 1: reads writes indirect element=4 [0, 4) base=%t indices=1 members=2
// CHECK-NOT: refused
void hashed(unsigned *restrict t, const unsigned long *restrict k, long n) {
  for (long i = 0; i < n; i++) {
    unsigned long h = k[i];
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccd;
    h ^= h << 7;
    t[h % 1000003 & 0xfffff]++;
  }
}
// What is hashed is the last hash: carried.c.
// CHECK-LABEL: nests of 'generator'
// CHECK: group 0: reads writes indirect element=4 [0, 4) base=%t indices=0
// CHECK-NOT: refused
void generator(unsigned *restrict t, unsigned long x, long n) {
  for (long i = 0; i < n; i++) {
    x = x * 6364136223846793005 + 1442695040888963407;
    t[x >> 44]++;
  }
}
// Negative twin: where the next one is, is read there.
// CHECK-LABEL: nests of 'chained'
// CHECK: group 0: reads element=4 {{.*}} name=a
// CHECK-NOT: group
// CHECK: refused LoopCarried in {{.*}} at [[@LINE+5]]:9
void chained(int *restrict p, const int *restrict a, long n) {
  int k = 0;
  for (long i = 0; i < n; i++) {
    k = (p[k] ^ a[i]) & 1023;
    p[k]++;
  }
}

// Division by what may be zero is no trap in a slice.
// CHECK-LABEL: nests of 'divided'
// CHECK: group 1: reads writes indirect {{.*}} indices=1 {{.*}} name=p
// CHECK-NOT: refused
void divided(int *restrict p, const int *restrict q, long n, int d) {
  for (long i = 0; i < n; i++)
    p[q[i] / d]++;
}
// Negative twin: an operation that slices do not have.
// CHECK-LABEL: nests of 'counted_bits'
// CHECK: group 0: reads element=8 {{.*}} name=q
// CHECK-NOT: group
// CHECK: refused NonAffine in {{.*}} at [[@LINE+4]]:10
long counted_bits(const long *p, const long *q, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    s += p[__builtin_popcountl(q[i])];
  return s;
}

// A square is computed without any load, a cube not at all.
// CHECK-LABEL: nests of 'square'
// CHECK: group 0: writes indirect element=8 [0, 8) base=%a indices=0
// CHECK-NOT: refused
void square(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i * i] = 0;
}
// CHECK-LABEL: nests of 'cube'
// CHECK-NOT: group
// CHECK: refused NonAffine in {{.*}} at [[@LINE+3]]:18
void cube(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i * i * i] = 0;
}

// A condition on a loaded value: its load is an index, too.
// CHECK-LABEL: nests of 'condition'
// CHECK: group 0: reads index element=4 {{.*}} name=flag
// CHECK-NEXT: group 1: reads index conditional element=4 {{.*}} name=index
// CHECK-NEXT: group 2: reads writes indirect conditional element=4 {{.*}} indices=2 {{.*}} name=p
// CHECK-NOT: refused
void condition(int *restrict p, const int *restrict flag, const int *restrict index, long n) {
  for (long i = 0; i < n; i++)
    if (flag[i] > 3)
      p[index[i]]++;
}
// Negative twin: a condition that the slice cannot compute is taken to hold.
// CHECK-LABEL: nests of 'unknown_condition'
// CHECK: group 0: reads element=10 {{.*}} name=flag
// CHECK-NEXT: group 1: reads index conditional element=4 {{.*}} name=index
// CHECK-NEXT: group 2: reads writes indirect conditional element=4 {{.*}} indices=1 {{.*}} name=p
// CHECK-NOT: refused
void unknown_condition(int *restrict p, const long double *restrict flag, const int *restrict index, long n) {
  for (long i = 0; i < n; i++)
    if (flag[i] > 3)
      p[index[i]]++;
}

// CHECK-LABEL: nests of 'merged'
// CHECK: group 0: reads index element=4 {{.*}} name=a
// CHECK-NEXT: group 1: reads index conditional element=4 {{.*}} name=b
// CHECK-NEXT: group 2: reads writes indirect element=4 {{.*}} indices=2 {{.*}} name=p
// CHECK-NOT: refused
void merged(int *restrict p, const int *restrict a, const int *restrict b, long n) {
  for (long i = 0; i < n; i++) {
    long k;
    if (a[i] < 0)
      k = b[i];
    else
      k = a[i] * 2l;
    p[k]++;
  }
}
// CHECK-LABEL: nests of 'selected'
// CHECK: group 1: reads writes indirect element=4 {{.*}} indices=1 {{.*}} name=p
// CHECK-NOT: refused
void selected(int *restrict p, const int *restrict a, long n, int most) {
  for (long i = 0; i < n; i++)
    p[a[i] < most ? a[i] : most]++;
}
// CHECK-LABEL: nests of 'extended'
// CHECK: group 3: reads writes indirect element=4 {{.*}} indices=3 {{.*}} name=p
// CHECK-NOT: refused
void extended(int *restrict p, const signed char *restrict a, const unsigned char *restrict b,
              const short *restrict c, long n) {
  for (long i = 0; i < n; i++)
    p[a[i] * 70000l + b[i] + (unsigned short)(c[i] * 3)]++;
}

// Negative twins: an index that is not to be read twice, and one that is not an integer.
// CHECK-LABEL: nests of 'is_volatile'
// CHECK-NOT: group
// CHECK: refused NonAffine in {{.*}} at [[@LINE+3]]:12
void is_volatile(int *restrict p, const volatile int *a, long n) {
  for (long i = 0; i < n; i++)
    p[a[i]]++;
}
// CHECK-LABEL: nests of 'from_float'
// CHECK: group 0: reads element=10 {{.*}} name=a
// CHECK-NOT: group
// CHECK: refused NonAffine in {{.*}} at [[@LINE+3]]:18
void from_float(int *restrict p, const long double *restrict a, long n) {
  for (long i = 0; i < n; i++)
    p[(long)a[i]]++;
}

// Another thread runs the slice: the program passes where its own thread's variable is.
// CHECK-LABEL: nests of 'of_thread'
// CHECK: group 0: reads writes indirect {{.*}} indices=1 {{.*}} name=p
// CHECK-NOT: refused
extern __thread int local[1 << 20];
void of_thread(int *restrict p, long n) {
  for (long i = 0; i < n; i++)
    p[local[i]]++;
}
