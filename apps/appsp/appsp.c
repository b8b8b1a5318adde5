// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// APPSP: an alternating-direction solver whose factors are made diagonal in the unknowns, so that every
// line of the grid is a scalar pentadiagonal system. It stands for many sweeps, in three directions,
// over many arrays of which each is far larger than memory, with little arithmetic per byte. Lines along
// x are recurrences within a row, lines along y within a plane; lines along z are solved a slab at a
// time (one j, all k), which touches one row of each plane and strides through every array. Arrays are
// blocks of the heap that are passed as C99 arrays of variable length.
//
// Arrays, in doubles a point: u, rhs, forcing (5 each); the diagonals a, b, c, d, e of the lines (1
// each). Together 20 doubles, 160 bytes; the side of the cubic grid is the largest n with
// 160 n^3 <= TOTAL.
//
// One iteration makes these sweeps (r read, w written, rw both; n^3 points each):
//   right-hand side   r forcing, r u, w rhs      planes in order
//     along x, y, z   r u, rw rhs; twice each    z: a slab for each j
//   4 rotations       rw rhs                     planes in order, before, between and after the axes
//   3 axes x 3 kinds of unknowns (the first three, the fourth, the fifth):
//     diagonals       r u, w a b c d e           planes in order
//     lines           r a b c, rw d e, rw rhs    z: a slab for each j
//   update            r rhs, rw u                planes in order
// Before the first iteration forcing is made by one right-hand side and the start by one sweep over u;
// after it follow one more right-hand side and a sweep over u and over rhs.
//
// The equations are a model of convection and diffusion with damping, and have a known solution:
//   SIGMA u + sum over x, y, z of (A(u) * centred difference of u - NU * second difference
//                                  + EPSILON * fourth difference) = forcing
// where A = T diag(w, w, w, w + SOUND, w - SOUND) T, w depends on u, and T is a reflection, one for each
// axis: a rotation of rhs by T leaves five systems that know nothing of each other.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

/// A phase of the program, called as if it were in a file of its own.
#define PHASE static __attribute__((noinline))

enum { X, Y, Z, POINT_BYTES = 20 * sizeof(double), SMALLEST_SIDE = 7 };

static const double NU = 0.1, EPSILON = 0.02, SIGMA = 1.0, SOUND = 0.2;

static double reflect[3][5][5]; // T of each axis; its own inverse
static double sound[3][5][5];   // SOUND * T diag(0, 0, 0, 1, -1) T

static void set_coefficients(void) {
  for (int axis = X; axis <= Z; axis++) {
    double v[5], square = 0.0;
    for (int m = 0; m < 5; m++) {
      v[m] = 1.0 + (double)((2 * m + axis) % 5);
      square = square + v[m] * v[m];
    }
    for (int m = 0; m < 5; m++)
      for (int l = 0; l < 5; l++)
        reflect[axis][m][l] = (m == l) - 2.0 * v[m] * v[l] / square;
    for (int m = 0; m < 5; m++)
      for (int l = 0; l < 5; l++)
        sound[axis][m][l] =
            SOUND * (reflect[axis][m][3] * reflect[axis][3][l] - reflect[axis][m][4] * reflect[axis][4][l]);
  }
}

static inline double speed(int axis, const double v[5]) {
  return 0.1 + 0.05 * v[axis + 1];
}

/// Takes the convection and diffusion along one axis from r; before and behind are the neighbours.
static inline void subtract_flow(int axis, double r[5], const double before[5], const double here[5],
                                 const double behind[5]) {
  double slope[5], w = speed(axis, here);
  for (int m = 0; m < 5; m++)
    slope[m] = 0.5 * (behind[m] - before[m]);
  for (int m = 0; m < 5; m++) {
    double flow = w * slope[m];
    for (int l = 0; l < 5; l++)
      flow = flow + sound[axis][m][l] * slope[l];
    r[m] = r[m] - flow + NU * (behind[m] - 2.0 * here[m] + before[m]);
  }
}

PHASE void rhs_along_x(size_t n, double u[restrict n][n][n][5], double rhs[restrict n][n][n][5]) {
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++) {
      for (size_t i = 1; i < n - 1; i++)
        subtract_flow(X, rhs[k][j][i], u[k][j][i - 1], u[k][j][i], u[k][j][i + 1]);
      for (size_t i = 2; i < n - 2; i++)
        for (int m = 0; m < 5; m++)
          rhs[k][j][i][m] =
              rhs[k][j][i][m] - EPSILON * (u[k][j][i - 2][m] - 4.0 * u[k][j][i - 1][m] + 6.0 * u[k][j][i][m] -
                                           4.0 * u[k][j][i + 1][m] + u[k][j][i + 2][m]);
    }
}

PHASE void rhs_along_y(size_t n, double u[restrict n][n][n][5], double rhs[restrict n][n][n][5]) {
  for (size_t k = 1; k < n - 1; k++) {
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        subtract_flow(Y, rhs[k][j][i], u[k][j - 1][i], u[k][j][i], u[k][j + 1][i]);
    for (size_t j = 2; j < n - 2; j++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++)
          rhs[k][j][i][m] =
              rhs[k][j][i][m] - EPSILON * (u[k][j - 2][i][m] - 4.0 * u[k][j - 1][i][m] + 6.0 * u[k][j][i][m] -
                                           4.0 * u[k][j + 1][i][m] + u[k][j + 2][i][m]);
  }
}

PHASE void rhs_along_z(size_t n, double u[restrict n][n][n][5], double rhs[restrict n][n][n][5]) {
  for (size_t j = 1; j < n - 1; j++) {
    for (size_t k = 1; k < n - 1; k++)
      for (size_t i = 1; i < n - 1; i++)
        subtract_flow(Z, rhs[k][j][i], u[k - 1][j][i], u[k][j][i], u[k + 1][j][i]);
    for (size_t k = 2; k < n - 2; k++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++)
          rhs[k][j][i][m] =
              rhs[k][j][i][m] - EPSILON * (u[k - 2][j][i][m] - 4.0 * u[k - 1][j][i][m] + 6.0 * u[k][j][i][m] -
                                           4.0 * u[k + 1][j][i][m] + u[k + 2][j][i][m]);
  }
}

/// rhs = what is missing in the equations; stays zero on the boundary, where u is given.
PHASE void right_hand_side(size_t n, double u[restrict n][n][n][5], double rhs[restrict n][n][n][5],
                           double forcing[restrict n][n][n][5]) {
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++)
          rhs[k][j][i][m] = forcing[k][j][i][m] - SIGMA * u[k][j][i][m];
  rhs_along_x(n, u, rhs);
  rhs_along_y(n, u, rhs);
  rhs_along_z(n, u, rhs);
}

/// rhs = matrix * rhs at every point.
PHASE void rotate(size_t n, double rhs[restrict n][n][n][5], double matrix[restrict 5][5]) {
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++) {
        double t[5];
        for (int m = 0; m < 5; m++) {
          t[m] = 0.0;
          for (int l = 0; l < 5; l++)
            t[m] = t[m] + matrix[m][l] * rhs[k][j][i][l];
        }
        for (int m = 0; m < 5; m++)
          rhs[k][j][i][m] = t[m];
      }
}

/// Out of the frame of one axis into that of the next.
static void rotate_between(size_t n, double rhs[restrict n][n][n][5], int from, int to) {
  double matrix[5][5];
  for (int m = 0; m < 5; m++)
    for (int l = 0; l < 5; l++) {
      matrix[m][l] = 0.0;
      for (int h = 0; h < 5; h++)
        matrix[m][l] = matrix[m][l] + reflect[to][m][h] * reflect[from][h][l];
    }
  rotate(n, rhs, matrix);
}

/// The five diagonals of all lines along an axis, of a step of length 1, for the unknowns that travel at
/// speed + `extra`. The fourth difference is left out next to the boundary, as in the right-hand side.
/// `distance` is that of a point along the axis from the boundary.
PHASE void diagonals(size_t n, int axis, double extra, double u[restrict n][n][n][5],
                     double a[restrict n][n][n], double b[restrict n][n][n], double c[restrict n][n][n],
                     double d[restrict n][n][n], double e[restrict n][n][n]) {
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++) {
        size_t distance = axis == X ? i : axis == Y ? j : k;
        double damping = distance >= 2 && distance < n - 2 ? EPSILON : 0.0;
        double flow = 0.5 * (speed(axis, u[k][j][i]) + extra);
        a[k][j][i] = damping;
        b[k][j][i] = -flow - NU - 4.0 * damping;
        c[k][j][i] = 1.0 + (SIGMA / 3.0 + 2.0 * NU) + 6.0 * damping;
        d[k][j][i] = flow - NU - 4.0 * damping;
        e[k][j][i] = damping;
      }
}

// The three solvers: elimination leaves ones on the diagonal c and changed d and e behind it, then
// substitution goes back. Unknowns `first` to `last` - 1 share their matrix. On the boundary d, e and rhs
// are zero.

PHASE void solve_along_x(size_t n, int first, int last, double rhs[restrict n][n][n][5],
                         double a[restrict n][n][n], double b[restrict n][n][n], double c[restrict n][n][n],
                         double d[restrict n][n][n], double e[restrict n][n][n]) {
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++) {
      d[k][j][1] = d[k][j][1] / c[k][j][1];
      e[k][j][1] = e[k][j][1] / c[k][j][1];
      for (int m = first; m < last; m++)
        rhs[k][j][1][m] = rhs[k][j][1][m] / c[k][j][1];
      for (size_t i = 2; i < n - 1; i++) {
        double near = b[k][j][i] - a[k][j][i] * d[k][j][i - 2];
        double pivot = c[k][j][i] - a[k][j][i] * e[k][j][i - 2] - near * d[k][j][i - 1];
        double inverse = 1.0 / pivot;
        d[k][j][i] = inverse * (d[k][j][i] - near * e[k][j][i - 1]);
        e[k][j][i] = inverse * e[k][j][i];
        for (int m = first; m < last; m++)
          rhs[k][j][i][m] =
              inverse * (rhs[k][j][i][m] - a[k][j][i] * rhs[k][j][i - 2][m] - near * rhs[k][j][i - 1][m]);
      }
      for (size_t i = n - 3; i >= 1; i--)
        for (int m = first; m < last; m++)
          rhs[k][j][i][m] =
              rhs[k][j][i][m] - d[k][j][i] * rhs[k][j][i + 1][m] - e[k][j][i] * rhs[k][j][i + 2][m];
    }
}

PHASE void solve_along_y(size_t n, int first, int last, double rhs[restrict n][n][n][5],
                         double a[restrict n][n][n], double b[restrict n][n][n], double c[restrict n][n][n],
                         double d[restrict n][n][n], double e[restrict n][n][n]) {
  for (size_t k = 1; k < n - 1; k++) {
    for (size_t i = 1; i < n - 1; i++) {
      d[k][1][i] = d[k][1][i] / c[k][1][i];
      e[k][1][i] = e[k][1][i] / c[k][1][i];
      for (int m = first; m < last; m++)
        rhs[k][1][i][m] = rhs[k][1][i][m] / c[k][1][i];
    }
    for (size_t j = 2; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++) {
        double near = b[k][j][i] - a[k][j][i] * d[k][j - 2][i];
        double pivot = c[k][j][i] - a[k][j][i] * e[k][j - 2][i] - near * d[k][j - 1][i];
        double inverse = 1.0 / pivot;
        d[k][j][i] = inverse * (d[k][j][i] - near * e[k][j - 1][i]);
        e[k][j][i] = inverse * e[k][j][i];
        for (int m = first; m < last; m++)
          rhs[k][j][i][m] =
              inverse * (rhs[k][j][i][m] - a[k][j][i] * rhs[k][j - 2][i][m] - near * rhs[k][j - 1][i][m]);
      }
    for (size_t j = n - 3; j >= 1; j--)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = first; m < last; m++)
          rhs[k][j][i][m] =
              rhs[k][j][i][m] - d[k][j][i] * rhs[k][j + 1][i][m] - e[k][j][i] * rhs[k][j + 2][i][m];
  }
}

PHASE void solve_along_z(size_t n, int first, int last, double rhs[restrict n][n][n][5],
                         double a[restrict n][n][n], double b[restrict n][n][n], double c[restrict n][n][n],
                         double d[restrict n][n][n], double e[restrict n][n][n]) {
  for (size_t j = 1; j < n - 1; j++) {
    for (size_t i = 1; i < n - 1; i++) {
      d[1][j][i] = d[1][j][i] / c[1][j][i];
      e[1][j][i] = e[1][j][i] / c[1][j][i];
      for (int m = first; m < last; m++)
        rhs[1][j][i][m] = rhs[1][j][i][m] / c[1][j][i];
    }
    for (size_t k = 2; k < n - 1; k++)
      for (size_t i = 1; i < n - 1; i++) {
        double near = b[k][j][i] - a[k][j][i] * d[k - 2][j][i];
        double pivot = c[k][j][i] - a[k][j][i] * e[k - 2][j][i] - near * d[k - 1][j][i];
        double inverse = 1.0 / pivot;
        d[k][j][i] = inverse * (d[k][j][i] - near * e[k - 1][j][i]);
        e[k][j][i] = inverse * e[k][j][i];
        for (int m = first; m < last; m++)
          rhs[k][j][i][m] =
              inverse * (rhs[k][j][i][m] - a[k][j][i] * rhs[k - 2][j][i][m] - near * rhs[k - 1][j][i][m]);
      }
    for (size_t k = n - 3; k >= 1; k--)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = first; m < last; m++)
          rhs[k][j][i][m] =
              rhs[k][j][i][m] - d[k][j][i] * rhs[k + 1][j][i][m] - e[k][j][i] * rhs[k + 2][j][i][m];
  }
}

/// All lines along an axis: the first three unknowns travel alike, the others faster and slower.
static void solve_along(int axis, size_t n, double u[restrict n][n][n][5], double rhs[restrict n][n][n][5],
                        double a[restrict n][n][n], double b[restrict n][n][n], double c[restrict n][n][n],
                        double d[restrict n][n][n], double e[restrict n][n][n]) {
  static const struct {
    double extra;
    int first, last;
  } kinds[3] = {{0.0, 0, 3}, {SOUND, 3, 4}, {-SOUND, 4, 5}};
  for (int kind = 0; kind < 3; kind++) {
    int first = kinds[kind].first, last = kinds[kind].last;
    diagonals(n, axis, kinds[kind].extra, u, a, b, c, d, e);
    if (axis == X)
      solve_along_x(n, first, last, rhs, a, b, c, d, e);
    else if (axis == Y)
      solve_along_y(n, first, last, rhs, a, b, c, d, e);
    else
      solve_along_z(n, first, last, rhs, a, b, c, d, e);
  }
}

PHASE void update(size_t n, double u[restrict n][n][n][5], double rhs[restrict n][n][n][5]) {
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++)
          u[k][j][i][m] = u[k][j][i][m] + rhs[k][j][i][m];
}

static double exact(size_t n, size_t k, size_t j, size_t i, int m) {
  double x = (double)i / (double)(n - 1), y = (double)j / (double)(n - 1), z = (double)k / (double)(n - 1);
  return 1.5 - 0.2 * m + 0.4 * y * z + 0.1 * x * x + z * (1.0 - z) * (0.7 + x) * (1.2 - y);
}

PHASE void set_exact(size_t n, double u[restrict n][n][n][5]) {
  for (size_t k = 0; k < n; k++)
    for (size_t j = 0; j < n; j++)
      for (size_t i = 0; i < n; i++)
        for (int m = 0; m < 5; m++)
          u[k][j][i][m] = exact(n, k, j, i, m);
}

/// What has no other value before it is read.
PHASE void set_zero(size_t n, double rhs[restrict n][n][n][5], double forcing[restrict n][n][n][5],
                    double d[restrict n][n][n], double e[restrict n][n][n]) {
  for (size_t k = 0; k < n; k++)
    for (size_t j = 0; j < n; j++)
      for (size_t i = 0; i < n; i++) {
        for (int m = 0; m < 5; m++)
          rhs[k][j][i][m] = forcing[k][j][i][m] = 0.0;
        d[k][j][i] = e[k][j][i] = 0.0;
      }
}

/// forcing becomes what the equations give for the exact solution.
PHASE void set_forcing(size_t n, double u[restrict n][n][n][5], double rhs[restrict n][n][n][5],
                       double forcing[restrict n][n][n][5]) {
  right_hand_side(n, u, rhs, forcing);
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++)
          forcing[k][j][i][m] = -rhs[k][j][i][m];
}

/// Inside, a straight line between the two boundary points above and below. Planes in order.
PHASE void set_start(size_t n, double u[restrict n][n][n][5]) {
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++) {
          double z = (double)k / (double)(n - 1);
          u[k][j][i][m] = (1.0 - z) * u[0][j][i][m] + z * u[n - 1][j][i][m];
        }
}

static double inner_values(size_t n) {
  return 5.0 * (double)(n - 2) * (double)(n - 2) * (double)(n - 2);
}

PHASE double residual(size_t n, double rhs[restrict n][n][n][5]) {
  double sum = 0.0;
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++)
          sum = sum + rhs[k][j][i][m] * rhs[k][j][i][m];
  return sum / inner_values(n);
}

PHASE double error(size_t n, double u[restrict n][n][n][5]) {
  double sum = 0.0;
  for (size_t k = 1; k < n - 1; k++)
    for (size_t j = 1; j < n - 1; j++)
      for (size_t i = 1; i < n - 1; i++)
        for (int m = 0; m < 5; m++) {
          double off = u[k][j][i][m] - exact(n, k, j, i, m);
          sum = sum + off * off;
        }
  return sum / inner_values(n);
}

/// Of a smooth error, a step leaves the share 1 - SIGMA / (1 + SIGMA / 3)^3: mean squares fall to 0.33 of
/// what they were, no less and no more, until rounding is all that is left.
#define FALLS 0.30, 0.37

static int run(size_t n, uint64_t iterations) {
  size_t points = n * n * n;
  double(*u)[n][n][5] = allocate(points, sizeof(double[5]));
  double(*rhs)[n][n][5] = allocate(points, sizeof(double[5]));
  double(*forcing)[n][n][5] = allocate(points, sizeof(double[5]));
  double(*a)[n][n] = allocate(points, sizeof(double)), (*b)[n][n] = allocate(points, sizeof(double));
  double(*c)[n][n] = allocate(points, sizeof(double)), (*d)[n][n] = allocate(points, sizeof(double));
  double(*e)[n][n] = allocate(points, sizeof(double));
  set_coefficients();
  set_zero(n, rhs, forcing, d, e);
  set_exact(n, u);
  set_forcing(n, u, rhs, forcing);
  set_start(n, u);
  phase("setup");
  double first_error = error(n, u);
  right_hand_side(n, u, rhs, forcing);
  double first = residual(n, rhs);
  for (uint64_t iteration = 0; iteration < iterations; iteration++) {
    if (iteration > 0)
      right_hand_side(n, u, rhs, forcing);
    rotate(n, rhs, reflect[X]);
    solve_along(X, n, u, rhs, a, b, c, d, e);
    rotate_between(n, rhs, X, Y);
    solve_along(Y, n, u, rhs, a, b, c, d, e);
    rotate_between(n, rhs, Y, Z);
    solve_along(Z, n, u, rhs, a, b, c, d, e);
    rotate(n, rhs, reflect[Z]);
    update(n, u, rhs);
  }
  phase("iterations");
  right_hand_side(n, u, rhs, forcing);
  double last = residual(n, rhs), last_error = error(n, u);
  phase("check");
  printf("grid: %zu x %zu x %zu, %llu iterations\n", n, n, n, (unsigned long long)iterations);
  printf("mean square residual: %.16e before, %.16e after\n", first, last);
  printf("mean square error:    %.16e before, %.16e after\n", first_error, last_error);
  free(u), free(rhs), free(forcing), free(a), free(b), free(c), free(d), free(e);
  return verification(fell_between(FALLS, first, last, iterations) &&
                      fell_between(FALLS, first_error, last_error, iterations));
}

static size_t side_in(uint64_t bytes) {
  uint64_t side = 0, most = bytes / POINT_BYTES;
  while ((side + 1) * (side + 1) * (side + 1) <= most)
    side++;
  if (side < SMALLEST_SIDE)
    fail("--memory-size is too small", "a grid of 7 x 7 x 7 points takes 54K");
  return (size_t)side;
}

int main(int argc, char **argv) {
  static uint64_t bytes, iterations = 2;
  static const struct app_option options[] = {
      {"--memory-size", &bytes}, {"--iterations", &iterations}, {NULL, NULL}};
  parse_options(
      argc, argv, "appsp",
      "usage: appsp --memory-size TOTAL [--iterations 2] [--times]\n"
      "Scalar pentadiagonal lines along x, y and z of a 3-D grid with five unknowns a point; prints\n"
      "what is left of the residual.\n"
      "  --memory-size TOTAL  choose a cubic grid whose arrays take TOTAL bytes (units K, M, G are\n"
      "                       binary); 160 bytes a point\n"
      "  --iterations N       of the three directions in turn\n"
      "  --times              seconds of each phase, on stderr\n",
      options);
  if (iterations == 0)
    fail("--iterations is too small", "at least 1");
  return run(side_in(bytes), iterations);
}
