// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CHOLESKY: a dense symmetric matrix that lies on the disk is factored into L L', and a system is solved with it. Left-looking, by
// slabs of columns: one slab at a time is in memory, and those that are factored already are read for it. After the description in
// PACT 2008 (Son, Kandemir and others, section 5).
//
// The data set is n * n doubles in tiles of B * B, row by row, the tiles of a slab one after the other; those above the diagonal
// are holes. L takes the place of the matrix. Of N = n / B slabs, slab J is made in these phases:
//   panel    all ranks read row J of the tiles before it
//   update   all ranks read all rows below of all slabs before it, each for some of the slab's columns
//   finish   each rank finishes some of the slab's tiles, and writes them
// Then the system is solved: each rank reads some tiles of all of L, twice, and all ranks the tiles of the diagonal.
#include "shared.h"

#include <math.h>

enum { LARGEST_BLOCK = 1024 };

static const char help[] =
    "usage: mpirun -n RANKS cholesky --data PATH --size TOTAL [--block 64] [--make | --made] [--read] [--times]\n"
    "Factors a matrix in its place and solves a system; prints the largest error and a checksum. A data set serves one run.\n" SHARED_HELP
    "  --block B      rows and columns of a tile, a multiple of 32\n";

/// The matrix on the disk.
struct matrix {
  const struct data_set *d;
  uint64_t n, block, slabs;
};

static uint64_t tile_bytes(const struct matrix *m) {
  return m->block * m->block * sizeof(double);
}

static uint64_t tile_offset(const struct matrix *m, uint64_t row, uint64_t slab) {
  return (slab * m->slabs + row) * tile_bytes(m);
}

/// Far larger on the diagonal than beside it, so that it is positive definite.
static double element(uint64_t i, uint64_t j, uint64_t n) {
  return i == j ? 4 + 2 * log((double)n) : 1 / (double)(1 + (i > j ? i - j : j - i));
}

static double solution(uint64_t i) {
  return 1 + (double)(i % 7) / 8;
}

/// Tiles go around the ranks.
static int is_mine(const struct matrix *m, uint64_t tile) {
  return tile % (uint64_t)m->d->job->ranks == (uint64_t)m->d->job->rank;
}

static void make_data(const struct matrix *m) {
  const uint64_t b = m->block;
  double *buffer = (double *)allocate(b * b, sizeof *buffer);
  for (uint64_t slab = 0; slab < m->slabs; slab++)
    for (uint64_t row = slab; row < m->slabs; row++) {
      if (!is_mine(m, row)) continue;
      double *tile = (double *)new_piece(m->d, tile_offset(m, row, slab), buffer);
      for (uint64_t i = 0; i < b; i++)
        for (uint64_t j = 0; j < b; j++) tile[i * b + j] = element(row * b + i, slab * b + j, m->n);
      put_piece(m->d, tile_offset(m, row, slab), tile_bytes(m), buffer);
      flush(m->d, tile_offset(m, row, slab), tile_bytes(m));
    }
  free(buffer);
}

/// Rows `from` to `to` of the first tile of each of `slabs` slabs, turned: a row of `turned` is a column of the tile.
static void turn(const double *tiles, uint64_t slabs, uint64_t apart, uint64_t b, uint64_t from, uint64_t to, double *turned) {
  for (uint64_t s = 0; s < slabs; s++)
    for (uint64_t i = from; i < to; i++)
      for (uint64_t k = 0; k < b; k++) turned[(s * b + k) * (to - from) + i - from] = tiles[s * apart + i * b + k];
}

/// Takes products of what is factored already from columns of the slab: `rows` rows of each of `slabs` slabs.
static void update(const double *tiles, uint64_t slabs, uint64_t apart, uint64_t rows, uint64_t b, uint64_t columns, const double *turned,
                   double *out) {
  for (uint64_t s = 0; s < slabs; s++)
    for (uint64_t i = 0; i < rows; i++)
      for (uint64_t k = 0; k < b; k++) {
        const double by = tiles[s * apart + i * b + k];
        for (uint64_t j = 0; j < columns; j++) out[i * columns + j] -= by * turned[(s * b + k) * columns + j];
      }
}

struct work {
  double *slab;   ///< all of it: n rows of B
  double *turned; ///< the panel's rows that belong to this rank's columns
  double *mine;   ///< this rank's columns of the slab
  double *tile, *diagonal;
};

/// All columns of slab `j`, less what the slabs before it contribute. Each rank computes some columns, and gets the others.
static void gather_slab(const struct matrix *m, uint64_t j, const struct work *w) {
  const struct job *job = m->d->job;
  const uint64_t b = m->block, from = part(job, b, job->rank), to = part(job, b, job->rank + 1), columns = to - from;
  const uint64_t rows = m->n - j * b, apart = m->slabs * b * b;
  for (uint64_t i = 0; i < m->slabs - j; i++) {
    const double *tile = (const double *)piece(m->d, tile_offset(m, j + i, j), tile_bytes(m), w->tile);
    for (uint64_t r = 0; r < b; r++)
      for (uint64_t c = from; c < to; c++) w->mine[(i * b + r) * columns + c - from] = tile[r * b + c];
  }
  if (m->d->map && columns) {
    const double *first = (const double *)(m->d->map + tile_offset(m, j, 0));
    turn(first, j, apart, b, from, to, w->turned);
    update(first, j, apart, rows, b, columns, w->turned, w->mine);
  }
  for (uint64_t s = 0; s < j && !m->d->map && columns; s++)
    for (uint64_t i = j; i < m->slabs; i++) {
      const double *tile = (const double *)piece(m->d, tile_offset(m, i, s), tile_bytes(m), w->tile);
      if (i == j) turn(tile, 1, apart, b, from, to, w->turned);
      update(tile, 1, apart, b, b, columns, w->turned, w->mine + (i - j) * b * columns);
    }
  for (uint64_t i = 0; i < rows * b; i++) w->slab[i] = 0;
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t c = from; c < to; c++) w->slab[i * b + c] = w->mine[i * columns + c - from];
  share_values(w->slab, rows * b);
}

/// The first tile of the slab becomes a lower triangle. Returns whether it could.
static int factor_diagonal(uint64_t b, double *a) {
  for (uint64_t j = 0; j < b; j++) {
    double left = a[j * b + j];
    for (uint64_t k = 0; k < j; k++) left -= a[j * b + k] * a[j * b + k];
    if (!(left > 0)) return 0;
    a[j * b + j] = sqrt(left);
    for (uint64_t i = j + 1; i < b; i++) {
      double sum = a[i * b + j];
      for (uint64_t k = 0; k < j; k++) sum -= a[i * b + k] * a[j * b + k];
      a[i * b + j] = sum / a[j * b + j];
    }
    for (uint64_t i = 0; i < j; i++) a[i * b + j] = 0;
  }
  return 1;
}

/// A tile below the diagonal: divided by the triangle, turned.
static void divide_tile(uint64_t b, const double *triangle, double *a) {
  for (uint64_t i = 0; i < b; i++)
    for (uint64_t j = 0; j < b; j++) {
      double sum = a[i * b + j];
      for (uint64_t k = 0; k < j; k++) sum -= a[i * b + k] * triangle[j * b + k];
      a[i * b + j] = sum / triangle[j * b + j];
    }
}

/// Finishes this rank's tiles of slab `j`, and writes them.
static int finish_slab(const struct matrix *m, uint64_t j, const struct work *w) {
  const uint64_t b = m->block;
  if (!factor_diagonal(b, w->slab)) return 0;
  for (uint64_t i = j; i < m->slabs; i++) {
    if (!is_mine(m, i)) continue;
    double *tile = w->slab + (i - j) * b * b, *out = (double *)new_piece(m->d, tile_offset(m, i, j), tile);
    if (i > j) divide_tile(b, w->slab, tile);
    if (out != tile) memcpy(out, tile, tile_bytes(m));
    put_piece(m->d, tile_offset(m, i, j), tile_bytes(m), tile);
    flush(m->d, tile_offset(m, i, j), tile_bytes(m));
  }
  return 1;
}

static int factor(const struct matrix *m, const struct work *w) {
  for (uint64_t j = 0; j < m->slabs; j++) {
    gather_slab(m, j, w);
    if (!finish_slab(m, j, w)) return 0;
    meet();
    refresh(m->d, tile_offset(m, j, j), (m->slabs - j) * tile_bytes(m));
  }
  return 1;
}

static const double *read_tile(const struct matrix *m, uint64_t row, uint64_t slab, double *buffer) {
  return (const double *)piece(m->d, tile_offset(m, row, slab), tile_bytes(m), buffer);
}

/// y of L y = x, in its place. Slab by slab, each rank takes what is known from some of the rows below.
static void forward(const struct matrix *m, double *x, const struct work *w, double *change) {
  const uint64_t b = m->block;
  for (uint64_t s = 0; s < m->slabs; s++) {
    const double *triangle = read_tile(m, s, s, w->diagonal);
    for (uint64_t i = 0; i < b; i++) {
      for (uint64_t k = 0; k < i; k++) x[s * b + i] -= triangle[i * b + k] * x[s * b + k];
      x[s * b + i] /= triangle[i * b + i];
    }
    for (uint64_t i = 0; i < m->n; i++) change[i] = 0;
    for (uint64_t row = s + 1; row < m->slabs; row++) {
      if (!is_mine(m, row)) continue;
      const double *tile = read_tile(m, row, s, w->tile);
      for (uint64_t i = 0; i < b; i++)
        for (uint64_t k = 0; k < b; k++) change[row * b + i] += tile[i * b + k] * x[s * b + k];
    }
    share_values(change + s * b, m->n - s * b);
    for (uint64_t i = (s + 1) * b; i < m->n; i++) x[i] -= change[i];
  }
}

/// x of L' x = y, in its place: from the last row of tiles up, each rank takes what is known from some of the columns.
static void backward(const struct matrix *m, double *x, const struct work *w, double *change) {
  const uint64_t b = m->block;
  for (uint64_t s = m->slabs; s-- > 0;) {
    const double *triangle = read_tile(m, s, s, w->diagonal);
    for (uint64_t i = b; i-- > 0;) {
      for (uint64_t k = i + 1; k < b; k++) x[s * b + i] -= triangle[k * b + i] * x[s * b + k];
      x[s * b + i] /= triangle[i * b + i];
    }
    for (uint64_t i = 0; i < m->n; i++) change[i] = 0;
    for (uint64_t slab = 0; slab < s; slab++) {
      if (!is_mine(m, slab)) continue;
      const double *tile = read_tile(m, s, slab, w->tile);
      for (uint64_t k = 0; k < b; k++)
        for (uint64_t i = 0; i < b; i++) change[slab * b + i] += tile[k * b + i] * x[s * b + k];
    }
    share_values(change, s * b);
    for (uint64_t i = 0; i < s * b; i++) x[i] -= change[i];
  }
}

/// The right-hand side that belongs to the solution; each rank computes some of it.
static void make_right_side(const struct matrix *m, double *x) {
  const uint64_t from = part(m->d->job, m->n, m->d->job->rank), to = part(m->d->job, m->n, m->d->job->rank + 1);
  for (uint64_t i = 0; i < m->n; i++) x[i] = 0;
  for (uint64_t i = from; i < to; i++)
    for (uint64_t j = 0; j < m->n; j++) x[i] += element(i, j, m->n) * solution(j);
  share_values(x, m->n);
}

static int run(const struct matrix *m) {
  const uint64_t n = m->n, b = m->block, columns = b / (uint64_t)m->d->job->ranks + 1;
  const struct work w = {(double *)allocate(n * b, 8), (double *)allocate(n * columns, 8), (double *)allocate(n * columns, 8),
                         (double *)allocate(b * b, 8), (double *)allocate(b * b, 8)};
  double *x = (double *)allocate(n, sizeof *x), *change = (double *)allocate(n, sizeof *change), error = 0;
  make_right_side(m, x);
  begin_measuring();
  const int factored = factor(m, &w);
  phase("factor");
  if (factored) forward(m, x, &w, change), backward(m, x, &w, change);
  phase("solve");
  for (uint64_t i = 0; i < n; i++) error = fmax(error, fabs(x[i] - solution(i)));
  printf("largest error: %.3e\n", error);
  const int status = end_measuring(x, n, factored && error < 1e-9);
  free(w.slab), free(w.turned), free(w.mine), free(w.tile), free(w.diagonal), free(x), free(change);
  return status;
}

int main(int argc, char **argv) {
  static uint64_t block = 64;
  static const struct app_option options[] = {{"--block", &block, NULL}, {NULL, NULL, NULL}};
  const struct job job = start(argc, argv, "cholesky", help, options);
  if (block < 32 || block % 32 || block > LARGEST_BLOCK) all_give_up(&job, "--block", "a multiple of 32, at most 1024");
  const uint64_t slabs = (uint64_t)sqrt((double)job.bytes / 8) / block;
  if (slabs < 2) all_give_up(&job, "--size is too small", "two blocks by two of 64 take 128K");
  if (job.bytes > (uint64_t)1 << 44) all_give_up(&job, "--size is too large", "at most 16384G");
  const uint64_t n = slabs * block;
  printf("cholesky: %llu x %llu in tiles of %llu x %llu\n", (unsigned long long)n, (unsigned long long)n, (unsigned long long)block,
         (unsigned long long)block);
  struct data_set d = open_data_set(&job, n * n * sizeof(double), !job.is_made, !job.makes);
  const struct matrix m = {&d, n, block, slabs};
  if (!job.is_made) make_data(&m);
  meet();
  refresh(&d, 0, d.bytes);
  phase("matrix");
  const int status = job.makes ? 0 : run(&m);
  close_data_set(&d);
  return status;
}
