// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds that the program loads again in each iteration, as it may store to them: such loops cannot be split into
// strips, and are ticked themselves.
// REQUIRES: llvm-19
// RUN: %nests "%s" | %FileCheck "%s"

struct Vector {
  int n;
  int *data;
};

int length;
int *array;
void other(void);

// CHECK-LABEL: nests of 'global'
// CHECK: nest 0: loops=1 ticked=0 strips=0
// CHECK: group 0: reads writes element=4 [0, 4) {{.*}}strides={4}
// CHECK-NOT: overwrites
void global(void) {
  for (int i = 0; i < length; i++)
    array[i] += i;
}

// Its twin has a bound of its own: strips.
// CHECK-LABEL: nests of 'local'
// CHECK: nest 0: loops=1 ticked=0 strips=1
void local(void) {
  int n = length;
  for (int i = 0; i < n; i++)
    array[i] += i;
}

// Another twin may end at once, and be entered again for what is left.
// CHECK-LABEL: nests of 'next_above'
// CHECK-NOT: nest 0
int next_above(int i, int *to) {
  for (; i < length; i++) {
    *to = i;
    if (array[i] > 3)
      break;
  }
  return i;
}

// The bound is first loaded in front of the loop and then only at its end, behind a condition.
// CHECK-LABEL: nests of 'conditional'
// CHECK: nest 0: loops=1 ticked=0 strips=0
// CHECK: group 0: reads {{.*}}element=4 {{.*}}strides={4}
void conditional(struct Vector *v, int *x) {
  for (int i = 0; i < v->n; i++)
    if (x[i] > 3)
      v->data[0] = x[i];
}

// Twins: what was called since may have freed it; and the loop itself stores to its bound.
// CHECK-LABEL: nests of 'freed'
// CHECK-NOT: nest 0
// CHECK-LABEL: nests of 'moving'
// CHECK-NOT: nest 0
void freed(struct Vector *v, int *x) {
  if (v->n <= 0)
    return;
  other();
  int i = 0;
  do {
    if (x[i] > 3)
      v->data[0] = x[i];
  } while (++i < v->n);
}

void moving(struct Vector *v, int *x) {
  for (int i = 0; i < v->n; i++)
    if (x[i] > 3)
      v->n--;
}

// A trip count that is assumed for the sake of the loops around, where the nest cannot be part of those: the program has
// the bound itself, and strips end there.
// CHECK-LABEL: nests of 'after_reload'
// CHECK: nest 1: loops=1 ticked=0 strips=1
// CHECK: group 1: reads writes {{.*}}strides={8}
// CHECK-LABEL: nests of 'last'
struct Series {
  unsigned long n;
  double *x, *y;
};
void prepare(struct Series *);
double force(double);
void after_reload(int steps) {
  struct Series s;
  prepare(&s);
  for (int t = 0; t < steps; t++) {
    for (unsigned long i = 0; i < s.n; i++)
      for (unsigned long j = i + 1; j < i + 6 && j < s.n; j++)
        s.x[i] += force(s.x[j]);
    for (unsigned long i = 0; i < s.n; i++)
      s.x[i] += s.y[i];
    other();
  }
}

void last(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i] += 1;
}

// What is computed from the bound, by an operation that scalar evolution does not know: once more in front of the loop.
struct Image {
  long height, width, unit;
  char *data;
};
// CHECK-LABEL: nests of 'halves'
// CHECK: nest 1: {{.*}} sliced
// CHECK-NEXT: loop 0: %for.cond{{.*}} backedges=(0 smax (-1 + %speculated{{[0-9]*}})<nsw>)
// CHECK-NEXT: group 0: reads writes indirect
void halves(struct Image *image) {
  for (long y = 0; y < image->height / 2; y++)
    for (long x = 0; x < image->width; x++)
      image->data[y * image->width + x] += 1;
}

// Twin: a divisor that may be zero is not divided by before its time, and nothing is known of the outer loop.
// CHECK-LABEL: nests of 'parts'
// CHECK-NOT: %for.cond{{.*}} backedges
// CHECK-LABEL: nests of 'narrow'
void parts(struct Image *image) {
  for (long y = 0; y < image->height / image->unit; y++)
    for (long x = 0; x < image->width; x++)
      image->data[y * image->width + x] += 1;
}

// Numbers that are made wider each time: their phis are, too.
// CHECK-NEXT: nest 0: loops=1
// CHECK-NEXT: loop 0: {{.*}} backedges=(0 smax (-1 + (sext i32 %speculated{{[0-9]*}} to i64))<nsw>)
// CHECK-NEXT: group 0: reads writes element=1 [0, 1) base=({0,+,(sext i32 %speculated{{[0-9]*}} to i64)}
// CHECK: nest 1: {{.*}} sliced
// CHECK-NEXT: loop 0: {{.*}} backedges=(0 smax (-1 + (sext i32 %speculated{{[0-9]*}} to i64))<nsw>)
// CHECK-LABEL: nests of 'the_end'
struct Narrow {
  int height, width;
  char *data;
};
void narrow(struct Narrow *image) {
  for (long y = 0; y < image->height; y++)
    for (long x = 0; x < image->width; x++)
      image->data[y * image->width + x] += 1;
}
void the_end(void) {}
