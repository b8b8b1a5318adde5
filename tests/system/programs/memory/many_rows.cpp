// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix of rows that are allocated one by one, each less than a megabyte; then four threads that allocate, clear, resize
// and free blocks of such sizes, and check what is in them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#ifndef ROWS
#define ROWS 1500
#endif

static double relax(size_t rows, size_t columns) {
  std::vector<std::vector<double>> a(rows, std::vector<double>(columns)), b = a;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++)
      a[i][j] = double((i * 31 + j * 17) % 1000);
  for (int t = 0; t < 3; t++) {
    for (size_t i = 1; i + 1 < rows; i++)
      for (size_t j = 1; j + 1 < columns; j++)
        b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
    std::swap(a, b);
  }
  double sum = 0;
  for (const auto &row : a)
    for (double x : row)
      sum += x;
  return sum;
}

struct Piece {
  uint32_t *words;
  size_t count;
  uint32_t seed;
};

static uint32_t word(const Piece &p, size_t i) { return p.seed * 2654435761u + uint32_t(i) * 40503u; }

static void fill(const Piece &p, size_t from) {
  for (size_t i = from; i < p.count; i++)
    p.words[i] = word(p, i);
}

static long wrong(const Piece &p, size_t count) {
  long n = 0;
  for (size_t i = 0; i < count; i++)
    n += p.words[i] != word(p, i);
  return n;
}

static long churn(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Piece> pieces;
  long bad = 0;
  for (unsigned step = 0; step < 2500; step++) {
    const size_t count = 256 + random() % (random() % 8 ? 16384 : 300000);
    Piece *some = pieces.empty() ? nullptr : &pieces[random() % pieces.size()];
    switch (random() % 8) {
    case 0:
    case 1:
    case 2:
    case 3: {
      if (pieces.size() > 250)
        break;
      const unsigned kind = random() % 3;
      Piece p{nullptr, count, step + seed * 10000};
      p.words = static_cast<uint32_t *>(kind == 0   ? calloc(count, 4)
                                        : kind == 1 ? malloc(count * 4)
                                                    : aligned_alloc(4096, (count * 4 + 4095) / 4096 * 4096));
      for (size_t i = 0; kind == 0 && i < count; i++)
        bad += p.words[i] != 0;
      bad += malloc_usable_size(p.words) < count * 4;
      fill(p, 0);
      pieces.push_back(p);
      break;
    }
    case 4:
    case 5:
      if (some) {
        some->words = static_cast<uint32_t *>(realloc(some->words, count * 4));
        bad += wrong(*some, count < some->count ? count : some->count);
        const size_t before = some->count;
        some->count = count;
        fill(*some, count < before ? count : before);
      }
      break;
    default:
      if (some) {
        bad += wrong(*some, some->count);
        free(some->words);
        *some = pieces.back();
        pieces.pop_back();
      }
    }
  }
  for (const Piece &p : pieces) {
    bad += wrong(p, p.count);
    free(p.words);
  }
  return bad;
}

/// Rows that are freed make room: for large blocks, and for rows that must be zero.
static double reuse() {
  double sum = 0;
  for (int t = 0; t < 3; t++) {
    std::vector<double *> rows(1200);
    for (double *&row : rows)
      row = static_cast<double *>(calloc(2049, 8));
    for (size_t i = 0; i < rows.size(); i++)
      for (size_t j = 0; j < 2049; j++)
        rows[i][j] += double(i ^ j);
    for (const double *row : rows)
      for (size_t j = 0; j < 2049; j++)
        sum += row[j];
    for (double *row : rows)
      free(row);
  }
  return sum;
}

int main() {
  printf("%.17g\n", relax(ROWS, 2501));
  printf("%.17g\n", reuse());
  long bad[4];
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; i++)
    threads.emplace_back([&bad, i] { bad[i] = churn(i + 1); });
  for (std::thread &t : threads)
    t.join();
  printf("%ld wrong\n", bad[0] + bad[1] + bad[2] + bad[3]);
}
