// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HF: the Hartree-Fock method, which finds the ground state of many electrons. The integrals of two electrons are computed once,
// lie on the disk, and are read by every iteration, which builds the Fock matrix of a better density out of them. After the
// description in PACT 2008 (Son, Kandemir and others, section 5).
//
// The molecules are of hydrogen, on a lattice, with one s-Gaussian for each of N atoms; that these are orthogonal is a model. The data set, with
// M = N (N + 1) / 2 pairs of atoms, each of its parts at a multiple of 64 KiB:
//   pairs      4 M doubles   middle and overlap of each pair; all ranks read all of it, row after row of integrals
//   core       M doubles     what one electron has of a pair; all ranks read all of it, in each iteration
//   integrals  M rows of M doubles, each at a multiple of 4 KiB; each rank writes and reads some of them, which are its own
#include "shared.h"

#include <math.h>

enum { LEAST = 8, TABLES_AT = 64 << 10, ROWS_AT = 4096, CHECKED_ROWS = 5, PURIFICATIONS = 100 };

static const char help[] = "usage: mpirun -n RANKS hf --data PATH --size TOTAL [--iterations 6] [--make | --made] [--read] [--times]\n"
                           "Integrals of hydrogen on a lattice, and iterations to the density of least energy; prints the energy of each\n"
                           "and a checksum.\n" SHARED_HELP "  --iterations N Fock matrices\n";

struct layout {
  uint64_t atoms, pairs;
  uint64_t core, integrals, end; ///< where they begin, bytes
  uint64_t row;                  ///< of integrals, with what fills it up, bytes
};

struct pair {
  double x, y, z, overlap;
};

static const double kExponent = 0.5, kBond = 1.4, kLattice = 4.0, kResonance = 0.6;
static const double kLeft = 0.1;  ///< of the overlap of two functions, when they are made orthogonal
static const double kMixed = 0.8; ///< of the new density in the next one

static uint64_t aligned(uint64_t bytes, uint64_t to) {
  return (bytes + to - 1) / to * to;
}

static struct layout lay_out(uint64_t atoms) {
  struct layout l = {atoms, atoms * (atoms + 1) / 2, 0, 0, 0, 0};
  l.core = aligned(l.pairs * sizeof(struct pair), TABLES_AT);
  l.integrals = l.core + aligned(l.pairs * sizeof(double), TABLES_AT);
  l.row = aligned(l.pairs * sizeof(double), ROWS_AT);
  l.end = l.integrals + l.pairs * l.row;
  return l;
}

/// Of atoms in any order.
static uint64_t pair_of(uint64_t i, uint64_t j) {
  return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
}

/// Where atom `i` of `n` is: molecules of two in a cube of cells.
static void place(uint64_t i, uint64_t n, double at[3]) {
  uint64_t side = 1, molecule = i / 2;
  while (side * side * side * 2 < n) side++;
  at[0] = kLattice * (double)(molecule % side) + kBond * (double)(i % 2);
  at[1] = kLattice * (double)(molecule / side % side);
  at[2] = kLattice * (double)(molecule / side / side);
}

static struct pair make_pair(uint64_t i, uint64_t j, uint64_t n) {
  double a[3], b[3];
  place(i, n, a), place(j, n, b);
  const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  const double overlap = exp(-kExponent / 2 * (x * x + y * y + z * z));
  return (struct pair){(a[0] + b[0]) / 2, (a[1] + b[1]) / 2, (a[2] + b[2]) / 2, i == j ? 1 : kLeft * overlap};
}

/// The potential of two round charges that far apart.
static double potential(double exponent, double distance) {
  return distance > 1e-9 ? erf(sqrt(exponent) * distance) / distance : 2 * sqrt(exponent / 3.14159265358979323846);
}

static double repulsion(const struct pair *a, const struct pair *b) {
  const double x = a->x - b->x, y = a->y - b->y, z = a->z - b->z;
  return a->overlap * b->overlap * potential(kExponent, sqrt(x * x + y * y + z * z));
}

/// Repulsion less half of the exchange, of the pairs (i, j) and (k, l).
static double integral(const struct pair *pairs, uint64_t i, uint64_t j, uint64_t k, uint64_t l) {
  return repulsion(&pairs[pair_of(i, j)], &pairs[pair_of(k, l)]) -
         0.25 * (repulsion(&pairs[pair_of(i, k)], &pairs[pair_of(j, l)]) + repulsion(&pairs[pair_of(i, l)], &pairs[pair_of(j, k)]));
}

static void integrals_of_row(const struct pair *pairs, uint64_t atoms, uint64_t i, uint64_t j, double *row) {
  uint64_t s = 0;
  for (uint64_t k = 0; k < atoms; k++)
    for (uint64_t l = 0; l <= k; l++) row[s++] = integral(pairs, i, j, k, l);
}

static void atoms_of(uint64_t pair, uint64_t *i, uint64_t *j) {
  for (*i = 0; (*i + 1) * (*i + 2) / 2 <= pair;) ++*i;
  *j = pair - *i * (*i + 1) / 2;
}

static double core_of(const struct pair *p, uint64_t i, uint64_t j, uint64_t atoms) {
  double sum = i == j ? 0 : -kResonance / kLeft, at[3];
  for (uint64_t a = 0; a < atoms; a++) {
    place(a, atoms, at);
    const double x = p->x - at[0], y = p->y - at[1], z = p->z - at[2];
    sum -= potential(2 * kExponent, sqrt(x * x + y * y + z * z));
  }
  return p->overlap * sum;
}

static void make_pairs(const struct data_set *d, const struct layout *l) {
  struct pair *buffer = (struct pair *)allocate(l->pairs, sizeof *buffer);
  double *core_buffer = (double *)allocate(l->pairs, sizeof *core_buffer);
  struct pair *pairs = (struct pair *)new_piece(d, 0, buffer);
  double *core = (double *)new_piece(d, l->core, core_buffer);
  for (uint64_t i = 0; i < l->atoms; i++)
    for (uint64_t j = 0; j <= i; j++) {
      const uint64_t r = pair_of(i, j);
      pairs[r] = make_pair(i, j, l->atoms);
      core[r] = core_of(&pairs[r], i, j, l->atoms);
    }
  put_piece(d, 0, l->pairs * sizeof *pairs, buffer), put_piece(d, l->core, l->pairs * sizeof *core, core_buffer);
  flush(d, 0, l->integrals);
  free(buffer), free(core_buffer);
}

/// The data set: the first rank makes the tables, and each one its rows of integrals.
static void make_data(const struct data_set *d, const struct layout *l) {
  const uint64_t from = part(d->job, l->pairs, d->job->rank), to = part(d->job, l->pairs, d->job->rank + 1);
  const uint64_t bytes = l->row;
  double *buffer = (double *)allocate(bytes, 1);
  struct pair *table = (struct pair *)allocate(l->pairs, sizeof *table);
  if (d->job->rank == 0) make_pairs(d, l);
  meet();
  refresh(d, 0, l->integrals);
  const struct pair *pairs = (const struct pair *)piece(d, 0, l->pairs * sizeof *pairs, table);
  for (uint64_t r = from, i, j; r < to; r++) {
    atoms_of(r, &i, &j);
    integrals_of_row(pairs, l->atoms, i, j, (double *)new_piece(d, l->integrals + r * bytes, buffer));
    put_piece(d, l->integrals + r * bytes, l->pairs * sizeof *buffer, buffer);
  }
  flush(d, l->integrals + from * bytes, (to - from) * bytes);
  free(buffer), free(table);
}

/// Rows of the Fock matrix, without the core's part: `weights` is the density, counted twice off the diagonal.
static void fock_rows(const double *integrals, uint64_t rows, uint64_t apart, uint64_t pairs, const double *weights, double *fock) {
  for (uint64_t r = 0; r < rows; r++) {
    double sum = 0;
    for (uint64_t s = 0; s < pairs; s++) sum += integrals[r * apart + s] * weights[s];
    fock[r] = sum;
  }
}

static void build_fock(const struct data_set *d, const struct layout *l, const double *weights, double *fock, double *buffer) {
  const uint64_t from = part(d->job, l->pairs, d->job->rank), to = part(d->job, l->pairs, d->job->rank + 1);
  const uint64_t bytes = l->row, fitting = PIECE / bytes ? PIECE / bytes : 1, most = d->map ? to - from : fitting;
  for (uint64_t r = 0; r < l->pairs; r++) fock[r] = 0;
  for (uint64_t r = from; r < to; r += most) {
    const uint64_t rows = to - r < most ? to - r : most;
    const double *integrals = (const double *)piece(d, l->integrals + r * bytes, rows * bytes, buffer);
    fock_rows(integrals, rows, bytes / sizeof(double), l->pairs, weights, fock + r);
  }
  share_values(fock, l->pairs);
}

/// Adds the core's part to the Fock matrix, and returns the energy of the density.
static double add_core(const double *core, uint64_t pairs, const double *weights, double *fock) {
  double energy = 0;
  for (uint64_t r = 0; r < pairs; r++) {
    energy += weights[r] * (core[r] + 0.5 * fock[r]);
    fock[r] += core[r];
  }
  return energy;
}

static void square(uint64_t n, const double *x, double *out) {
  for (uint64_t i = 0; i < n; i++) {
    for (uint64_t j = 0; j < n; j++) out[i * n + j] = 0;
    for (uint64_t k = 0; k < n; k++)
      for (uint64_t j = 0; j < n; j++) out[i * n + j] += x[i * n + k] * x[k * n + j];
  }
}

static double trace(uint64_t n, const double *x) {
  double sum = 0;
  for (uint64_t i = 0; i < n; i++) sum += x[i * n + i];
  return sum;
}

/// The projector on the n / 2 lowest states of `fock`, by purification: its eigenvalues, between 0 and 1, are driven to these
/// (Niklasson's second-order polynomials, which correct the trace). Returns how far its trace is from that of its square.
static double purify(uint64_t n, const double *fock, double *x, double *xx) {
  double low = 1e300, high = -1e300;
  for (uint64_t i = 0; i < n; i++) {
    double radius = 0;
    for (uint64_t j = 0; j < n; j++) radius += j == i ? 0 : fabs(fock[pair_of(i, j)]);
    low = fmin(low, fock[pair_of(i, i)] - radius), high = fmax(high, fock[pair_of(i, i)] + radius);
  }
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t j = 0; j < n; j++) x[i * n + j] = ((i == j ? high : 0) - fock[pair_of(i, j)]) / (high - low);
  double off = 1;
  for (int step = 0; step < PURIFICATIONS && off > 1e-11; step++) {
    square(n, x, xx);
    const double t = trace(n, x), tt = trace(n, xx), wanted = (double)n / 2;
    off = fabs(t - tt);
    if (fabs(tt - wanted) < fabs(2 * t - tt - wanted))
      for (uint64_t i = 0; i < n * n; i++) x[i] = xx[i];
    else
      for (uint64_t i = 0; i < n * n; i++) x[i] = 2 * x[i] - xx[i];
  }
  return off;
}

/// The next density: two electrons in each of the lowest states, and a part of the density before, which makes it converge.
static void mix(uint64_t n, const double *x, double *weights) {
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t j = 0; j <= i; j++) {
      const uint64_t r = pair_of(i, j);
      weights[r] = (1 - kMixed) * weights[r] + kMixed * (i == j ? 2 : 4) * x[i * n + j];
    }
}

/// Whether some rows of `fock` are those of integrals that are computed again.
static int rows_are_right(const struct layout *l, const double *weights, const double *fock) {
  struct pair *pairs = (struct pair *)allocate(l->pairs, sizeof *pairs);
  double *row = (double *)allocate(l->pairs, sizeof *row);
  int right = 1;
  for (uint64_t i = 0; i < l->atoms; i++)
    for (uint64_t j = 0; j <= i; j++) pairs[pair_of(i, j)] = make_pair(i, j, l->atoms);
  for (uint64_t checked = 0; checked < CHECKED_ROWS; checked++) {
    const uint64_t r = (l->pairs - 1) * checked / (CHECKED_ROWS - 1);
    uint64_t i, j;
    double sum = 0;
    atoms_of(r, &i, &j);
    integrals_of_row(pairs, l->atoms, i, j, row);
    for (uint64_t s = 0; s < l->pairs; s++) sum += row[s] * weights[s];
    right = right && fabs(sum - fock[r]) <= 1e-9 * fabs(sum);
  }
  free(pairs), free(row);
  return right;
}

struct state {
  double *weights, *fock, *core_buffer, *buffer, *x, *xx;
};

static struct state make_state(const struct layout *l) {
  const uint64_t n = l->atoms, bytes = l->row;
  struct state s = {(double *)allocate(l->pairs, 8), (double *)allocate(l->pairs, 8), (double *)allocate(l->pairs, 8),
                    (double *)allocate(bytes > PIECE ? bytes : PIECE, 1), (double *)allocate(n * n, 8), (double *)allocate(n * n, 8)};
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t j = 0; j <= i; j++) s.weights[pair_of(i, j)] = i == j ? 1 : 0;
  return s;
}

static int iterate(const struct data_set *d, const struct layout *l, uint64_t iterations) {
  struct state s = make_state(l);
  double first = 0, change = 0, before = 0, off = 0;
  int right = 1;
  begin_measuring();
  for (uint64_t i = 0; i < iterations; i++) {
    build_fock(d, l, s.weights, s.fock, s.buffer);
    if (i + 1 == iterations && d->job->rank == 0) right = rows_are_right(l, s.weights, s.fock);
    const double *core = (const double *)piece(d, l->core, l->pairs * sizeof *core, s.core_buffer);
    const double energy = add_core(core, l->pairs, s.weights, s.fock);
    off = fmax(off, purify(l->atoms, s.fock, s.x, s.xx));
    mix(l->atoms, s.x, s.weights);
    change = fabs(energy - before);
    if (i == 1) first = change;
    before = energy;
    printf("energy: %.12e\n", energy);
    phase("iteration");
  }
  MPI_Request request;
  MPI_Ibcast(&right, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  wait_for(&request);
  const int status = end_measuring(s.fock, l->pairs, right && off <= 1e-6 && (iterations < 4 || change < 0.1 * first));
  free(s.weights), free(s.fock), free(s.core_buffer), free(s.buffer), free(s.x), free(s.xx);
  return status;
}

int main(int argc, char **argv) {
  static uint64_t iterations = 6;
  static const struct app_option options[] = {{"--iterations", &iterations, NULL}, {NULL, NULL, NULL}};
  const struct job job = start(argc, argv, "hf", help, options);
  struct layout l = lay_out(LEAST);
  if (!iterations) all_give_up(&job, "nothing to do", "give --iterations 1 or more");
  if (l.end > job.bytes) all_give_up(&job, "--size is too small", "8 atoms take 272K");
  if (job.bytes > (uint64_t)1 << 44) all_give_up(&job, "--size is too large", "at most 16384G");
  while (lay_out(l.atoms + 2).end <= job.bytes) l = lay_out(l.atoms + 2);
  printf("hf: %llu atoms, %llu pairs, %llu iterations\n", (unsigned long long)l.atoms, (unsigned long long)l.pairs,
         (unsigned long long)iterations);
  struct data_set d = open_data_set(&job, l.end, !job.is_made, 0);
  if (!job.is_made) make_data(&d, &l);
  meet();
  refresh(&d, 0, l.end);
  phase("integrals");
  const int status = job.makes ? 0 : iterate(&d, &l, iterations);
  close_data_set(&d);
  return status;
}
