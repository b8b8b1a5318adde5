// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table for people: columns as wide as what is in them, two spaces apart.
#pragma once
#include <string>
#include <vector>

namespace pagecast::cli {

class Table {
public:
  using Row = std::vector<std::string>;

  explicit Table(Row head) : rows_{std::move(head)} {}
  /// A row of as many cells as the head has.
  void add(Row row) { rows_.push_back(std::move(row)); }
  /// The first and the last column begin at the left; what is between stands at the right, as numbers do. Bytes that are no
  /// text (names of programs and files may have them) are shown as question marks.
  std::string text() const;

private:
  std::vector<Row> rows_;
};

} // namespace pagecast::cli
