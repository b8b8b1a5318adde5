// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/text/table.h"
#include <algorithm>

namespace pagecast::cli {
namespace {

/// A terminal acts on control characters.
std::string printable(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

} // namespace

std::string Table::text() const {
  std::vector<size_t> width(rows_[0].size());
  for (const Row &row : rows_)
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  std::string out;
  for (const Row &row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string gap(width[i] - row[i].size(), ' ');
      const bool last = i + 1 == row.size(), left = i == 0 || last;
      out += (i ? "  " : "") + (left ? "" : gap) + printable(row[i]) + (left && !last ? gap : "");
    }
    out += "\n";
  }
  return out;
}

} // namespace pagecast::cli
