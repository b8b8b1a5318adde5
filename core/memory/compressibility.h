// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether pages become so much smaller by compression that it is worth trying with the next one, and how much memory those that wait
// take. Contents differ from program to program: tables of small numbers and pointers come to a third, noise to all of it.
//
// Where little is gained only one page in kProbe is tried, so that a program whose contents change is seen. Not thread-safe.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

class Compressibility {
public:
  static constexpr double kWorthwhile = 0.75; ///< of a page's bytes, at most
  static constexpr uint32_t kProbe = 32;

  /// Whether the next page is to be tried.
  bool worthwhile() { return part_ <= kWorthwhile || ++passed_ % kProbe == 0; }
  /// One was tried, and takes so much of a page.
  void tried(double part) { part_ += (std::min(part, 1.0) - part_) / kWindow; }
  /// Pages that there is room for in the memory of one, 1 where compression is not worthwhile.
  double ratio() const { return part_ <= kWorthwhile ? 1 / std::max(part_, kLeastPart) : 1; }

private:
  static constexpr double kWindow = 64; ///< pages
  static constexpr double kLeastPart = 1.0 / 16; ///< a page takes a chunk, whatever it holds

  double part_ = 0.5; ///< of a page, lately
  uint32_t passed_ = 0;
};

} // namespace pagecast::core
