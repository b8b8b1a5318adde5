// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MGRID: the multigrid kernel of the NAS benchmarks, the potential of a few point charges on a periodic
// grid. It stands for stencils in three dimensions whose bounds change from call to call: the same loops
// run over the finest grid, which is far larger than memory, and over grids eight times smaller, down to
// one that fits in a cache. Three neighbouring planes are in use at a time.
//
// Arrays of doubles, with N the points of the finest grid with its ghost layers, (n1+2)(n2+2)(n3+2):
//   v   N       the charges
//   u   8/7 N   the solution, all levels one behind the other, the finest first
//   r   8/7 N   the residual, likewise
// --memory-size is the sum, 8 * (3 + 2/7) * N bytes: n1 = n2 is the largest multiple of 16 with which a cube
// fits, n3 the largest with which the box fits. A level is half as long in each dimension as the one
// before, until a length is odd or 2; with 256 x 256 x 256 there are 8 levels.
// Each iteration (one V-cycle and its check), on the finest grid:
//   rprj3   reads r               (and writes the next r, 1/8 as large)
//   interp  reads and writes u    (reads the next u, 1/8)
//   resid   reads u, v; writes r
//   psinv   reads r; reads and writes u
//   resid   reads u, v; writes r
//   norm    reads r
// and on each coarser grid, 1/8, 1/64, ... as large: rprj3, zero (writes u), interp, resid (reads u; reads
// and writes r), psinv. After each, wrap copies the ends of all lines of what was written: where a line is
// shorter than a page, that is a sweep over all its pages again, reading and writing.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

#include <math.h>

enum { MAX_LEVELS = 32, STEP = 16, CHARGES = 20 };

/// One level. Indices run from 0 to length - 1 in each dimension; 0 and length - 1 are ghosts, copies of
/// the points at the opposite side.
struct grid {
  size_t l1, l2, l3; // lengths with ghosts; l1 is the contiguous one
  size_t offset;     // of the level in u and r, elements
};

static const char help[] =
    "usage: mgrid --memory-size TOTAL [--iterations 8] [--seed 1] [--times]\n"
    "V-cycles of multigrid for the Poisson equation on a periodic grid with point charges; prints the\n"
    "shape and the norm of the residual after each, and checks that it falls.\n"
    "  --memory-size TOTAL  bytes of the three arrays (units K, M, G are binary)\n"
    "  --iterations N       V-cycles\n"
    "  --seed S             of the places of the charges\n"
    "  --times              seconds of each phase, on stderr\n";

/// Weights by the distance of a neighbour: the point, 6 across faces, 12 across edges, 8 across corners.
static const double laplace[4] = {-8.0 / 3.0, 0.0, 1.0 / 6.0, 1.0 / 12.0};
static const double smoother[4] = {-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0};
static const double averages[4] = {1.0 / 2.0, 1.0 / 4.0, 1.0 / 8.0, 1.0 / 16.0};

/// A level as the array of three dimensions that the functions below take.
static void *at(double *levels, const struct grid *g) {
  return levels + g->offset;
}

/// Ghosts get the values of the opposite sides.
static void wrap(size_t l3, size_t l2, size_t l1, double u[l3][l2][l1]) {
  for (size_t k = 1; k < l3 - 1; k++)
    for (size_t j = 1; j < l2 - 1; j++) {
      u[k][j][0] = u[k][j][l1 - 2];
      u[k][j][l1 - 1] = u[k][j][1];
    }
  for (size_t k = 1; k < l3 - 1; k++)
    for (size_t i = 0; i < l1; i++) {
      u[k][0][i] = u[k][l2 - 2][i];
      u[k][l2 - 1][i] = u[k][1][i];
    }
  for (size_t j = 0; j < l2; j++)
    for (size_t i = 0; i < l1; i++) {
      u[0][j][i] = u[l3 - 2][j][i];
      u[l3 - 1][j][i] = u[1][j][i];
    }
}

static void zero(size_t l3, size_t l2, size_t l1, double u[l3][l2][l1]) {
  for (size_t k = 0; k < l3; k++)
    for (size_t j = 0; j < l2; j++)
      for (size_t i = 0; i < l1; i++)
        u[k][j][i] = 0.0;
}

/// For one line (k, j): near = the four neighbours of each point across faces in the other two
/// dimensions, far = the four across edges.
static void line_sums(size_t l3, size_t l2, size_t l1, double u[l3][l2][l1], size_t k, size_t j,
                      double near[l1], double far[l1]) {
  for (size_t i = 0; i < l1; i++) {
    near[i] = u[k][j - 1][i] + u[k][j + 1][i] + u[k - 1][j][i] + u[k + 1][j][i];
    far[i] = u[k - 1][j - 1][i] + u[k - 1][j + 1][i] + u[k + 1][j - 1][i] + u[k + 1][j + 1][i];
  }
}

/// r = v - A u. v may be r.
static void resid(size_t l3, size_t l2, size_t l1, double u[l3][l2][l1], double v[l3][l2][l1],
                  double r[l3][l2][l1], const double a[4]) {
  double near[l1], far[l1];
  for (size_t k = 1; k < l3 - 1; k++)
    for (size_t j = 1; j < l2 - 1; j++) {
      line_sums(l3, l2, l1, u, k, j, near, far);
      for (size_t i = 1; i < l1 - 1; i++)
        r[k][j][i] = v[k][j][i] - a[0] * u[k][j][i] - a[1] * (u[k][j][i - 1] + u[k][j][i + 1] + near[i]) -
                     a[2] * (far[i] + near[i - 1] + near[i + 1]) - a[3] * (far[i - 1] + far[i + 1]);
    }
  wrap(l3, l2, l1, r);
}

/// u += C r, an approximation of the inverse of A.
static void psinv(size_t l3, size_t l2, size_t l1, double r[l3][l2][l1], double u[l3][l2][l1],
                  const double c[4]) {
  double near[l1], far[l1];
  for (size_t k = 1; k < l3 - 1; k++)
    for (size_t j = 1; j < l2 - 1; j++) {
      line_sums(l3, l2, l1, r, k, j, near, far);
      for (size_t i = 1; i < l1 - 1; i++)
        u[k][j][i] += c[0] * r[k][j][i] + c[1] * (r[k][j][i - 1] + r[k][j][i + 1] + near[i]) +
                      c[2] * (far[i] + near[i - 1] + near[i + 1]) + c[3] * (far[i - 1] + far[i + 1]);
    }
  wrap(l3, l2, l1, u);
}

/// s, half as long in each dimension, gets weighted averages of r: its point j lies on point 2 j of r.
static void rprj3(size_t l3, size_t l2, size_t l1, double r[l3][l2][l1], size_t m3, size_t m2, size_t m1,
                  double s[m3][m2][m1], const double w[4]) {
  double near[l1], far[l1];
  for (size_t k = 1; k < m3 - 1; k++)
    for (size_t j = 1; j < m2 - 1; j++) {
      line_sums(l3, l2, l1, r, 2 * k, 2 * j, near, far);
      for (size_t i = 1; i < m1 - 1; i++) {
        const double *line = r[2 * k][2 * j];
        s[k][j][i] = w[0] * line[2 * i] + w[1] * (line[2 * i - 1] + line[2 * i + 1] + near[2 * i]) +
                     w[2] * (far[2 * i] + near[2 * i - 1] + near[2 * i + 1]) +
                     w[3] * (far[2 * i - 1] + far[2 * i + 1]);
      }
    }
  wrap(m3, m2, m1, s);
}

/// u += z, half as long, interpolated: a point between two of z gets half of each, and so on.
static void interp(size_t m3, size_t m2, size_t m1, double z[m3][m2][m1], size_t l3, size_t l2, size_t l1,
                   double u[l3][l2][l1]) {
  double both[m1], above[m1], all[m1]; // sums of z over neighbours in j, in k, in both
  for (size_t k = 0; k < m3 - 1; k++)
    for (size_t j = 0; j < m2 - 1; j++) {
      for (size_t i = 0; i < m1; i++) {
        both[i] = z[k][j][i] + z[k][j + 1][i];
        above[i] = z[k][j][i] + z[k + 1][j][i];
        all[i] = both[i] + z[k + 1][j][i] + z[k + 1][j + 1][i];
      }
      for (size_t i = 0; i < m1 - 1; i++) {
        u[2 * k][2 * j][2 * i] += z[k][j][i];
        u[2 * k][2 * j][2 * i + 1] += 0.5 * (z[k][j][i] + z[k][j][i + 1]);
      }
      for (size_t i = 0; i < m1 - 1; i++) {
        u[2 * k][2 * j + 1][2 * i] += 0.5 * both[i];
        u[2 * k][2 * j + 1][2 * i + 1] += 0.25 * (both[i] + both[i + 1]);
      }
      for (size_t i = 0; i < m1 - 1; i++) {
        u[2 * k + 1][2 * j][2 * i] += 0.5 * above[i];
        u[2 * k + 1][2 * j][2 * i + 1] += 0.25 * (above[i] + above[i + 1]);
      }
      for (size_t i = 0; i < m1 - 1; i++) {
        u[2 * k + 1][2 * j + 1][2 * i] += 0.25 * all[i];
        u[2 * k + 1][2 * j + 1][2 * i + 1] += 0.125 * (all[i] + all[i + 1]);
      }
    }
  wrap(l3, l2, l1, u);
}

/// Root of the mean square.
static double norm(size_t l3, size_t l2, size_t l1, double r[l3][l2][l1]) {
  double sum = 0.0;
  for (size_t k = 1; k < l3 - 1; k++)
    for (size_t j = 1; j < l2 - 1; j++)
      for (size_t i = 1; i < l1 - 1; i++)
        sum += r[k][j][i] * r[k][j][i];
  return sqrt(sum / ((double)(l1 - 2) * (double)(l2 - 2) * (double)(l3 - 2)));
}

/// Half of the charges are +1, half -1: on a periodic grid only a sum of 0 has a potential.
static void place_charges(size_t l3, size_t l2, size_t l1, double v[l3][l2][l1], uint64_t seed) {
  uint64_t state = seed * 2654435761u + 88172645463325252u;
  zero(l3, l2, l1, v);
  for (int charge = 0; charge < CHARGES; charge++) {
    size_t i = 1 + (size_t)(next_unit(&state) * (double)(l1 - 2));
    size_t j = 1 + (size_t)(next_unit(&state) * (double)(l2 - 2));
    size_t k = 1 + (size_t)(next_unit(&state) * (double)(l3 - 2));
    v[k][j][i] += charge % 2 ? 1.0 : -1.0;
  }
  wrap(l3, l2, l1, v);
}

/// One V-cycle: residuals down to the coarsest grid, corrections up again.
static void v_cycle(const struct grid *g, int levels, double *u, double *v, double *r) {
  for (int f = 0; f + 1 < levels; f++) {
    const struct grid *fine = &g[f], *coarse = &g[f + 1];
    rprj3(fine->l3, fine->l2, fine->l1, at(r, fine), coarse->l3, coarse->l2, coarse->l1, at(r, coarse),
          averages);
  }
  for (int f = levels - 1; f >= 0; f--) {
    size_t l1 = g[f].l1, l2 = g[f].l2, l3 = g[f].l3;
    void *here = at(u, &g[f]), *residual = at(r, &g[f]);
    if (f > 0)
      zero(l3, l2, l1, here);
    if (f + 1 < levels) {
      const struct grid *coarse = &g[f + 1];
      interp(coarse->l3, coarse->l2, coarse->l1, at(u, coarse), l3, l2, l1, here);
      resid(l3, l2, l1, here, f > 0 ? residual : v, residual, laplace);
    }
    psinv(l3, l2, l1, residual, here, smoother);
  }
}

static size_t points(const struct grid *g) {
  return g->l1 * g->l2 * g->l3;
}

/// Fills the levels of a finest grid of n1 x n1 x n3 and returns how many there are.
static int make_levels(struct grid *g, size_t n1, size_t n3) {
  int levels = 0;
  for (size_t offset = 0;; n1 /= 2, n3 /= 2) {
    g[levels] = (struct grid){n1 + 2, n1 + 2, n3 + 2, offset};
    offset += points(&g[levels++]);
    if (n1 % 2 || n3 % 2 || n1 <= 2 || n3 <= 2 || levels == MAX_LEVELS)
      return levels;
  }
}

static uint64_t bytes_of(size_t n1, size_t n3) {
  struct grid g[MAX_LEVELS];
  const struct grid *last = &g[make_levels(g, n1, n3) - 1];
  return sizeof(double) * (points(&g[0]) + 2 * (last->offset + points(last)));
}

/// The largest cube that fits, then as long in the third dimension as fits.
static void fit(uint64_t bytes, size_t *n1, size_t *n3) {
  if (bytes_of(STEP, STEP) > bytes)
    fail("--memory-size is too small", "16 x 16 x 16 points take 157K");
  if (bytes > (uint64_t)1 << 50)
    fail("--memory-size is too large", "at most 1048576G");
  *n1 = STEP;
  while (bytes_of(*n1 + STEP, *n1 + STEP) <= bytes)
    *n1 += STEP;
  *n3 = *n1;
  while (bytes_of(*n1, *n3 + STEP) <= bytes)
    *n3 += STEP;
}

static int run(size_t n1, size_t n3, uint64_t iterations, uint64_t seed) {
  struct grid g[MAX_LEVELS];
  int levels = make_levels(g, n1, n3);
  size_t l1 = g[0].l1, l2 = g[0].l2, l3 = g[0].l3, all = g[levels - 1].offset + points(&g[levels - 1]);
  double *u = (double *)allocate(all, sizeof *u), *r = (double *)allocate(all, sizeof *r);
  double *v = (double *)allocate(points(&g[0]), sizeof *v);
  place_charges(l3, l2, l1, (void *)v, seed);
  zero(l3, l2, l1, at(u, &g[0]));
  resid(l3, l2, l1, at(u, &g[0]), (void *)v, at(r, &g[0]), laplace);
  double first = norm(l3, l2, l1, at(r, &g[0])), last = first;
  phase("start");
  printf("grid: %zu x %zu x %zu, %d levels; %llu iterations\nresidual: %.15e at first\n", n1, n1, n3, levels,
         (unsigned long long)iterations, first);
  int falls = 1;
  for (uint64_t cycle = 0; cycle < iterations; cycle++) {
    v_cycle(g, levels, u, v, r);
    resid(l3, l2, l1, at(u, &g[0]), (void *)v, at(r, &g[0]), laplace);
    double left = norm(l3, l2, l1, at(r, &g[0]));
    phase("V-cycle");
    printf("residual: %.15e\n", left);
    falls = falls && (left < last || left < 1e-12 * first);
    last = left;
  }
  free(u), free(v), free(r);
  return verification(falls && last < 0.2 * first);
}

int main(int argc, char **argv) {
  static uint64_t bytes, iterations = 8, seed = 1;
  static const struct app_option options[] = {
      {"--memory-size", &bytes}, {"--iterations", &iterations}, {"--seed", &seed}, {NULL, NULL}};
  parse_options(argc, argv, "mgrid", help, options);
  if (bytes == 0 || iterations == 0)
    fail("nothing to do", "give --memory-size, and --iterations 1 or more");
  size_t n1, n3;
  fit(bytes, &n1, &n3);
  return run(n1, n3, iterations, seed);
}
