// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FFTPDE: the 3-D FFT kernel of the NAS benchmarks, a heat equation solved by Fourier transforms. It
// stands for walks across the grain: the transform along z takes one element from each plane, a plane
// being megabytes long, and comes back for the neighbouring elements later. Columns are copied in blocks
// of 16 into a small scratch array, transformed there by passes whose strides change from pass to pass,
// and copied back.
//
// Arrays, n3 x n2 x n1 points (n1 contiguous):
//   u0     complex   the spectrum of the solution    16 bytes a point
//   u1     complex   being transformed               16
//   u2     complex   the solution                    16
//   decay  double    what becomes of u0 in a step     8
// --memory-size is the sum, 56 bytes a point: the number of points is the largest product of twos, threes
// and fives (at most one 3 or 5 in each dimension) that fits. Scratch is a few hundred kilobytes.
// Before: u1 is written; the forward transform makes u0 of it; decay is written.
// Each iteration:
//   evolve     reads and writes u0; reads decay; writes u1
//   inverse x  reads and writes u1, in order
//   inverse y  reads and writes u1, plane by plane, in blocks of columns within the plane
//   inverse z  reads u1; writes u2, in blocks of columns across all planes
//   check      reads u2 once in order, and 1024 elements at random
// The forward transform likewise goes x, y in u1, and z from u1 to u0. A block of columns takes 256 bytes of
// each line that it touches; those of one line follow each other, so a line (n1 * 16 bytes) of each plane has
// to stay while its columns are transformed.
//
// An ordinary C program: nothing in it knows how much memory there is.
#include "../common.h"

#include <math.h>

enum { BLOCK = 16, MAX_PASSES = 48, SAMPLES = 1024, SMALLEST = 4 };
static const double TAU = 6.28318530717958647692; // a turn
static const double DIFFUSION = 1e-6;
static const uint64_t BYTES_OF_POINT = 56;

typedef struct {
  double re, im;
} complex_t;

typedef complex_t columns[BLOCK]; // an element of each of BLOCK columns

/// Plan of the transforms of one length: lengths are products of the radices.
struct line {
  size_t n;
  int passes;
  unsigned radix[MAX_PASSES];
  complex_t *root; // exp(-2 pi i k / n), k < n
};

struct cube {
  size_t n1, n2, n3;
  struct line x, y, z;
  columns *scratch, *scratch2; // as long as the longest line
};

static const char help[] =
    "usage: fftpde --memory-size TOTAL [--iterations 6] [--seed 1] [--times]\n"
    "Heat in a periodic box, by 3-D Fourier transforms; prints the shape and a checksum for each step in\n"
    "time, and checks each transform by its energy and by one element computed directly.\n"
    "  --memory-size TOTAL  bytes of the four arrays (units K, M, G are binary)\n"
    "  --iterations N       steps in time; each is one inverse transform\n"
    "  --seed S             of the random field at the beginning\n"
    "  --times              seconds of each phase, on stderr\n";

static complex_t add(complex_t a, complex_t b) {
  return (complex_t){a.re + b.re, a.im + b.im};
}
static complex_t subtract(complex_t a, complex_t b) {
  return (complex_t){a.re - b.re, a.im - b.im};
}
static complex_t times(complex_t a, complex_t b) {
  return (complex_t){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static complex_t scaled(complex_t a, double factor) {
  return (complex_t){a.re * factor, a.im * factor};
}
static double energy_of(complex_t a) {
  return a.re * a.re + a.im * a.im;
}

/// exp(sign 2 pi i k / n)
static complex_t turn(int sign, size_t k, size_t n) {
  double angle = sign * TAU * (double)(k % n) / (double)n;
  return (complex_t){cos(angle), sin(angle)};
}

// Transforms of BLOCK columns at a time, y[n][BLOCK]; the passes go from one array to the other and need no
// reordering (Stockham). Before a pass with radix R, `done` is the product of the radices before it: y
// holds n / done subsequences, each transformed to `done` frequencies.

static complex_t root_of(const struct line *line, size_t index, int sign) {
  complex_t w = line->root[index % line->n];
  return sign < 0 ? w : (complex_t){w.re, -w.im};
}

static void pass2(const struct line *line, size_t done, int sign, columns *restrict y,
                  columns *restrict out) {
  size_t rest = line->n / (2 * done), half = line->n / 2;
  for (size_t f = 0; f < done; f++) {
    complex_t w = root_of(line, f * rest, sign);
    for (size_t s = 0; s < rest; s++) {
      const complex_t *a = y[f * 2 * rest + s], *b = y[f * 2 * rest + rest + s];
      complex_t *low = out[f * rest + s], *high = out[half + f * rest + s];
      for (size_t c = 0; c < BLOCK; c++) {
        complex_t t = times(w, b[c]);
        low[c] = add(a[c], t);
        high[c] = subtract(a[c], t);
      }
    }
  }
}

/// Any radix: each of its outputs is a sum over its inputs.
static void pass(const struct line *line, unsigned radix, size_t done, int sign, columns *restrict y,
                 columns *restrict out) {
  size_t rest = line->n / (radix * done), part = line->n / radix;
  for (size_t q = 0; q < radix; q++)
    for (size_t f = 0; f < done; f++)
      for (size_t s = 0; s < rest; s++) {
        complex_t *sum = out[q * part + f * rest + s];
        for (size_t c = 0; c < BLOCK; c++)
          sum[c] = y[f * radix * rest + s][c];
        for (size_t p = 1; p < radix; p++) {
          complex_t w = root_of(line, p * (f + q * done) * rest, sign);
          for (size_t c = 0; c < BLOCK; c++)
            sum[c] = add(sum[c], times(w, y[f * radix * rest + p * rest + s][c]));
        }
      }
}

/// Transforms the columns in y, using `other` too; returns the one of the two that has the result.
static columns *transform(const struct line *line, int sign, columns *y, columns *other) {
  size_t done = 1;
  for (int i = 0; i < line->passes; i++) {
    if (line->radix[i] == 2)
      pass2(line, done, sign, y, other);
    else
      pass(line, line->radix[i], done, sign, y, other);
    done *= line->radix[i];
    columns *result = other;
    other = y;
    y = result;
  }
  return y;
}

// The three directions. A last block may be narrower; its unused columns are transformed for nothing.

static size_t width_of(size_t from, size_t n) {
  return n - from < BLOCK ? n - from : BLOCK;
}

static void transform_x(const struct cube *cube, int sign, size_t n3, size_t n2, size_t n1,
                        complex_t u[n3][n2][n1]) {
  columns *y = cube->scratch;
  for (size_t k = 0; k < n3; k++)
    for (size_t first = 0; first < n2; first += BLOCK) {
      size_t width = width_of(first, n2);
      for (size_t c = 0; c < width; c++)
        for (size_t i = 0; i < n1; i++)
          y[i][c] = u[k][first + c][i];
      columns *result = transform(&cube->x, sign, y, cube->scratch2);
      for (size_t c = 0; c < width; c++)
        for (size_t i = 0; i < n1; i++)
          u[k][first + c][i] = result[i][c];
    }
}

static void transform_y(const struct cube *cube, int sign, size_t n3, size_t n2, size_t n1,
                        complex_t u[n3][n2][n1]) {
  columns *y = cube->scratch;
  for (size_t k = 0; k < n3; k++)
    for (size_t first = 0; first < n1; first += BLOCK) {
      size_t width = width_of(first, n1);
      for (size_t j = 0; j < n2; j++)
        for (size_t c = 0; c < width; c++)
          y[j][c] = u[k][j][first + c];
      columns *result = transform(&cube->y, sign, y, cube->scratch2);
      for (size_t j = 0; j < n2; j++)
        for (size_t c = 0; c < width; c++)
          u[k][j][first + c] = result[j][c];
    }
}

/// From u to `to`, times `factor`.
static void transform_z(const struct cube *cube, int sign, double factor, size_t n3, size_t n2, size_t n1,
                        complex_t u[n3][n2][n1], complex_t to[n3][n2][n1]) {
  columns *y = cube->scratch;
  for (size_t j = 0; j < n2; j++)
    for (size_t first = 0; first < n1; first += BLOCK) {
      size_t width = width_of(first, n1);
      for (size_t k = 0; k < n3; k++)
        for (size_t c = 0; c < width; c++)
          y[k][c] = u[k][j][first + c];
      columns *result = transform(&cube->z, sign, y, cube->scratch2);
      for (size_t k = 0; k < n3; k++)
        for (size_t c = 0; c < width; c++)
          to[k][j][first + c] = scaled(result[k][c], factor);
    }
}

/// sign -1: forward, not scaled; sign 1: inverse, divided by the number of points. u is overwritten.
static void transform_cube(const struct cube *cube, int sign, complex_t *u, complex_t *to) {
  size_t n1 = cube->n1, n2 = cube->n2, n3 = cube->n3;
  double factor = sign < 0 ? 1.0 : 1.0 / ((double)n1 * (double)n2 * (double)n3);
  transform_x(cube, sign, n3, n2, n1, (void *)u);
  transform_y(cube, sign, n3, n2, n1, (void *)u);
  transform_z(cube, sign, factor, n3, n2, n1, (void *)u, (void *)to);
}

// Checks. A sweep over what goes into a transform adds up its energy and, directly from the definition,
// one element of what must come out.

struct probe {
  size_t i, j, k; // the element
  int sign;
  complex_t *along_x; // its factors exp(sign 2 pi i ...) for each place in a line
  complex_t value;    // so far
  double energy;
};

static struct probe start_probe(const struct cube *cube, int sign, complex_t *along_x) {
  struct probe probe = {cube->n1 / 3 + 1, cube->n2 / 5 + 1, cube->n3 / 7 + 1, sign, along_x, {0.0, 0.0}, 0.0};
  for (size_t i = 0; i < cube->n1; i++)
    along_x[i] = turn(sign, probe.i * i, cube->n1);
  return probe;
}

/// Line (k, j) goes into the transform.
static void add_line(struct probe *probe, const struct cube *cube, size_t k, size_t j,
                     const complex_t *line) {
  complex_t sum = {0.0, 0.0};
  double energy = 0.0;
  for (size_t i = 0; i < cube->n1; i++) {
    sum = add(sum, times(line[i], probe->along_x[i]));
    energy += energy_of(line[i]);
  }
  complex_t across =
      times(turn(probe->sign, probe->j * j, cube->n2), turn(probe->sign, probe->k * k, cube->n3));
  probe->value = add(probe->value, times(sum, across));
  probe->energy += energy;
}

/// Whether `out` is the transform, times `factor`, of what the probe saw. Rounding errors of an element
/// are to be small beside the root of the mean square of all elements.
static int confirms(const struct probe *probe, const struct cube *cube, const complex_t *out, double factor) {
  size_t points = cube->n1 * cube->n2 * cube->n3;
  double energy = 0.0, expected = probe->energy * factor * factor * (double)points;
  for (size_t i = 0; i < points; i++)
    energy += energy_of(out[i]);
  complex_t found = out[(probe->k * cube->n2 + probe->j) * cube->n1 + probe->i];
  double error = energy_of(subtract(found, scaled(probe->value, factor)));
  return fabs(energy - expected) <= 1e-9 * expected && sqrt(error) <= 1e-9 * sqrt(expected / (double)points);
}

// The equation.

static struct probe random_field(const struct cube *cube, size_t n3, size_t n2, size_t n1,
                                 complex_t u[n3][n2][n1], uint64_t seed, complex_t *along_x) {
  struct probe probe = start_probe(cube, -1, along_x);
  uint64_t state = seed * 2654435761u + 88172645463325252u;
  for (size_t k = 0; k < n3; k++)
    for (size_t j = 0; j < n2; j++) {
      for (size_t i = 0; i < n1; i++) {
        u[k][j][i].re = next_unit(&state);
        u[k][j][i].im = next_unit(&state);
      }
      add_line(&probe, cube, k, j, u[k][j]);
    }
  return probe;
}

/// The square of the frequency at place i of n: the second half are the negative ones.
static double frequency2(size_t i, size_t n) {
  double f = i <= n / 2 ? (double)i : (double)i - (double)n;
  return f * f;
}

/// exp(-4 pi^2 diffusion |frequency|^2), the factor of each frequency in a unit of time.
static void make_decay(size_t n3, size_t n2, size_t n1, double decay[n3][n2][n1]) {
  for (size_t k = 0; k < n3; k++)
    for (size_t j = 0; j < n2; j++)
      for (size_t i = 0; i < n1; i++)
        decay[k][j][i] =
            exp(-TAU * TAU * DIFFUSION * (frequency2(i, n1) + frequency2(j, n2) + frequency2(k, n3)));
}

/// A step in time of the spectrum u0; a copy for the inverse transform goes to u1.
static struct probe evolve(const struct cube *cube, size_t n3, size_t n2, size_t n1, complex_t u0[n3][n2][n1],
                           complex_t u1[n3][n2][n1], double decay[n3][n2][n1], complex_t *along_x) {
  struct probe probe = start_probe(cube, 1, along_x);
  for (size_t k = 0; k < n3; k++)
    for (size_t j = 0; j < n2; j++) {
      for (size_t i = 0; i < n1; i++) {
        u0[k][j][i] = scaled(u0[k][j][i], decay[k][j][i]);
        u1[k][j][i] = u0[k][j][i];
      }
      add_line(&probe, cube, k, j, u0[k][j]);
    }
  return probe;
}

static complex_t checksum(const complex_t *u, size_t points) {
  complex_t sum = {0.0, 0.0};
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < SAMPLES; i++)
    sum = add(sum, u[next_random(&state) % points]);
  return sum;
}

// Sizes.

static struct line plan(size_t n) {
  struct line line = {.n = n, .root = (complex_t *)allocate(n, sizeof(complex_t))};
  for (size_t k = 0; k < n; k++)
    line.root[k] = turn(-1, k, n);
  for (unsigned radix = 2; n > 1; radix++)
    for (; n % radix == 0; n /= radix)
      line.radix[line.passes++] = radix;
  return line;
}

/// The largest 2^k, 3 * 2^k or 5 * 2^k up to `limit`; at least SMALLEST.
static size_t smooth_below(size_t limit) {
  size_t best = SMALLEST;
  for (size_t odd = 1; odd <= 5; odd += 2)
    for (size_t n = odd * SMALLEST; n <= limit; n *= 2)
      best = n > best ? n : best;
  return best;
}

/// The box with the most points whose longest side is at most twice the shortest; n1 >= n2 >= n3.
static struct cube fit(uint64_t bytes) {
  struct cube best = {0};
  size_t points = (size_t)(bytes / BYTES_OF_POINT), most = 0;
  size_t side = (size_t)(2.0 * cbrt((double)points));
  if (points < SMALLEST * SMALLEST * SMALLEST || bytes > (uint64_t)1 << 50)
    fail("--memory-size is too small or too large", "64K to 1048576G");
  for (size_t n1 = smooth_below(side); n1 > SMALLEST && n1 > side / 4; n1 = smooth_below(n1 - 1))
    for (size_t n2 = n1; n2 > SMALLEST && n2 > side / 4; n2 = smooth_below(n2 - 1)) {
      size_t n3 = smooth_below(points / n1 / n2);
      if (n3 <= n2 && n1 <= 2 * n3 && n1 * n2 * n3 <= points && n1 * n2 * n3 > most) {
        most = n1 * n2 * n3;
        best = (struct cube){.n1 = n1, .n2 = n2, .n3 = n3};
      }
    }
  if (!most)
    fail("--memory-size is too small", "64K is enough");
  return best;
}

static int solve(struct cube *cube, uint64_t iterations, uint64_t seed) {
  size_t n1 = cube->n1, n2 = cube->n2, n3 = cube->n3, points = n1 * n2 * n3;
  complex_t *u0 = (complex_t *)allocate(points, sizeof *u0), *u1 = (complex_t *)allocate(points, sizeof *u1);
  complex_t *u2 = (complex_t *)allocate(points, sizeof *u2);
  complex_t *along_x = (complex_t *)allocate(n1, sizeof *along_x);
  double *decay = (double *)allocate(points, sizeof *decay);
  struct probe probe = random_field(cube, n3, n2, n1, (void *)u1, seed, along_x);
  make_decay(n3, n2, n1, (void *)decay);
  phase("start");
  transform_cube(cube, -1, u1, u0);
  int good = confirms(&probe, cube, u0, 1.0);
  phase("forward");
  for (uint64_t step = 0; step < iterations; step++) {
    probe = evolve(cube, n3, n2, n1, (void *)u0, (void *)u1, (void *)decay, along_x);
    phase("evolve");
    transform_cube(cube, 1, u1, u2);
    phase("inverse");
    good = good && confirms(&probe, cube, u2, 1.0 / (double)points);
    complex_t sum = checksum(u2, points);
    printf("checksum: %.15e %.15e\n", sum.re, sum.im);
    phase("check");
  }
  free(u0), free(u1), free(u2), free(along_x), free(decay);
  return good;
}

int main(int argc, char **argv) {
  static uint64_t bytes, iterations = 6, seed = 1;
  static const struct app_option options[] = {
      {"--memory-size", &bytes}, {"--iterations", &iterations}, {"--seed", &seed}, {NULL, NULL}};
  parse_options(argc, argv, "fftpde", help, options);
  if (bytes == 0 || iterations == 0)
    fail("nothing to do", "give --memory-size, and --iterations 1 or more");
  struct cube cube = fit(bytes);
  size_t longest = cube.n1;
  cube.x = plan(cube.n1), cube.y = plan(cube.n2), cube.z = plan(cube.n3);
  cube.scratch = (columns *)allocate(longest, sizeof(columns));
  cube.scratch2 = (columns *)allocate(longest, sizeof(columns));
  memset(cube.scratch, 0, longest * sizeof(columns)); // a narrow block leaves columns unset
  printf("box: %zu x %zu x %zu; %llu iterations\n", cube.n1, cube.n2, cube.n3,
         (unsigned long long)iterations);
  int good = solve(&cube, iterations, seed);
  free(cube.x.root), free(cube.y.root), free(cube.z.root), free(cube.scratch), free(cube.scratch2);
  return verification(good);
}
