// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows: inner loops whose bounds or bases differ from one iteration of the outer loop to the next. The nest is
// the outer loop, and a slice goes through the inner ones. Strides in the table are bytes of a range.
// RUN: %nests "%s" | %FileCheck "%s"

// A sparse matrix. The rows' bounds are read at stride 4, the row itself is ranges, x is touched one by one.
// CHECK-LABEL: nests of 'csr'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 sliced
// CHECK-NEXT: loop 0: {{.*}} backedges=(-1 + %n)
// CHECK-NEXT: group 0: reads index element=4 [0, 4) base=(4 + %row) strides={4}
// CHECK-NEXT: group 1: reads indirect element=8 [0, 8) base=%a indices=1 range=8 members=1 {{.*}} name=a
// CHECK-NEXT: group 2: reads indirect element=4 [0, 4) base=%column indices=1 range=4 members=1 {{.*}} name=column
// CHECK-NEXT: group 3: reads indirect element=8 [0, 8) base=%x indices=1 members=1 {{.*}} name=x
// CHECK-NEXT: group 4: writes element=8 [0, 8) base=%y strides={8}
// CHECK-NOT: {{nest|refused}}
void csr(const double *restrict a, const int *restrict column, const int *restrict row, const double *restrict x,
         double *restrict y, long n) {
  for (long j = 0; j < n; j++) {
    double s = 0;
    for (int k = row[j]; k < row[j + 1]; k++)
      s += a[k] * x[column[k]];
    y[j] = s;
  }
}

// Negative twin: where the rows start and end is the same for all of them, so that there are strides.
// CHECK-LABEL: nests of 'band'
// CHECK-NEXT: nest 0: loops=2 ticked=1
// CHECK-NOT: sliced
// CHECK: group {{[0-9]}}: reads {{(index )?}}element=8 [0, 8) base={{.*}} strides={(8 * %width), 8}
void band(const double *restrict a, double *restrict y, long n, long width) {
  for (long j = 0; j < n; j++)
    for (long k = 0; k < width; k++)
      y[j] += a[j * width + k];
}

// CHECK-LABEL: nests of 'lower'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 sliced
// CHECK-NEXT: loop 0: {{.*}} backedges=(-1 + %n)
// CHECK-NEXT: group 0: reads writes indirect element=8 [0, 8) base=%a indices=0 range=8 members=2
// CHECK-NOT: {{nest|refused}}
void lower(double *restrict a, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j <= i; j++)
      a[i * m + j] += 1;
}

// CHECK-LABEL: nests of 'upper'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 sliced
// CHECK: range=8 members=2
// CHECK-NOT: {{nest|refused}}
void upper(double *restrict a, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = i; j < n; j++)
      a[i * m + j] += 1;
}

// CHECK-LABEL: nests of 'backward'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 sliced
// CHECK: range=-8 members=2
// CHECK-NOT: {{nest|refused}}
void backward(double *restrict a, long n, long m) {
  for (long i = n - 1; i >= 0; i--)
    for (long j = n - 1; j > i; j--)
      a[i * m + j] += 1;
}

// The rows of a packed triangle start at i * (i + 1) / 2.
// CHECK-LABEL: nests of 'packed'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 sliced
// CHECK: group 0: reads indirect element=8 [0, 8) base=%x indices=0 range=8
// CHECK-NEXT: group 1: reads writes indirect element=8 [0, 8) base=%a indices=0 range=8
// CHECK-NOT: {{nest|refused}}
void packed(double *restrict a, const double *restrict x, long n) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j <= i; j++)
      a[i * (i + 1) / 2 + j] *= x[j];
}

// Negative twin: a counter that the inner loop leaves behind. Each row is a nest of its own.
// CHECK-LABEL: nests of 'running'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes
// CHECK-NEXT: loop 0: {{.*}} backedges={0,+,1}
// CHECK: strides={8}
// CHECK: strides={8}
void running(double *restrict a, const double *restrict x, long n) {
  long k = 0;
  for (long i = 0; i < n; i++)
    for (long j = 0; j <= i; j++)
      a[k++] *= x[j];
}

// Pointers to rows of different lengths. There may be few of them, each longer than memory.
// CHECK-LABEL: nests of 'ragged'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=8
// CHECK-NEXT: loop 0
// CHECK-NEXT: group 0: reads writes element=8 [0, 8) {{.*}} strides={8}
// CHECK-NEXT: nest 1: loops=1 ticked=0 strips=1 sliced bytes=1024
// CHECK: group 0: reads index element=4 {{.*}} name=len
// CHECK-NEXT: group 1: reads index element=8 {{.*}} name=p
// CHECK-NEXT: group 2: reads writes indirect element=8 [0, 8) base=0 indices=2 range=8
// CHECK-NOT: {{nest|refused}}
void ragged(long **p, const int *len, long n) {
  for (long i = 0; i < n; i++)
    for (int j = 0; j < len[i]; j++)
      p[i][j]++;
}

// Diagonals, side by side, each as long as it is said to be: rows of their own as well.
// CHECK-LABEL: nests of 'diagonals'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=8
// CHECK: group {{[0-9]}}: reads element=8 {{.*}} strides={8}
// CHECK: nest 1: loops=1 ticked=0 strips=1 sliced bytes=1024
// CHECK-NOT: {{nest|refused}}
void diagonals(double *restrict y, const double *restrict a, const long *restrict first, long n, long m) {
  for (long d = 0; d < m; d++)
    for (long i = first[d]; i < n; i++)
      y[i] += a[d * n + i];
}

// CHECK-LABEL: nests of 'prefixes'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes=8
// CHECK: nest 1: loops=1 ticked=0 strips=1 sliced bytes=1024
// CHECK-NOT: {{nest|refused}}
void prefixes(double *restrict y, const double *restrict a, const long *restrict length, long n, long m) {
  for (long d = 0; d < m; d++)
    for (long i = 0; i < length[d]; i++)
      y[d] += a[d * n + i];
}

// Negative twin: the pieces of one sequence are as short as there are many.
// CHECK-LABEL: nests of 'sequence'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 sliced bytes=256
// CHECK-NOT: {{nest|refused}}
void sequence(double *restrict y, const double *restrict a, const long *restrict first, long m) {
  for (long d = 0; d < m; d++)
    for (long i = first[d]; i < first[d + 1]; i++)
      y[d] += a[i];
}

// Two inner loops in one row: one nest, one slice.
// CHECK-LABEL: nests of 'two_loops'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 sliced
// CHECK: group 0: reads index element=4 {{.*}} strides={4}
// CHECK-NEXT: group 1: reads indirect {{.*}} range=8 {{.*}} name=a
// CHECK-NEXT: group 2: reads indirect {{.*}} range=4 {{.*}} name=column
// CHECK-NEXT: group 3: reads writes indirect {{.*}} members=2 {{.*}} name=x
// CHECK-NOT: {{nest|refused}}
void two_loops(const int *restrict row, const int *restrict column, double *restrict a, double *restrict x, long n) {
  for (long i = 0; i < n; i++) {
    double s = 0;
    for (int k = row[i]; k < row[i + 1]; k++)
      s += a[k];
    for (int k = row[i]; k < row[i + 1]; k++)
      x[column[k]] += s;
  }
}

// Negative twin: two whole sweeps in each time step. A step of one nest must not be a whole sweep.
// CHECK-LABEL: nests of 'two_sweeps'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes
// CHECK-NEXT: loop 0: {{.*}} backedges=(-3 + %n)
// CHECK: nest 1: loops=1 ticked=0 strips=1 bytes
// CHECK-NEXT: loop 0: {{.*}} backedges=(-3 + %n)
// CHECK-NOT: nest
void two_sweeps(double *restrict a, double *restrict b, long t, long n) {
  for (long s = 0; s < t; s++) {
    for (long j = 1; j < n - 1; j++)
      b[j] = a[j - 1] + a[j + 1];
    for (long j = 1; j < n - 1; j++)
      a[j] = b[j] * .5;
  }
}

// Negative twin: a whole sweep in each time step, over less each time, and beside it a loop that gathers elsewhere in each. The sweep
// is no row for that.
// CHECK-LABEL: nests of 'narrowing'
// CHECK-NEXT: nest 0: loops=2 ticked=1 strips=1 bytes=4
// CHECK: group 1: reads element=4 {{.*}} strides={24000, 4}
// CHECK-NEXT: nest 1: loops=2 ticked=1 strips=1 bytes=64
// CHECK-NOT: {{nest|range}}
void narrowing(int *restrict cost, const int *restrict energy, const int *restrict seam, int *restrict sum, long h, long w, long t) {
  for (long s = 0; s < t; s++, w--) {
    for (long y = 1; y < h; y++)
      for (long x = 0; x < w; x++)
        cost[y * 6000 + x] = cost[(y - 1) * 6000 + x] + energy[y * 6000 + x];
    for (long y = 0; y < h; y++)
      sum[seam[s * h + y]] += 1;
  }
}

// Rows inside time steps: the chain goes on outwards from the rows, with no stride in the time loop.
// CHECK-LABEL: nests of 'steps'
// CHECK-NEXT: nest 0: loops=2 ticked=1 strips=1 sliced
// CHECK-NEXT: loop 0: {{.*}} backedges=(-1 + %t)
// CHECK-NEXT: loop 1: {{.*}} backedges=(-1 + %n)
// CHECK-NEXT: group 0: reads index element=4 {{.*}} strides={0, 4} reuse={temporal, spatial}
// CHECK-NEXT: group 1: reads writes element=8 {{.*}} strides={0, 8} {{.*}} name=y
// CHECK-NEXT: group 2: reads indirect {{.*}} range=8 {{.*}} name=a
// CHECK-NEXT: group 3: reads indirect {{.*}} range=4 {{.*}} name=column
// CHECK-NEXT: group 4: reads indirect {{.*}} name=x
// CHECK-NOT: {{nest|refused}}
void steps(const int *restrict row, const int *restrict column, const double *restrict a, const double *restrict x,
           double *restrict y, long n, long t) {
  for (long s = 0; s < t; s++)
    for (long i = 0; i < n; i++)
      for (int k = row[i]; k < row[i + 1]; k++)
        y[i] += a[k] * x[column[k]];
}

// Blocks of 5 by 5 in the rows: a whole block is one element of the range.
// CHECK-LABEL: nests of 'block_rows'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 sliced
// CHECK: range=4 members=1 {{.*}}name=column
// CHECK: group {{[0-9]}}: reads indirect element=8 [0, 200) base=%a indices=1 range=200
// CHECK: group {{[0-9]}}: reads indirect element=8 [0, 40) base=%x indices=1 members
void block_rows(const double (*restrict a)[5][5], const int *restrict column, const int *restrict row,
                const double (*restrict x)[5], double (*restrict y)[5], long n) {
  for (long i = 0; i < n; i++)
    for (int k = row[i]; k < row[i + 1]; k++)
      for (int p = 0; p < 5; p++)
        for (int q = 0; q < 5; q++)
          y[i][p] += a[k][p][q] * x[column[k]][q];
}

// Negative twin: how long the next row is, this one decides. Its rows are nests.
// CHECK-LABEL: nests of 'carried'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes
// CHECK: group 0: {{.*}} strides={8}
// CHECK-NOT: indirect
void carried(double *restrict a, const int *restrict step, long n) {
  long length = 1;
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < length; j++)
      a[i * 1000 + j] += 1;
    length += step[i];
  }
}

// Negative twin: the data in a row end it. Where it begins is known (searches.c).
// CHECK-LABEL: nests of 'until_zero'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes
// CHECK-NOT: {{nest|range|refused}}
void until_zero(char **p, long n) {
  for (long i = 0; i < n; i++)
    for (char *q = p[i]; *q; q++)
      *q ^= 1;
}

// Negative twin: nobody knows how many rows there are. Each is a nest.
// CHECK-LABEL: nests of 'listed'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes
// CHECK: group 0: reads writes element=8 {{.*}} strides={8}
// CHECK-NOT: indirect
struct item { struct item *next; long count; double *data; };
void listed(struct item *p) {
  for (; p; p = p->next)
    for (long j = 0; j < p->count; j++)
      p->data[j] += 1;
}

// Elimination: one column is scaled, the others follow. Where an iteration of k is more than memory, the loops in it are
// nests of their own, each of them, though the slice of k hints the same references.
// CHECK-LABEL: nests of 'eliminate'
// CHECK: loop 0: {{.*}} backedges={(-2 + %n),+,-1}
// CHECK-NEXT: group 0: reads writes element=8 {{.*}} strides={8}
// CHECK: sliced
// CHECK: nest 2: loops=2
// CHECK: group {{[0-9]}}: reads writes element=8 {{.*}} strides={33600, 8}
// CHECK-NOT: nest
double matrix[4200][4200];
void eliminate(long n, long m) {
  for (long k = 0; k < m; k++) {
    for (long i = k + 1; i < n; i++)
      matrix[k][i] *= 3;
    for (long j = k + 1; j < n; j++) {
      double s = matrix[j][k];
      for (long i = k + 1; i < n; i++)
        matrix[j][i] -= s * matrix[k][i];
    }
  }
}

// So are those that hint more than the slice: where the pivot is, it does not know.
// CHECK-LABEL: nests of 'pivot'
// CHECK: sliced
// CHECK: nest 2: loops=2
// CHECK: strides={33600, 0} reuse={spatial, temporal} members=1
// CHECK: group {{[0-9]}}: reads writes element=8 {{.*}} strides={33600, 8}
// CHECK-NOT: nest
void pivot(long n, long m) {
  for (long k = 0; k < m; k++) {
    long l = k;
    for (long i = k + 1; i < n; i++)
      if (matrix[k][i] > matrix[k][l])
        l = i;
    for (long j = k + 1; j < n; j++) {
      double s = matrix[j][l];
      for (long i = k + 1; i < n; i++)
        matrix[j][i] -= s * matrix[k][i];
    }
  }
}

// Negative twin: loops of elements are only the slice's.
// CHECK-LABEL: nests of 'two_rows'
// CHECK: nest 0: loops=1 {{.*}} sliced
// CHECK-NOT: nest
void two_rows(long n, long m) {
  for (long k = 0; k < m; k++) {
    for (long i = k + 1; i < n; i++)
      matrix[k][i] *= 3;
    for (long i = 0; i < k; i++)
      matrix[k][i] *= 5;
  }
}

// Rows of a page, of constant length, that an index names: one touch has all of a row. So it is where the loop over a row is too long to
// be a small one.
// CHECK-LABEL: nests of 'pages_by_index'
// CHECK: nest 0: loops=1 {{.*}} sliced bytes=4096
// CHECK: group 1: reads indirect element=8 [0, 4096) base=%rows indices=1
// CHECK-NOT: nest
double pages_by_index(const double *rows, const int *order, long count) {
  double sum = 0;
  for (long i = 0; i < count; i++) {
    const double *row = rows + (long)order[i] * 512;
    for (long k = 0; k < 512; k++)
      sum += row[k];
  }
  return sum;
}

// CHECK-LABEL: nests of 'letters_by_index'
// CHECK: nest 0: loops=1 {{.*}} sliced bytes=2048
// CHECK: group 1: reads indirect element=1 [0, 2048) base=%rows indices=1
long letters_by_index(const char *rows, const int *order, long count) {
  long sum = 0;
  for (long i = 0; i < count; i++) {
    const char *row = rows + (long)order[i] * 2048;
    for (long k = 0; k < 2048; k++)
      sum += row[k];
  }
  return sum;
}

// Negative twin: what goes over more than a page is a range.
// CHECK-LABEL: nests of 'more_than_pages_by_index'
// CHECK: group 1: reads indirect element=8 [0, 8) base=%rows indices=1 range=8
double more_than_pages_by_index(const double *rows, const int *order, long count) {
  double sum = 0;
  for (long i = 0; i < count; i++) {
    const double *row = rows + (long)order[i] * 513;
    for (long k = 0; k < 513; k++)
      sum += row[k];
  }
  return sum;
}
