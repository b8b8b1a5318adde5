// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MGRID: the potential of a few charges in a grounded box, by multigrid, on grids that lie on the disk. After the description in
// PACT 2008 (Son, Kandemir and others, section 5).
//
// The data set has on each level three arrays of (n + 2) planes, each of (n + 2) * (n + 2) doubles and at a multiple of 4 KiB:
//   u   the solution, or the correction of a finer one
//   f   what it belongs to: the charges, or residuals of the finer grid
//   r   the next u, or residuals
// The outermost points are ghosts, which have the values next to them with the other sign. A level is half as long as the one
// before. Each rank sweeps over its planes of a level, with those of its neighbours before and behind; on coarse levels these are
// most of all there is, and the coarsest has fewer planes than there are ranks.
#include "shared.h"

#include <math.h>

enum { MAX_LEVELS = 24, STEP = 8, CHARGES = 12, PLANES_AT = 4096, COARSEST_SWEEPS = 24 };

static const char help[] = "usage: mpirun -n RANKS mgrid --data PATH --size TOTAL [--iterations 2] [--make | --made] [--read] [--times]\n"
                           "V-cycles of multigrid; prints the norm of the residual after each and a checksum. A data set serves one run.\n" SHARED_HELP
                           "  --iterations N V-cycles\n";

struct level {
  uint64_t n, stride; ///< points of an edge without ghosts; doubles from plane to plane
  uint64_t u, f, r;   ///< where the arrays begin, bytes
};

struct grids {
  const struct data_set *d;
  struct level level[MAX_LEVELS];
  int levels;
  double *buffer[3]; ///< with --read: three planes each
};

struct range {
  uint64_t from, to;
};

/// Returns the bytes of all levels.
static uint64_t lay_out(struct grids *g, uint64_t n) {
  uint64_t at = 0;
  for (g->levels = 0; g->levels < MAX_LEVELS; n /= 2) {
    struct level *l = &g->level[g->levels++];
    const uint64_t plane = (((n + 2) * (n + 2) * sizeof(double) + PLANES_AT - 1) / PLANES_AT) * PLANES_AT;
    *l = (struct level){n, plane / sizeof(double), at, at + (n + 2) * plane, at + 2 * (n + 2) * plane};
    at += 3 * (n + 2) * plane;
    if (n % 2 || n <= 4) break;
  }
  return at;
}

/// Planes of this rank, of which the first has number 1.
static struct range own(const struct grids *g, const struct level *l) {
  const struct job *job = g->d->job;
  return (struct range){1 + part(job, l->n, job->rank), 1 + part(job, l->n, job->rank + 1)};
}

static uint64_t offset_of(const struct level *l, uint64_t array, uint64_t plane) {
  return array + plane * l->stride * sizeof(double);
}

static double *planes_of(const struct grids *g, const struct level *l, uint64_t array, uint64_t plane, uint64_t count, int buffer) {
  return (double *)piece(g->d, offset_of(l, array, plane), count * l->stride * sizeof(double), g->buffer[buffer]);
}

static double *new_planes_of(const struct grids *g, const struct level *l, uint64_t array, uint64_t plane, int buffer) {
  return (double *)new_piece(g->d, offset_of(l, array, plane), g->buffer[buffer]);
}

static void put_planes(const struct grids *g, const struct level *l, uint64_t array, uint64_t plane, uint64_t count, const double *from) {
  put_piece(g->d, offset_of(l, array, plane), count * l->stride * sizeof(double), from);
}

/// How many planes a sweep takes at once.
static uint64_t at_once(const struct grids *g, uint64_t all) {
  return g->d->map ? all : 1;
}

/// Everyone sees what everyone has stored to an array: this rank's planes, with ghosts beside them, and those around them.
static void exchange(const struct grids *g, const struct level *l, uint64_t array) {
  struct range mine = own(g, l);
  if (mine.from < mine.to) {
    mine.from -= mine.from == 1, mine.to += mine.to == l->n + 1;
    flush(g->d, offset_of(l, array, mine.from), (mine.to - mine.from) * l->stride * sizeof(double));
  }
  meet();
  refresh(g->d, array, (l->n + 2) * l->stride * sizeof(double));
}

/// The ghosts of planes, but for those beyond the first and the last one.
static void set_ghosts(double *u, uint64_t planes, uint64_t n, uint64_t stride) {
  for (uint64_t k = 0; k < planes; k++) {
    for (uint64_t j = 1; j <= n; j++) {
      u[k * stride + j * (n + 2)] = -u[k * stride + j * (n + 2) + 1];
      u[k * stride + j * (n + 2) + n + 1] = -u[k * stride + j * (n + 2) + n];
    }
    for (uint64_t i = 0; i < n + 2; i++) {
      u[k * stride + i] = -u[k * stride + (n + 2) + i];
      u[k * stride + (n + 1) * (n + 2) + i] = -u[k * stride + n * (n + 2) + i];
    }
  }
}

/// The plane of ghosts beyond plane `plane`, where that is the first or the last one.
static void set_ghost_planes(const struct grids *g, const struct level *l, uint64_t array, uint64_t plane) {
  const uint64_t beyond[2] = {0, l->n + 1}, beside[2] = {1, l->n};
  for (int side = 0; side < 2; side++) {
    if (plane != beside[side]) continue;
    const double *from = planes_of(g, l, array, plane, 1, 0);
    double *to = new_planes_of(g, l, array, beyond[side], 1);
    for (uint64_t i = 0; i < l->stride; i++) to[i] = -from[i];
    put_planes(g, l, array, beyond[side], 1, to);
  }
}

/// The six neighbours of the point one plane behind `at`, summed.
static inline double around(const double *u, uint64_t at, uint64_t row, uint64_t stride) {
  return u[at] + u[at + 2 * stride] + u[at + stride - row] + u[at + stride + row] + u[at + stride - 1] + u[at + stride + 1];
}

/// One step of damped Jacobi. `u` begins one plane before the others.
static void relax(const double *u, const double *f, double *out, uint64_t planes, uint64_t n, uint64_t stride, double square) {
  const uint64_t row = n + 2;
  for (uint64_t k = 0; k < planes; k++)
    for (uint64_t j = 1; j <= n; j++)
      for (uint64_t i = 1; i <= n; i++) {
        const uint64_t at = k * stride + j * row + i;
        out[at] = u[at + stride] + (6.0 / 7.0) / 6.0 * (square * f[at] + around(u, at, row, stride) - 6 * u[at + stride]);
      }
}

/// What is left of `f`. `u` begins one plane before the others.
static void residual(const double *u, const double *f, double *r, uint64_t planes, uint64_t n, uint64_t stride, double square) {
  const uint64_t row = n + 2;
  for (uint64_t k = 0; k < planes; k++)
    for (uint64_t j = 1; j <= n; j++)
      for (uint64_t i = 1; i <= n; i++) {
        const uint64_t at = k * stride + j * row + i;
        r[at] = f[at] - (6 * u[at + stride] - around(u, at, row, stride)) / square;
      }
}

/// Means of eight points: two planes of `r` for each of `f`.
static void restrict_planes(const double *r, uint64_t fine_row, uint64_t fine_stride, double *f, uint64_t planes, uint64_t n, uint64_t stride) {
  for (uint64_t k = 0; k < planes; k++)
    for (uint64_t j = 1; j <= n; j++)
      for (uint64_t i = 1; i <= n; i++) {
        const uint64_t a = 2 * k * fine_stride + (2 * j - 1) * fine_row + 2 * i - 1, b = a + fine_stride;
        f[k * stride + j * (n + 2) + i] = 0.125 * (r[a] + r[a + 1] + r[a + fine_row] + r[a + fine_row + 1] + r[b] + r[b + 1] +
                                                   r[b + fine_row] + r[b + fine_row + 1]);
      }
}

/// Adds the correction `c` of a coarser grid to `planes` planes, of which the first has number `first`; `c` begins at its own.
static void prolong(const double *c, uint64_t coarse_row, uint64_t coarse_stride, double *u, uint64_t first, uint64_t planes, uint64_t n,
                    uint64_t stride) {
  for (uint64_t k = 0; k < planes; k++)
    for (uint64_t j = 1; j <= n; j++)
      for (uint64_t i = 1; i <= n; i++)
        u[k * stride + j * (n + 2) + i] += c[((first + k + 1) / 2 - (first + 1) / 2) * coarse_stride + (j + 1) / 2 * coarse_row + (i + 1) / 2];
}

static double square_of(const struct level *l) {
  return 1 / ((double)l->n * (double)l->n);
}

static void sweep(const struct grids *g, const struct level *l, uint64_t from, uint64_t to) {
  const struct range mine = own(g, l);
  for (uint64_t k = mine.from, some; k < mine.to; k += some) {
    some = at_once(g, mine.to - mine.from);
    double *out = new_planes_of(g, l, to, k, 2);
    relax(planes_of(g, l, from, k - 1, some + 2, 0), planes_of(g, l, l->f, k, some, 1), out, some, l->n, l->stride, square_of(l));
    set_ghosts(out, some, l->n, l->stride);
    put_planes(g, l, to, k, some, out);
  }
  for (uint64_t k = mine.from; k < mine.to; k++) set_ghost_planes(g, l, to, k);
  exchange(g, l, to);
}

/// An even number of steps, so that the result is in u again.
static void smooth(const struct grids *g, const struct level *l, int steps) {
  for (int i = 0; i < steps; i += 2) {
    sweep(g, l, l->u, l->r);
    sweep(g, l, l->r, l->u);
  }
}

static void find_residual(const struct grids *g, const struct level *l) {
  const struct range mine = own(g, l);
  for (uint64_t k = mine.from, some; k < mine.to; k += some) {
    some = at_once(g, mine.to - mine.from);
    double *r = new_planes_of(g, l, l->r, k, 2);
    residual(planes_of(g, l, l->u, k - 1, some + 2, 0), planes_of(g, l, l->f, k, some, 1), r, some, l->n, l->stride, square_of(l));
    put_planes(g, l, l->r, k, some, r);
  }
  exchange(g, l, l->r);
}

static void zero_planes(const struct grids *g, const struct level *l, uint64_t array) {
  struct range mine = own(g, l);
  if (mine.from == mine.to) return;
  mine.from -= mine.from == 1, mine.to += mine.to == l->n + 1;
  for (uint64_t k = mine.from; k < mine.to; k++) {
    double *plane = new_planes_of(g, l, array, k, 0);
    for (uint64_t i = 0; i < l->stride; i++) plane[i] = 0;
    put_planes(g, l, array, k, 1, plane);
  }
}

static void descend(const struct grids *g, const struct level *fine, const struct level *coarse) {
  const struct range mine = own(g, coarse);
  for (uint64_t k = mine.from, some; k < mine.to; k += some) {
    some = at_once(g, mine.to - mine.from);
    double *f = new_planes_of(g, coarse, coarse->f, k, 2);
    restrict_planes(planes_of(g, fine, fine->r, 2 * k - 1, 2 * some, 0), fine->n + 2, fine->stride, f, some, coarse->n, coarse->stride);
    put_planes(g, coarse, coarse->f, k, some, f);
  }
  zero_planes(g, coarse, coarse->u);
  exchange(g, coarse, coarse->u);
}

static void ascend(const struct grids *g, const struct level *fine, const struct level *coarse) {
  const struct range mine = own(g, fine);
  for (uint64_t k = mine.from, some; k < mine.to; k += some) {
    some = at_once(g, mine.to - mine.from);
    const uint64_t first = (k + 1) / 2, last = (k + some) / 2;
    double *u = planes_of(g, fine, fine->u, k, some, 2);
    prolong(planes_of(g, coarse, coarse->u, first, last - first + 1, 0), coarse->n + 2, coarse->stride, u, k, some, fine->n, fine->stride);
    set_ghosts(u, some, fine->n, fine->stride);
    put_planes(g, fine, fine->u, k, some, u);
  }
  for (uint64_t k = mine.from; k < mine.to; k++) set_ghost_planes(g, fine, fine->u, k);
  exchange(g, fine, fine->u);
}

static void v_cycle(const struct grids *g) {
  const int last = g->levels - 1;
  for (int l = 0; l < last; l++) {
    smooth(g, &g->level[l], 2);
    find_residual(g, &g->level[l]);
    descend(g, &g->level[l], &g->level[l + 1]);
  }
  smooth(g, &g->level[last], COARSEST_SWEEPS);
  for (int l = last; l-- > 0;) {
    ascend(g, &g->level[l], &g->level[l + 1]);
    smooth(g, &g->level[l], 2);
  }
}

/// Of an array's inner points, by planes: their squares, or they themselves with what makes the order count.
static void sum_planes(const struct grids *g, const struct level *l, uint64_t array, int squares, double *sums) {
  const struct range mine = own(g, l);
  for (uint64_t k = 0; k < l->n; k++) sums[k] = 0;
  for (uint64_t k = mine.from; k < mine.to; k++) {
    const double *plane = planes_of(g, l, array, k, 1, 0);
    for (uint64_t j = 1; j <= l->n; j++)
      for (uint64_t i = 1; i <= l->n; i++) {
        const double v = plane[j * (l->n + 2) + i];
        sums[k - 1] += v * (squares ? v : (double)(1 + (i * 7 + j * 3) % 11));
      }
  }
  share_values(sums, l->n);
}

/// Root of the mean square of the finest residual.
static double norm(const struct grids *g, double *sums) {
  const struct level *l = &g->level[0];
  double sum = 0;
  find_residual(g, l);
  sum_planes(g, l, l->r, 1, sums);
  for (uint64_t k = 0; k < l->n; k++) sum += sums[k];
  return sqrt(sum / ((double)l->n * (double)l->n * (double)l->n));
}

/// Half of the charges have one sign, half the other.
static void place_charges(const struct grids *g, const struct level *l) {
  const struct range mine = own(g, l);
  const double scale = (double)l->n * (double)l->n * (double)l->n;
  uint64_t state = 88172645463325252u;
  for (int c = 0; c < CHARGES; c++) {
    const uint64_t i = 1 + next_random(&state) % l->n, j = 1 + next_random(&state) % l->n, k = 1 + next_random(&state) % l->n;
    if (k < mine.from || k >= mine.to) continue;
    double *plane = planes_of(g, l, l->f, k, 1, 0);
    plane[j * (l->n + 2) + i] += c % 2 ? scale : -scale;
    put_planes(g, l, l->f, k, 1, plane);
  }
}

static void make_data(const struct grids *g) {
  for (int i = 0; i < g->levels; i++) {
    const struct level *l = &g->level[i];
    zero_planes(g, l, l->u), zero_planes(g, l, l->f), zero_planes(g, l, l->r);
    if (i == 0) place_charges(g, l);
    exchange(g, l, l->u), exchange(g, l, l->f), exchange(g, l, l->r);
  }
}

static int run(const struct grids *g, uint64_t iterations) {
  const uint64_t n = g->level[0].n;
  double *sums = (double *)allocate(n, sizeof *sums);
  int falls = 1;
  begin_measuring();
  double before = norm(g, sums);
  const double first = before;
  printf("residual: %.12e at first\n", before);
  for (uint64_t i = 0; i < iterations; i++) {
    v_cycle(g);
    const double left = norm(g, sums);
    phase("V-cycle");
    printf("residual: %.12e\n", left);
    falls = falls && (left < 0.7 * before || left < 1e-11 * first);
    before = left;
  }
  sum_planes(g, &g->level[0], g->level[0].u, 0, sums);
  const int status = end_measuring(sums, n, falls);
  free(sums);
  return status;
}

int main(int argc, char **argv) {
  static uint64_t iterations = 2;
  static const struct app_option options[] = {{"--iterations", &iterations, NULL}, {NULL, NULL, NULL}};
  const struct job job = start(argc, argv, "mgrid", help, options);
  struct grids g;
  uint64_t n = STEP;
  if (!iterations) all_give_up(&job, "nothing to do", "give --iterations 1 or more");
  if (lay_out(&g, n) > job.bytes) all_give_up(&job, "--size is too small", "8 x 8 x 8 points take 192K");
  if (job.bytes > (uint64_t)1 << 44) all_give_up(&job, "--size is too large", "at most 16384G");
  while (lay_out(&g, n + STEP) <= job.bytes) n += STEP;
  struct data_set d = open_data_set(&job, lay_out(&g, n), !job.is_made, !job.makes);
  g.d = &d;
  for (int i = 0; i < 3; i++) g.buffer[i] = (double *)allocate(3 * g.level[0].stride, sizeof(double));
  printf("mgrid: %llu x %llu x %llu points, %d levels, %llu V-cycles\n", (unsigned long long)n, (unsigned long long)n,
         (unsigned long long)n, g.levels, (unsigned long long)iterations);
  if (!job.is_made) make_data(&g);
  meet();
  refresh(&d, 0, d.bytes);
  phase("charges");
  const int status = job.makes ? 0 : run(&g, iterations);
  for (int i = 0; i < 3; i++) free(g.buffer[i]);
  close_data_set(&d);
  return status;
}
