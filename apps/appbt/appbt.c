// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// APPBT: an alternating-direction solver of block tridiagonal systems, with five coupled unknowns a
// point. It stands for a few very large arrays of 5 x 5 blocks that are made for the whole grid, then
// eliminated along lines, three times over in three directions. Lines along x and y stay within a plane;
// along z the elimination goes upwards through the whole grid and the substitution comes back down, so
// what was used last is wanted first. Each array is one block of the heap, reached through a table of
// pointers to its planes.
//
// Arrays, in doubles a point: a, b, c (25 each; the blocks before, on and behind the diagonal), u, rhs,
// forcing (5 each). Together 90 doubles, 720 bytes; the side of the cubic grid is the largest n with
// 720 n^3 <= TOTAL.
//
// One iteration makes these sweeps (r read, w written, rw both; n^3 points each):
//   right-hand side  r forcing, r u, w rhs         planes in order, three planes of u at a time
//   for x, y, z:
//     blocks         r u, w a b c                  planes in order
//     elimination    r a, rw b c rhs               planes in order
//     substitution   r c, rw rhs                   x, y: line by line or plane by plane, right behind the
//                                                  elimination; z: a sweep of its own, planes descend
//   update           r rhs, rw u                   planes in order
// Before the first iteration forcing is made by one right-hand side and the start by one sweep over u;
// after it follow one more right-hand side and a sweep over u and over rhs.
//
// The equations are a model of convection and diffusion with a reaction, and have a known solution:
//   SIGMA u + QUADRATIC u^2 + sum over x, y, z of (centred difference of flux(u)
//                                                  - NU * second difference of u) = forcing
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

/// A phase of the program, called as if it were in a file of its own.
#define PHASE static __attribute__((noinline))

enum { X, Y, Z, POINT_BYTES = 90 * sizeof(double) };

static const double NU = 0.15, SIGMA = 1.2, QUADRATIC = 0.01;

typedef double vector[5];
typedef double block[5][5];

/// Element [k][j * n + i] is that of point (i, j, k).
struct grid {
  size_t n;
  vector **u, **rhs, **forcing;
  block **a, **b, **c;
};

static double coupling[3][5][5];

static void set_coefficients(void) {
  for (int axis = X; axis <= Z; axis++)
    for (int m = 0; m < 5; m++)
      for (int l = 0; l < 5; l++)
        coupling[axis][m][l] = 0.012 * (double)((2 * m + 3 * l + axis) % 5 - 2);
}

/// What is carried along an axis: unknown axis+1 is the speed, and all five are coupled.
static inline void flux_at(int axis, const vector v, vector f) {
  for (int m = 0; m < 5; m++) {
    f[m] = 0.06 * v[axis + 1] * v[m];
    for (int l = 0; l < 5; l++)
      f[m] = f[m] + coupling[axis][m][l] * v[l];
  }
}

/// Takes convection and diffusion along one axis from r; before and behind are the neighbours.
static inline void subtract_flow(int axis, vector r, const vector before, const vector here,
                                 const vector behind) {
  vector f, g;
  flux_at(axis, before, f);
  flux_at(axis, behind, g);
  for (int m = 0; m < 5; m++)
    r[m] = r[m] - 0.5 * (g[m] - f[m]) + NU * (behind[m] - 2.0 * here[m] + before[m]);
}

/// rhs = what is missing in the equations; stays zero on the boundary, where u is given.
PHASE void right_hand_side(struct grid *g) {
  size_t n = g->n;
  vector **u = g->u, **rhs = g->rhs, **forcing = g->forcing;
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++) {
        size_t p = j * n + i;
        vector r;
        for (int m = 0; m < 5; m++)
          r[m] = forcing[k][p][m] - SIGMA * u[k][p][m] - QUADRATIC * u[k][p][m] * u[k][p][m];
        subtract_flow(X, r, u[k][p - 1], u[k][p], u[k][p + 1]);
        subtract_flow(Y, r, u[k][p - n], u[k][p], u[k][p + n]);
        subtract_flow(Z, r, u[k - 1][p], u[k][p], u[k + 1][p]);
        for (int m = 0; m < 5; m++)
          rhs[k][p][m] = r[m];
      }
}

/// The derivative of an axis' part of the equations by a neighbour's unknowns; side = -1 or +1.
static inline void neighbour_block(int axis, double side, const vector v, block out) {
  for (int m = 0; m < 5; m++) {
    for (int l = 0; l < 5; l++)
      out[m][l] = side * 0.5 * coupling[axis][m][l];
    out[m][m] = out[m][m] + side * 0.03 * v[axis + 1] - NU;
    out[m][axis + 1] = out[m][axis + 1] + side * 0.03 * v[m];
  }
}

/// Of an axis; the reaction is shared among the three.
static inline void diagonal_block(const vector v, block out) {
  for (int m = 0; m < 5; m++) {
    for (int l = 0; l < 5; l++)
      out[m][l] = 0.0;
    out[m][m] = 1.0 + (SIGMA + 2.0 * QUADRATIC * v[m]) / 3.0 + 2.0 * NU;
  }
}

/// The blocks of all lines along an axis, of a step of length 1.
PHASE void make_blocks(struct grid *g, int axis) {
  size_t n = g->n, stride = axis == X ? 1 : axis == Y ? n : 0, planes = axis == Z;
  vector **u = g->u;
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++) {
        size_t p = j * n + i;
        neighbour_block(axis, -1.0, u[k - planes][p - stride], g->a[k][p]);
        diagonal_block(u[k][p], g->b[k][p]);
        neighbour_block(axis, 1.0, u[k + planes][p + stride], g->c[k][p]);
      }
}

static inline void subtract_times_block(block out, block left, block right) {
  for (int m = 0; m < 5; m++)
    for (int l = 0; l < 5; l++)
      for (int h = 0; h < 5; h++)
        out[m][l] = out[m][l] - left[m][h] * right[h][l];
}

static inline void subtract_times_vector(vector out, block left, const vector right) {
  for (int m = 0; m < 5; m++)
    for (int h = 0; h < 5; h++)
      out[m] = out[m] - left[m][h] * right[h];
}

/// c = b^-1 c and r = b^-1 r by Gauss and Jordan; b is used up. No pivots: b is dominated by its diagonal.
static inline void divide(block b, block c, vector r) {
  for (int pivot = 0; pivot < 5; pivot++) {
    double inverse = 1.0 / b[pivot][pivot];
    for (int l = pivot + 1; l < 5; l++)
      b[pivot][l] = inverse * b[pivot][l];
    for (int l = 0; l < 5; l++)
      c[pivot][l] = inverse * c[pivot][l];
    r[pivot] = inverse * r[pivot];
    for (int m = 0; m < 5; m++) {
      if (m == pivot)
        continue;
      double factor = b[m][pivot];
      for (int l = pivot + 1; l < 5; l++)
        b[m][l] = b[m][l] - factor * b[pivot][l];
      for (int l = 0; l < 5; l++)
        c[m][l] = c[m][l] - factor * c[pivot][l];
      r[m] = r[m] - factor * r[pivot];
    }
  }
}

// The three solvers. A line's first point has only its own block to divide by.

PHASE void solve_along_x(struct grid *g) {
  size_t n = g->n;
  for (size_t k = 1; k < n - 1; k++) {
    block *a = g->a[k], *b = g->b[k], *c = g->c[k];
    vector *rhs = g->rhs[k];
    for (size_t j = 1; j < n - 1; j++) {
      divide(b[j * n + 1], c[j * n + 1], rhs[j * n + 1]);
      for (size_t p = j * n + 2; p < j * n + n - 1; p++) {
        subtract_times_block(b[p], a[p], c[p - 1]);
        subtract_times_vector(rhs[p], a[p], rhs[p - 1]);
        divide(b[p], c[p], rhs[p]);
      }
      for (size_t p = j * n + n - 3; p > j * n; p--)
        subtract_times_vector(rhs[p], c[p], rhs[p + 1]);
    }
  }
}

PHASE void solve_along_y(struct grid *g) {
  size_t n = g->n;
  for (size_t k = 1; k < n - 1; k++) {
    block *a = g->a[k], *b = g->b[k], *c = g->c[k];
    vector *rhs = g->rhs[k];
    for (size_t i = 1; i < n - 1; i++)
      divide(b[n + i], c[n + i], rhs[n + i]);
    for (size_t j = 2; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++) {
        size_t p = j * n + i;
        subtract_times_block(b[p], a[p], c[p - n]);
        subtract_times_vector(rhs[p], a[p], rhs[p - n]);
        divide(b[p], c[p], rhs[p]);
      }
    for (size_t j = n - 3; j >= 1; j--)
      for (size_t i = 1; i < n - 1; i++)
        subtract_times_vector(rhs[j * n + i], c[j * n + i], rhs[(j + 1) * n + i]);
  }
}

PHASE void solve_along_z(struct grid *g) {
  size_t n = g->n;
  block **a = g->a, **b = g->b, **c = g->c;
  vector **rhs = g->rhs;
  for (size_t j = 1; j < n - 1; j++)
    for (size_t i = 1; i < n - 1; i++)
      divide(b[1][j * n + i], c[1][j * n + i], rhs[1][j * n + i]);
  for (size_t k = 2; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++) {
        size_t p = j * n + i;
        subtract_times_block(b[k][p], a[k][p], c[k - 1][p]);
        subtract_times_vector(rhs[k][p], a[k][p], rhs[k - 1][p]);
        divide(b[k][p], c[k][p], rhs[k][p]);
      }
  for (size_t k = n - 3; k >= 1; k--)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        subtract_times_vector(rhs[k][j * n + i], c[k][j * n + i], rhs[k + 1][j * n + i]);
}

PHASE void update(struct grid *g) {
  size_t n = g->n;
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++)
          g->u[k][j * n + i][m] = g->u[k][j * n + i][m] + g->rhs[k][j * n + i][m];
}

static double exact(size_t n, size_t k, size_t j, size_t i, int m) {
  double x = (double)i / (double)(n - 1), y = (double)j / (double)(n - 1), z = (double)k / (double)(n - 1);
  return 1.2 + 0.15 * m - 0.3 * x * z + 0.2 * y * y + y * (1.0 - y) * (0.6 + z) * (1.4 - x);
}

/// u is the exact solution; the rest has no other value before it is read.
PHASE void set_exact(struct grid *g) {
  size_t n = g->n;
  for (size_t k = 0; k < n; k++)
    for (size_t j = 0; j < n; j++)
      for (size_t i = 0; i < n; i++)
        for (int m = 0; m < 5; m++) {
          g->u[k][j * n + i][m] = exact(n, k, j, i, m);
          g->rhs[k][j * n + i][m] = g->forcing[k][j * n + i][m] = 0.0;
        }
}

/// forcing becomes what the equations give for the exact solution.
PHASE void set_forcing(struct grid *g) {
  size_t n = g->n;
  right_hand_side(g);
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++)
          g->forcing[k][j * n + i][m] = -g->rhs[k][j * n + i][m];
}

/// Inside, a straight line between the first and the last row of the same plane.
PHASE void set_start(struct grid *g) {
  size_t n = g->n;
  for (size_t k = 1; k < n - 1; k++) {
    vector *u = g->u[k];
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++) {
          double y = (double)j / (double)(n - 1);
          u[j * n + i][m] = (1.0 - y) * u[i][m] + y * u[(n - 1) * n + i][m];
        }
  }
}

static double inner_values(size_t n) {
  return 5.0 * (double)(n - 2) * (double)(n - 2) * (double)(n - 2);
}

PHASE double residual(struct grid *g) {
  size_t n = g->n;
  double sum = 0.0;
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++)
          sum = sum + g->rhs[k][j * n + i][m] * g->rhs[k][j * n + i][m];
  return sum / inner_values(n);
}

PHASE double error(struct grid *g) {
  size_t n = g->n;
  double sum = 0.0;
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++) {
          double off = g->u[k][j * n + i][m] - exact(n, k, j, i, m);
          sum = sum + off * off;
        }
  return sum / inner_values(n);
}

/// Of a smooth error, a step leaves the share 1 - S / (1 + S / 3)^3, where S = SIGMA + 2 QUADRATIC u: mean
/// squares fall to 0.31 of what they were, no less and no more, until rounding is all that is left.
#define FALLS 0.28, 0.35

/// A table of pointers to the planes of one block of the heap, which is freed through the first.
static vector **vector_planes(size_t n) {
  vector **plane = allocate(n, sizeof *plane);
  plane[0] = allocate(n * n * n, sizeof(vector));
  for (size_t k = 1; k < n; k++)
    plane[k] = plane[k - 1] + n * n;
  return plane;
}

static block **block_planes(size_t n) {
  block **plane = allocate(n, sizeof *plane);
  plane[0] = allocate(n * n * n, sizeof(block));
  for (size_t k = 1; k < n; k++)
    plane[k] = plane[k - 1] + n * n;
  return plane;
}

static void free_grid(struct grid *g) {
  free(g->u[0]), free(g->rhs[0]), free(g->forcing[0]), free(g->a[0]), free(g->b[0]), free(g->c[0]);
  free(g->u), free(g->rhs), free(g->forcing), free(g->a), free(g->b), free(g->c);
}

static void iterate(struct grid *g) {
  make_blocks(g, X);
  solve_along_x(g);
  make_blocks(g, Y);
  solve_along_y(g);
  make_blocks(g, Z);
  solve_along_z(g);
  update(g);
}

static int run(size_t n, uint64_t iterations) {
  struct grid g = {n,
                   vector_planes(n),
                   vector_planes(n),
                   vector_planes(n),
                   block_planes(n),
                   block_planes(n),
                   block_planes(n)};
  set_coefficients();
  set_exact(&g);
  set_forcing(&g);
  set_start(&g);
  phase("setup");
  double first_error = error(&g);
  right_hand_side(&g);
  double first = residual(&g);
  for (uint64_t i = 0; i < iterations; i++) {
    if (i > 0)
      right_hand_side(&g);
    iterate(&g);
  }
  phase("iterations");
  right_hand_side(&g);
  double last = residual(&g), last_error = error(&g);
  phase("check");
  printf("grid: %zu x %zu x %zu, %llu iterations\n", n, n, n, (unsigned long long)iterations);
  printf("mean square residual: %.16e before, %.16e after\n", first, last);
  printf("mean square error:    %.16e before, %.16e after\n", first_error, last_error);
  free_grid(&g);
  return verification(fell_between(FALLS, first, last, iterations) &&
                      fell_between(FALLS, first_error, last_error, iterations));
}

static size_t side_in(uint64_t bytes) {
  uint64_t side = 0, most = bytes / POINT_BYTES;
  while ((side + 1) * (side + 1) * (side + 1) <= most)
    side++;
  if (side < 3)
    fail("--memory-size is too small", "a grid of 3 x 3 x 3 points takes 19K");
  return (size_t)side;
}

int main(int argc, char **argv) {
  static uint64_t bytes, iterations = 3;
  static const struct app_option options[] = {
      {"--memory-size", &bytes}, {"--iterations", &iterations}, {NULL, NULL}};
  parse_options(
      argc, argv, "appbt",
      "usage: appbt --memory-size TOTAL [--iterations 3] [--times]\n"
      "Block tridiagonal lines along x, y and z of a 3-D grid with five coupled unknowns a point;\n"
      "prints what is left of the residual.\n"
      "  --memory-size TOTAL  choose a cubic grid whose arrays take TOTAL bytes (units K, M, G are\n"
      "                       binary); 720 bytes a point\n"
      "  --iterations N       of the three directions in turn\n"
      "  --times              seconds of each phase, on stderr\n",
      options);
  if (iterations == 0)
    fail("--iterations is too small", "at least 1");
  return run(side_in(bytes), iterations);
}
