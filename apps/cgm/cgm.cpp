// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CGM as a C++ programmer writes it: vectors, a class for the matrix, algorithms of the library. The same
// method, the same matrix and the same arrays as cgm.c, which says what it stands for and how often each
// array is swept; --memory-size means the same. Two things differ: std::vector writes its elements once
// more when it is made, and the matrix grows by push_back.
//
// An ordinary C++ program: nothing in it knows how much memory there is.
#include "../common.h"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace {

constexpr uint32_t kShortest = 10,
                   kLongest = 60;    // row lengths before pairs are dropped, without the diagonal
constexpr double kMeanLength = 27.5; // with the diagonal
constexpr double kDeviation = 20.0;  // of the length of a row, from above
constexpr uint64_t kBytesOfRow = 48; // of the vectors and the starts of rows

const char help[] =
    "usage: cgm --memory-size TOTAL [--iterations 10] [--seed 1] [--times]\n"
    "Conjugate gradients on a random sparse symmetric positive definite matrix; prints its shape, the\n"
    "norm of the residual, and checks it against the residual computed from the solution.\n"
    "  --memory-size TOTAL  bytes of the matrix and the vectors (units K, M, G are binary)\n"
    "  --iterations N       steps of the method; each reads the matrix once\n"
    "  --seed S             of the matrix\n"
    "  --times              seconds of each phase, on stderr\n";

using Vector = std::vector<double>;

/// A hash of `value`, 32 bits.
uint32_t mix(uint64_t value) {
  value *= 0x9e3779b97f4a7c15u;
  value ^= value >> 29;
  value *= 0xbf58476d1ce4e5b9u;
  return static_cast<uint32_t>(value >> 32);
}

/// Modulo bound; both are below it.
uint32_t add(uint32_t a, uint32_t b, uint32_t bound) {
  return a + b < bound ? a + b : a + b - bound;
}
uint32_t subtract(uint32_t a, uint32_t b, uint32_t bound) {
  return a >= b ? a - b : a + bound - b;
}

/// Which entries the random matrix has, and what they are; symmetric in row and column, and computed for a
/// row without looking at any other.
class Pattern {
public:
  Pattern(uint64_t rows, uint64_t seed)
      : width_(static_cast<uint32_t>(std::sqrt(static_cast<double>(rows)))),
        height_(static_cast<uint32_t>(rows / width_)), seed_(seed * 0x2545f4914f6cdd1du) {}

  size_t rows() const { return size_t{height_} * width_; }

  /// Entries of the row are k = 0, 1, ... below this, if the partner's bound allows them too.
  uint32_t bound(uint32_t row) const {
    return kShortest + below(kLongest - kShortest + 1, seed_ ^ uint64_t{1} << 62, row);
  }

  double scale(uint32_t row) const {
    return 0.3 + 0.7 * mix((seed_ ^ uint64_t{1} << 63) + row) / 4294967296.0;
  }

  /// Column of entry k. Its own inverse: the row as (high, low) is shuffled, reflected, shuffled back.
  uint32_t partner(uint32_t k, uint32_t row) const {
    uint64_t key = seed_ + (uint64_t{k} << 33);
    uint32_t high = row / width_, low = row % width_;
    low = add(low, below(width_, key, high), width_);
    high = add(high, below(height_, key, ~low), height_);
    low = width_ - 1 - low;
    high = height_ - 1 - high;
    high = subtract(high, below(height_, key, ~low), height_);
    low = subtract(low, below(width_, key, high), width_);
    return high * width_ + low;
  }

  /// Of entry k, not scaled: -1 to 1.
  double value(uint32_t k, uint32_t i, uint32_t j) const {
    return mix((seed_ + (uint64_t{k} << 40)) ^ static_cast<uint64_t>(i ^ j) << 20 ^ (i + j)) / 2147483648.0 -
           1.0;
  }

private:
  uint32_t width_, height_; // the rows as a rectangle
  uint64_t seed_;

  static uint32_t below(uint32_t bound, uint64_t key, uint32_t value) {
    return static_cast<uint32_t>(uint64_t{mix(key + value)} * bound >> 32);
  }
};

/// Compressed rows.
class SparseMatrix {
public:
  /// Room for `room` nonzeros is taken at once.
  SparseMatrix(const Pattern &pattern, size_t room) {
    starts_.reserve(pattern.rows() + 1);
    columns_.reserve(room);
    values_.reserve(room);
    for (uint32_t row = 0; row < pattern.rows(); row++)
      append_row(pattern, row);
    starts_.push_back(static_cast<int64_t>(values_.size()));
  }

  size_t rows() const { return starts_.size() - 1; }
  size_t nonzeros() const { return values_.size(); }

  /// out = this * in
  void multiply(const Vector &in, Vector &out) const {
    for (size_t row = 0; row < rows(); row++) {
      double sum = 0.0;
      for (int64_t k = starts_[row]; k < starts_[row + 1]; k++)
        sum += values_[k] * in[columns_[k]];
      out[row] = sum;
    }
  }

private:
  std::vector<int64_t> starts_;
  std::vector<int32_t> columns_;
  Vector values_;

  /// The diagonal exceeds the sum of the others' absolute values before the scaling: positive definite.
  void append_row(const Pattern &pattern, uint32_t row) {
    size_t diagonal = values_.size();
    double scale = pattern.scale(row), sum = 0.1;
    starts_.push_back(static_cast<int64_t>(diagonal));
    append(row, 0.0);
    for (uint32_t k = 0, bound = pattern.bound(row); k < bound; k++) {
      uint32_t column = pattern.partner(k, row);
      if (column == row || k >= pattern.bound(column))
        continue;
      double value = pattern.value(k, row, column);
      sum += std::fabs(value);
      append(column, scale * value * pattern.scale(column));
    }
    values_[diagonal] = scale * scale * sum;
  }

  void append(uint32_t column, double value) {
    columns_.push_back(static_cast<int32_t>(column));
    values_.push_back(value);
  }
};

double dot(const Vector &a, const Vector &b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Conjugate gradients from z = 0, a step at a time.
class Solver {
public:
  Solver(const SparseMatrix &matrix, const Vector &x)
      : matrix_(matrix), z_(x.size()), p_(x), q_(x.size()), r_(x), rho_(dot(r_, r_)) {}

  const Vector &solution() const { return z_; }
  double residual() const { return std::sqrt(rho_); }

  void step() {
    matrix_.multiply(p_, q_);
    double alpha = rho_ / dot(p_, q_);
    for (size_t i = 0; i < z_.size(); i++) {
      z_[i] += alpha * p_[i];
      r_[i] -= alpha * q_[i];
    }
    double before = rho_;
    rho_ = dot(r_, r_);
    double beta = rho_ / before;
    for (size_t i = 0; i < p_.size(); i++)
      p_[i] = r_[i] + beta * p_[i];
  }

  /// |x - A z|, computed afresh.
  double true_residual(const Vector &x) {
    matrix_.multiply(z_, q_);
    double sum = 0.0;
    for (size_t i = 0; i < x.size(); i++)
      sum += (x[i] - q_[i]) * (x[i] - q_[i]);
    return std::sqrt(sum);
  }

private:
  const SparseMatrix &matrix_;
  Vector z_, p_, q_, r_;
  double rho_; // r . r
};

/// As many rows as `bytes` hold, with room for nonzeros of six standard deviations.
Pattern fit(uint64_t bytes, uint64_t seed) {
  double of_row = 12.0 * kMeanLength + static_cast<double>(kBytesOfRow);
  double spare = 12.0 * (6.0 * kDeviation * std::sqrt(static_cast<double>(bytes) / of_row) + kLongest);
  double rows = std::floor((static_cast<double>(bytes) - spare) / of_row);
  if (rows < 100.0)
    fail("--memory-size is too small", "100K is enough");
  if (rows > INT32_MAX)
    fail("--memory-size is too large", "column numbers have 32 bits: at most 750G");
  return Pattern(static_cast<uint64_t>(rows), seed);
}

int run(const Pattern &pattern, uint64_t bytes, uint64_t iterations) {
  size_t n = pattern.rows();
  SparseMatrix matrix(pattern, (bytes - n * kBytesOfRow) / 12);
  Vector x(n, 1.0);
  phase("build");
  Solver solver(matrix, x);
  double first = solver.residual();
  for (uint64_t step = 0; step < iterations && solver.residual() > 0.0; step++)
    solver.step();
  phase("solve");
  double last = solver.residual(), true_last = solver.true_residual(x);
  phase("check");
  printf("matrix: %zu rows, %zu nonzeros; %llu iterations\n", n, matrix.nonzeros(),
         static_cast<unsigned long long>(iterations));
  printf("residual: %.15e, at first %.15e\nx.z: %.15e\n", last, first, dot(x, solver.solution()));
  return verification(last < first && std::fabs(true_last - last) <= 1e-10 * first);
}

} // namespace

int main(int argc, char **argv) {
  static uint64_t bytes, iterations = 10, seed = 1;
  static const app_option options[] = {
      {"--memory-size", &bytes}, {"--iterations", &iterations}, {"--seed", &seed}, {nullptr, nullptr}};
  parse_options(argc, argv, "cgm", help, options);
  if (bytes == 0 || iterations == 0)
    fail("nothing to do", "give --memory-size, and --iterations 1 or more");
  return run(fit(bytes, seed), bytes, iterations);
}
