// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Direct references: bases, strides, groups and reuse, by the printer alone.
// REQUIRES: llvm-19
// RUN: %nests "%s" | %FileCheck "%s"

// CHECK-LABEL: nests of 'matvec'
// CHECK-NEXT: nest 0: loops=2 ticked=1 strips=1 bytes=8
// CHECK-NEXT: loop 0: {{.*}} backedges=(-1 + %rows)
// CHECK-NEXT: loop 1: {{.*}} backedges=(-1 + %columns)
// CHECK-NEXT: group 0: reads writes element=8 [0, 8) base=%y strides={8, 0} reuse={spatial, temporal} members=2 {{.*}}name=y
// CHECK-NEXT: group 1: reads element=8 [0, 8) base=%a strides={(8 * %columns), 8} reuse={unknown, spatial} members=1 leading=[[@LINE+6]]:15 name=a
// CHECK-NEXT: group 2: reads element=8 [0, 8) base=%x strides={0, 8} reuse={temporal, spatial} members=1 leading=[[@LINE+5]]:36 name=x
// CHECK-NOT: group
void matvec(double *restrict y, const double *restrict a, const double *restrict x, long rows, long columns) {
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < columns; j++)
      y[i] += a[i * columns + j] * x[j];
}

// A fixed-size array of three dimensions; rows of less than a page are part of the loop around them.
// CHECK-LABEL: nests of 'fixed_size'
// CHECK-NEXT: nest 0: loops=2 ticked=1 strips=1 bytes=2400
// CHECK-NEXT: loop 0: {{.*}} backedges=397
// CHECK-NEXT: loop 1: {{.*}} backedges=(-1 + %n)
// CHECK-NEXT: group 0: reads element=8 [0, 2384) base=(16 + @fixed)<nuw> strides={1200000, 2400} reuse={none, spatial}
// CHECK-NEXT: group 1: writes element=8 [0, 2384) base=(1200016 + @fixed)<nuw> strides={1200000, 2400}
double fixed[400][500][300];
void fixed_size(long n) {
  for (long i = 1; i < 399; i++)
    for (long j = 0; j < n; j++)
      for (long k = 2; k < 300; k++)
        fixed[i][j][k] = fixed[i - 1][j][k] + 1;
}

// The same with rows of two pages: the innermost loop is ticked, and strip-mined.
// CHECK-LABEL: nests of 'long_rows'
// CHECK-NEXT: nest 0: loops=2 ticked=1 strips=1 bytes=8
// CHECK: strides={8192, 8} reuse={spatial, spatial}
double wide[5000][1024];
void long_rows(long n) {
  for (long i = 1; i < n; i++)
    for (long j = 0; j < 1024; j++)
      wide[i][j] += 1;
}

// Down a column, rows are groups of their own: what lies between them is not touched.
// CHECK-LABEL: nests of 'columns'
// CHECK-NEXT: nest 0: loops=2
// CHECK: group 0: reads element=8 [0, 8) base=@wide strides={8, 8192} {{.*}} members=1
// CHECK: group 1: reads element=8 [0, 8) base=(16384 + @wide){{.*}} strides={8, 8192} {{.*}} members=1
// CHECK: group 2: writes {{.*}}name=result
// CHECK-NOT: group
double result[5000][1024];
void columns(long n) {
  for (long j = 0; j < 1024; j++)
    for (long i = 1; i < n; i++)
      result[i][j] = wide[i - 1][j] * wide[i + 1][j];
}

// Negative twins: along the rows, all that lies between is touched; columns side by side share their pages.
// CHECK-LABEL: nests of 'along'
// CHECK: group 0: reads element=8 [0, 16392) {{.*}} strides={8192, 8} {{.*}} members=2
// CHECK: group 1: writes {{.*}}name=result
// CHECK-NOT: group
void along(long n) {
  for (long i = 1; i < n; i++)
    for (long j = 0; j < 1024; j++)
      result[i][j] = wide[i - 1][j] * wide[i + 1][j];
}
// CHECK-LABEL: nests of 'beside'
// CHECK: group 0: reads element=8 [0, 24) {{.*}} strides={8, 8192} {{.*}} members=2
// CHECK: group 1: writes {{.*}}name=result
// CHECK-NOT: group
void beside(long n) {
  for (long j = 1; j < 1023; j++)
    for (long i = 0; i < n; i++)
      result[i][j] = wide[i][j - 1] * wide[i][j + 1];
}

// CHECK-LABEL: nests of 'down'
// CHECK: group 0: writes element=4 [0, 4) base=(-4 + (8 * %n) + %p) strides={-8} reuse={spatial}
void down(int *p, long n) {
  for (long i = n - 1; i >= 0; i--)
    p[2 * i + 1] = 0;
}

// The leading reference of a group that moves downwards is the lowest one.
// CHECK-LABEL: nests of 'leads_down'
// CHECK: group 0: reads element=4 [-4, 4) {{.*}} strides={-4} {{.*}} members=2 leading=[[@LINE+3]]:19
void leads_down(int *restrict p, const int *restrict q, long n) {
  for (long i = n - 1; i > 0; i--)
    p[i] = q[i] + q[i - 1];
}

// 32-bit arithmetic that may wrap is looked through.
// CHECK-LABEL: nests of 'narrow'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=4096
// CHECK-NEXT: backedges=(-1 + (zext i32 %n to i64))<nsw>
// CHECK-NEXT: group 0: writes element=4 [0, 4) base=%p strides={(4 * (sext i32 %m to i64))<nsw>} reuse={unknown}
void narrow(int *p, unsigned n, unsigned m) {
  for (unsigned i = 0; i < n; i++)
    p[i * m] = 1;
}

// Group reuse: three reads, two after the optimizer carried a[i] in a register.
// CHECK-LABEL: nests of 'stencil'
// CHECK: group 0: reads element=8 [0, 24) base=%a strides={8} reuse={spatial} members=2 leading=[[@LINE+4]]:30
// CHECK-NEXT: group 1: writes overwrites element=8 [0, 8) base=(8 + %b) strides={8}
void stencil(double *restrict b, const double *restrict a, long n) {
  for (long i = 1; i < n; i++)
    b[i] = a[i - 1] + a[i] + a[i + 1];
}

// Too far apart for one group: 800,000 bytes.
// CHECK-LABEL: nests of 'far'
// CHECK: group 0: reads {{.*}} base=(800000 + %a) strides={8}
// CHECK: group 1: writes {{.*}} base=%a strides={8}
void far(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i] = a[i + 100000] + 1;
}

// The inner trip count changes in the outer loop: the rows are ranges of that one's slice (analysis/rows.c).
// CHECK-LABEL: nests of 'triangular'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 sliced
// CHECK-NOT: nest 1
// CHECK: range=8
void triangular(double *a, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j <= i; j++)
      a[i * m + j] += 1;
}

// Two inner loops over the same data each time: two nests, neither with the loop around them.
// CHECK-LABEL: nests of 'two'
// CHECK-NEXT: nest 0: loops=1
// CHECK-NEXT: loop 0
// CHECK-NEXT: group 0: reads writes element=8 [0, 8) base=%a strides={8}
// CHECK-NEXT: nest 1: loops=1
// CHECK-NEXT: loop 0
// CHECK-NEXT: group 0: reads writes element=8 [0, 8) base=%b strides={8}
void two(double *a, double *b, long n, long m) {
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < m; j++)
      a[j] += b[i];
    for (long j = 0; j < m; j++)
      b[j] -= a[i];
  }
}

// Two inner loops over pieces of larger arrays: two nests that share the outer loop. The reference in
// the shared loop belongs to the first.
// CHECK-LABEL: nests of 'pieces'
// CHECK-NEXT: nest 0: loops=2 ticked=1 strips=1
// CHECK-NEXT: loop 0: %[[SHARED:.*]] backedges=
// CHECK-NEXT: loop 1: %[[FIRST:.*]] backedges=
// CHECK-NEXT: group 0: reads element=8 {{.*}} strides={8, 0} {{.*}} name=z
// CHECK-NEXT: group 1: writes element=8 {{.*}} strides={(8 * %m), 8} {{.*}} name=x
// CHECK-NEXT: nest 1: loops=2 ticked=1 strips=1
// CHECK-NEXT: loop 0: %[[SHARED]] backedges=
// CHECK-NOT: [[FIRST]]
// CHECK-NOT: name=z
// CHECK: group 0: reads element=8 {{.*}} strides={(8 * %m), 8} {{.*}} name=x
// CHECK: group 1: reads writes element=8 {{.*}} strides={(8 * %m), 8} {{.*}} name=y
// CHECK-NOT: nest
void pieces(double *restrict x, double *restrict y, const double *restrict z, long n, long m) {
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < m; j++)
      x[i * m + j] = z[i] + j;
    for (long j = 1; j < m; j++)
      y[i * m + j] += x[i * m + j - 1];
  }
}

// Row pointers: the rows are ranges that start where the pointers say, and nests of their own for when there are few that
// are long.
// CHECK-LABEL: nests of 'rows'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=8
// CHECK: group 0: reads writes element=8 [0, 8) {{.*}} strides={8}
// CHECK-NEXT: nest 1: loops=1 ticked=0 strips=1 sliced bytes=1024
// CHECK: group 0: reads index element=8 [0, 8) base=%p strides={8}
// CHECK-NEXT: group 1: reads writes indirect element=8 [0, 8) base=0 indices=1 range=8
// CHECK-NOT: nest 2
void rows(double **p, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      p[i][j] += 1;
}

// A reference under a condition says so; one in every iteration does not.
// CHECK-LABEL: nests of 'conditional'
// CHECK: group 0: reads element=4 {{.*}}name=q
// CHECK-NEXT: group 1: writes conditional element=4 {{.*}}name=p
void conditional(int *restrict p, const int *restrict q, long n) {
  for (long i = 0; i < n; i++)
    if (q[i] > 0)
      p[i] = 0;
}

// Not affine, but integer arithmetic: a slice without any load computes it.
// CHECK-LABEL: nests of 'square'
// CHECK-NEXT: nest 0: loops=1
// CHECK: group 0: writes indirect element=8 [0, 8) base=%a indices=0
// CHECK-NOT: refused
void square(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i * i] = 0;
}

// Negative twin: the address comes from numbers that slices do not have.
// CHECK-LABEL: nests of 'rounded'
// CHECK-NOT: nest
// CHECK: refused NonAffine in {{.*}} at [[@LINE+3]]:22
void rounded(char *a, long double f, long n) {
  for (long i = 0; i < n; i++)
    a[(long)(f * i)] = 0;
}

// CHECK-LABEL: nests of 'list'
// CHECK-NOT: nest
// CHECK: refused UnknownTripCount in {{.*}} at [[@LINE+4]]:3
struct node { struct node *next; long value; };
long list(struct node *p) {
  long s = 0;
  for (; p; p = p->next)
    s += p->value;
  return s;
}

// Nothing here can be worth a hint: no nest, and no remark either.
// CHECK-LABEL: nests of 'small'
// CHECK-NOT: nest
// CHECK-NOT: refused
// CHECK-LABEL: nests of 'small_heap'
// CHECK-NOT: nest
// CHECK-NOT: refused
extern const int table[256];
long small(long n) {
  long s = 0;
  for (long j = 0; j < n; j++)
    for (int i = 0; i < 256; i++)
      s = s * 3 + table[i];
  return s;
}
void small_heap(int *p) {
  for (int i = 0; i < 1000; i++)
    p[i]++;
}

// CHECK-LABEL: nests of 'avoided'
// CHECK-NEXT: not eligible
__attribute__((annotate("nopagecast"))) void avoided(int *p, long n) {
  for (long i = 0; i < n; i++)
    p[i]++;
}
// CHECK-LABEL: nests of 'not_optimized'
// CHECK-NEXT: not eligible
__attribute__((optnone)) void not_optimized(int *p, long n) {
  for (long i = 0; i < n; i++)
    p[i]++;
}
