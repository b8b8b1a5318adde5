// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nearest.h"
#include <algorithm>
#include <numeric>

namespace pagecast::cli {

/// Levenshtein's distance, one row of the table at a time.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

std::string nearest(const std::string &word, const std::vector<std::string> &known) {
  return *std::min_element(known.begin(), known.end(),
                           [&](const auto &a, const auto &b) { return editDistance(word, a) < editDistance(word, b); });
}

} // namespace pagecast::cli
