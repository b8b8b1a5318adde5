// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// APPLU: symmetric successive over-relaxation (SSOR) on a 3-D grid with five coupled unknowns a point.
// It stands for wavefronts in both directions over very large arrays of small blocks: the forward sweep
// solves a block lower triangular system, where a point needs its neighbours at k-1, j-1 and i-1; the
// backward sweep solves the upper one with k, j and i descending. The work of a point is four short
// loops of constant length, so the loops worth prefetching for are imperfect nests. The arrays are
// global and of a fixed largest size, as in Fortran programs; the grid in use may be much smaller.
//
// Arrays, in doubles a point: u, rsd, frct (5 each); lower or upper blocks bz, by, bx and the diagonal
// blocks d (25 each). Together 115 doubles, 920 bytes; the side of the cubic grid is the largest n with
// 920 n^3 <= TOTAL.
//
// One iteration makes these sweeps (r read, w written, rw both; n^3 points each):
//   right-hand side  r frct, r u, w rsd      planes in order
//                    r u, rw rsd             along x: lines of planes in order
//                    r u, rw rsd             along y: planes in order
//                    r u, rw rsd             along z: for each j a slab, one row of every plane
//   scale            rw rsd
//   lower blocks     r u, w bz by bx d       with --slab N, N planes of blocks are made, then solved
//   lower solve      r bz by bx d, rw rsd
//   upper blocks     r u, w bz by bx d       with --slab N, N planes at a time, from the last
//   upper solve      r bz by bx d, rw rsd    k, j and i descend
//   update           r rsd, rw u
// Blocks dominate: 2 x 800 bytes a point written and 2 x 800 read. Before the first iteration frct is
// made by one right-hand side and the start by one sweep over u; after it follow one more right-hand
// side and a sweep over u and over rsd.
//
// The equations are a model of convection and diffusion with a reaction, and have a known solution:
//   reaction(u) + sum over x, y, z of (centred difference of flux(u) - NU * second difference of u) = frct
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

#ifndef MAX_SIDE
#define MAX_SIDE 128 // the arrays then take 1.8 GiB; with more, compile with -mcmodel=medium
#endif
#define MAX_POINTS ((size_t)MAX_SIDE * MAX_SIDE * MAX_SIDE)

/// A phase of the program, called as if it were in a file of its own.
#define PHASE static __attribute__((noinline))

enum { X, Y, Z, POINT_BYTES = 115 * sizeof(double) };

static const double NU = 0.4, SIGMA = 0.5, OMEGA = 1.1, PSEUDO_STEP = 8.0;

static size_t nx, ny, nz;
static double u[MAX_POINTS][5], rsd[MAX_POINTS][5], frct[MAX_POINTS][5];
static double bx[MAX_POINTS][5][5], by[MAX_POINTS][5][5], bz[MAX_POINTS][5][5], d[MAX_POINTS][5][5];
static double flux[MAX_SIDE][MAX_SIDE][5]; // of one line, plane or slab
static double coupling[3][5][5], exchange[5][5];

static size_t at(size_t k, size_t j, size_t i) {
  return (k * ny + j) * nx + i;
}

/// The linear parts of the fluxes and of the reaction: full matrices, small enough for dominance.
static void set_coefficients(void) {
  for (int m = 0; m < 5; m++)
    for (int l = 0; l < 5; l++) {
      for (int axis = X; axis <= Z; axis++)
        coupling[axis][m][l] = 0.01 * (double)((3 * m + 5 * l + 2 * axis) % 7 - 3);
      exchange[m][l] = 0.01 * (double)((2 * m + 3 * l) % 5 - 2);
    }
}

/// What is carried along an axis: unknown axis+1 is the speed, and all five are coupled.
static inline void flux_at(int axis, const double v[5], double f[5]) {
  for (int m = 0; m < 5; m++) {
    f[m] = 0.05 * v[axis + 1] * v[m];
    for (int l = 0; l < 5; l++)
      f[m] = f[m] + coupling[axis][m][l] * v[l];
  }
}

static inline double reaction_at(const double v[5], int m) {
  double sum = SIGMA * v[m] + 0.02 * v[m] * v[m];
  for (int l = 0; l < 5; l++)
    sum = sum + exchange[m][l] * v[l];
  return sum;
}

PHASE void rhs_along_x(void) {
  for (size_t k = 1; k < nz - 1; k++)
    for (size_t j = 1; j < ny - 1; j++) {
      for (size_t i = 0; i < nx; i++)
        flux_at(X, u[at(k, j, i)], flux[0][i]);
      for (size_t i = 1; i < nx - 1; i++)
        for (int m = 0; m < 5; m++) {
          size_t p = at(k, j, i);
          rsd[p][m] = rsd[p][m] - 0.5 * (flux[0][i + 1][m] - flux[0][i - 1][m]) +
                      NU * (u[p + 1][m] - 2.0 * u[p][m] + u[p - 1][m]);
        }
    }
}

PHASE void rhs_along_y(void) {
  for (size_t k = 1; k < nz - 1; k++) {
    for (size_t j = 0; j < ny; j++)
      for (size_t i = 1; i < nx - 1; i++)
        flux_at(Y, u[at(k, j, i)], flux[j][i]);
    for (size_t j = 1; j < ny - 1; j++)
      for (size_t i = 1; i < nx - 1; i++)
        for (int m = 0; m < 5; m++) {
          size_t p = at(k, j, i);
          rsd[p][m] = rsd[p][m] - 0.5 * (flux[j + 1][i][m] - flux[j - 1][i][m]) +
                      NU * (u[p + nx][m] - 2.0 * u[p][m] + u[p - nx][m]);
        }
  }
}

PHASE void rhs_along_z(void) {
  size_t plane = ny * nx;
  for (size_t j = 1; j < ny - 1; j++) {
    for (size_t k = 0; k < nz; k++)
      for (size_t i = 1; i < nx - 1; i++)
        flux_at(Z, u[at(k, j, i)], flux[k][i]);
    for (size_t k = 1; k < nz - 1; k++)
      for (size_t i = 1; i < nx - 1; i++)
        for (int m = 0; m < 5; m++) {
          size_t p = at(k, j, i);
          rsd[p][m] = rsd[p][m] - 0.5 * (flux[k + 1][i][m] - flux[k - 1][i][m]) +
                      NU * (u[p + plane][m] - 2.0 * u[p][m] + u[p - plane][m]);
        }
  }
}

/// rsd = what is missing in the equations; stays zero on the boundary, where u is given.
PHASE void right_hand_side(void) {
  for (size_t k = 1; k < nz - 1; k++)
    for (size_t j = 1; j < ny - 1; j++)
      for (size_t i = 1; i < nx - 1; i++)
        for (int m = 0; m < 5; m++) {
          size_t p = at(k, j, i);
          rsd[p][m] = frct[p][m] - reaction_at(u[p], m);
        }
  rhs_along_x();
  rhs_along_y();
  rhs_along_z();
}

/// The derivative of an axis' part of the equations by a neighbour's unknowns; side = -1 or +1.
static inline void neighbour_block(int axis, double side, const double v[5], double block[5][5]) {
  for (int m = 0; m < 5; m++) {
    for (int l = 0; l < 5; l++)
      block[m][l] = side * 0.5 * coupling[axis][m][l];
    block[m][m] = block[m][m] + side * 0.025 * v[axis + 1] - NU;
    block[m][axis + 1] = block[m][axis + 1] + side * 0.025 * v[m];
  }
}

static inline void diagonal_block(const double v[5], double block[5][5]) {
  for (int m = 0; m < 5; m++) {
    for (int l = 0; l < 5; l++)
      block[m][l] = exchange[m][l];
    block[m][m] = block[m][m] + 1.0 / PSEUDO_STEP + SIGMA + 0.04 * v[m] + 6.0 * NU;
  }
}

/// The blocks of planes first to last-1: those below and before each point, and its own.
PHASE void lower_blocks(size_t first, size_t last) {
  for (size_t k = first; k < last; k++)
    for (size_t j = 1; j < ny - 1; j++)
      for (size_t i = 1; i < nx - 1; i++) {
        size_t p = at(k, j, i);
        neighbour_block(Z, -1.0, u[p - ny * nx], bz[p]);
        neighbour_block(Y, -1.0, u[p - nx], by[p]);
        neighbour_block(X, -1.0, u[p - 1], bx[p]);
        diagonal_block(u[p], d[p]);
      }
}

PHASE void upper_blocks(size_t first, size_t last) {
  for (size_t k = first; k < last; k++)
    for (size_t j = 1; j < ny - 1; j++)
      for (size_t i = 1; i < nx - 1; i++) {
        size_t p = at(k, j, i);
        neighbour_block(Z, 1.0, u[p + ny * nx], bz[p]);
        neighbour_block(Y, 1.0, u[p + nx], by[p]);
        neighbour_block(X, 1.0, u[p + 1], bx[p]);
        diagonal_block(u[p], d[p]);
      }
}

/// v = block^-1 v by elimination. No pivots: the blocks are dominated by their diagonals.
static inline void solve_block(const double block[5][5], double v[5]) {
  double t[5][5];
  for (int m = 0; m < 5; m++)
    for (int l = 0; l < 5; l++)
      t[m][l] = block[m][l];
  for (int pivot = 0; pivot < 4; pivot++) {
    double inverse = 1.0 / t[pivot][pivot];
    for (int m = pivot + 1; m < 5; m++) {
      double factor = inverse * t[m][pivot];
      for (int l = pivot + 1; l < 5; l++)
        t[m][l] = t[m][l] - factor * t[pivot][l];
      v[m] = v[m] - factor * v[pivot];
    }
  }
  for (int m = 4; m >= 0; m--) {
    for (int l = m + 1; l < 5; l++)
      v[m] = v[m] - t[m][l] * v[l];
    v[m] = v[m] / t[m][m];
  }
}

/// Solves (D + OMEGA L) v = rsd in place.
PHASE void lower_solve(size_t first, size_t last) {
  for (size_t k = first; k < last; k++)
    for (size_t j = 1; j < ny - 1; j++)
      for (size_t i = 1; i < nx - 1; i++) {
        size_t p = at(k, j, i), below = p - ny * nx, before = p - nx;
        for (int m = 0; m < 5; m++)
          for (int l = 0; l < 5; l++)
            rsd[p][m] = rsd[p][m] - OMEGA * (bz[p][m][l] * rsd[below][l] + by[p][m][l] * rsd[before][l] +
                                             bx[p][m][l] * rsd[p - 1][l]);
        solve_block(d[p], rsd[p]);
      }
}

/// Solves (D + OMEGA U) w = D v in place, from the last point to the first.
PHASE void upper_solve(size_t first, size_t last) {
  for (size_t k = last - 1; k >= first; k--)
    for (size_t j = ny - 2; j >= 1; j--)
      for (size_t i = nx - 2; i >= 1; i--) {
        size_t p = at(k, j, i), above = p + ny * nx, behind = p + nx;
        double t[5];
        for (int m = 0; m < 5; m++) {
          t[m] = 0.0;
          for (int l = 0; l < 5; l++)
            t[m] = t[m] + OMEGA * (bz[p][m][l] * rsd[above][l] + by[p][m][l] * rsd[behind][l] +
                                   bx[p][m][l] * rsd[p + 1][l]);
        }
        solve_block(d[p], t);
        for (int m = 0; m < 5; m++)
          rsd[p][m] = rsd[p][m] - t[m];
      }
}

/// Planes 1 to nz-2 in slabs, forwards and then backwards. A slab that is the whole grid makes all the
/// blocks before it solves with any.
static void solve_both(size_t slab) {
  for (size_t k = 1; k < nz - 1; k += slab) {
    size_t last = k + slab < nz - 1 ? k + slab : nz - 1;
    lower_blocks(k, last);
    lower_solve(k, last);
  }
  for (size_t last = nz - 1; last > 1;) {
    size_t first = last > 1 + slab ? last - slab : 1;
    upper_blocks(first, last);
    upper_solve(first, last);
    last = first;
  }
}

PHASE void scale_residual(double factor) {
  for (size_t k = 1; k < nz - 1; k++)
    for (size_t j = 1; j < ny - 1; j++)
      for (size_t i = 1; i < nx - 1; i++)
        for (int m = 0; m < 5; m++)
          rsd[at(k, j, i)][m] = factor * rsd[at(k, j, i)][m];
}

PHASE void update(void) {
  for (size_t k = 1; k < nz - 1; k++)
    for (size_t j = 1; j < ny - 1; j++)
      for (size_t i = 1; i < nx - 1; i++)
        for (int m = 0; m < 5; m++)
          u[at(k, j, i)][m] = u[at(k, j, i)][m] + rsd[at(k, j, i)][m];
}

static double exact(size_t k, size_t j, size_t i, int m) {
  double x = (double)i / (double)(nx - 1), y = (double)j / (double)(ny - 1), z = (double)k / (double)(nz - 1);
  return 1.0 + 0.1 * m + 0.3 * x * y + 0.2 * z * z + x * (1.0 - x) * (0.5 + y) * (1.5 - z);
}

PHASE void set_exact(void) {
  for (size_t k = 0; k < nz; k++)
    for (size_t j = 0; j < ny; j++)
      for (size_t i = 0; i < nx; i++)
        for (int m = 0; m < 5; m++)
          u[at(k, j, i)][m] = exact(k, j, i, m);
}

/// frct becomes what the equations give for the exact solution.
PHASE void set_forcing(void) {
  right_hand_side();
  for (size_t k = 1; k < nz - 1; k++)
    for (size_t j = 1; j < ny - 1; j++)
      for (size_t i = 1; i < nx - 1; i++)
        for (int m = 0; m < 5; m++)
          frct[at(k, j, i)][m] = -rsd[at(k, j, i)][m];
}

/// Inside, a straight line between the two boundary points of the same row.
PHASE void set_start(void) {
  for (size_t k = 1; k < nz - 1; k++)
    for (size_t j = 1; j < ny - 1; j++)
      for (size_t i = 1; i < nx - 1; i++)
        for (int m = 0; m < 5; m++) {
          double x = (double)i / (double)(nx - 1);
          u[at(k, j, i)][m] = (1.0 - x) * u[at(k, j, 0)][m] + x * u[at(k, j, nx - 1)][m];
        }
}

static double inner_values(void) {
  return 5.0 * (double)(nx - 2) * (double)(ny - 2) * (double)(nz - 2);
}

PHASE double residual(void) {
  double sum = 0.0;
  for (size_t k = 1; k < nz - 1; k++)
    for (size_t j = 1; j < ny - 1; j++)
      for (size_t i = 1; i < nx - 1; i++)
        for (int m = 0; m < 5; m++)
          sum = sum + rsd[at(k, j, i)][m] * rsd[at(k, j, i)][m];
  return sum / inner_values();
}

PHASE double error(void) {
  double sum = 0.0;
  for (size_t k = 1; k < nz - 1; k++)
    for (size_t j = 1; j < ny - 1; j++)
      for (size_t i = 1; i < nx - 1; i++)
        for (int m = 0; m < 5; m++) {
          double off = u[at(k, j, i)][m] - exact(k, j, i, m);
          sum = sum + off * off;
        }
  return sum / inner_values();
}

/// Mean squares must fall to a quarter with every iteration, until rounding is all that is left.
static int fell(double first, double last, uint64_t iterations) {
  double bound = first;
  for (uint64_t i = 0; i < iterations && bound > 1e-20 * first; i++)
    bound = bound / 4.0;
  return last <= bound;
}

static int run(uint64_t iterations, size_t slab) {
  set_coefficients();
  set_exact();
  set_forcing();
  set_start();
  phase("setup");
  double first_error = error();
  right_hand_side();
  double first = residual();
  for (uint64_t i = 0; i < iterations; i++) {
    if (i > 0)
      right_hand_side();
    scale_residual(OMEGA * (2.0 - OMEGA)); // of SSOR, taken in advance: the two solves are linear
    solve_both(slab);
    update();
  }
  phase("iterations");
  right_hand_side();
  double last = residual(), last_error = error();
  phase("check");
  printf("grid: %zu x %zu x %zu, %llu iterations\n", nx, ny, nz, (unsigned long long)iterations);
  printf("mean square residual: %.16e before, %.16e after\n", first, last);
  printf("mean square error:    %.16e before, %.16e after\n", first_error, last_error);
  return verification(fell(first, last, iterations) && fell(first_error, last_error, iterations));
}

static size_t side_in(uint64_t bytes) {
  uint64_t side = 0;
  while (side <= MAX_SIDE && (side + 1) * (side + 1) * (side + 1) * POINT_BYTES <= bytes)
    side++;
  if (side < 3)
    fail("--memory-size is too small", "a grid of 3 x 3 x 3 points takes 25K");
  if (side > MAX_SIDE)
    fail("--memory-size is too large for the arrays", "compile with a larger MAX_SIDE and -mcmodel=medium");
  return (size_t)side;
}

int main(int argc, char **argv) {
  static uint64_t bytes, iterations = 6, slab;
  static const struct app_option options[] = {
      {"--memory-size", &bytes}, {"--iterations", &iterations}, {"--slab", &slab}, {NULL, NULL}};
  parse_options(
      argc, argv, "applu",
      "usage: applu --memory-size TOTAL [--iterations 6] [--slab 0] [--times]\n"
      "SSOR sweeps over a 3-D grid with five coupled unknowns; prints what is left of the residual.\n"
      "  --memory-size TOTAL  choose a cubic grid whose arrays take TOTAL bytes (units K, M, G are\n"
      "                       binary); 920 bytes a point, at most 128 points a side\n"
      "  --iterations N       sweeps forwards and backwards\n"
      "  --slab N             planes whose blocks are made before they are solved with; 0 = all\n"
      "  --times              seconds of each phase, on stderr\n",
      options);
  if (iterations == 0)
    fail("--iterations is too small", "at least 1");
  nx = ny = nz = side_in(bytes);
  return run(iterations, slab == 0 || slab > nz ? nz : (size_t)slab);
}
