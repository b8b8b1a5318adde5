// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of the option that names the stores: DIR,DIR,... A directory may have commas in its name if it is the only one.
#pragma once
#include "runtime/store/stripes.h"

namespace pagecast {

class StoreList {
public:
  /// `option` may be NULL. False: there are too many, or they are too long.
  bool read(const char *option);
  unsigned count() const { return count_; }
  /// NULL: none is named, and the default is meant.
  const char *operator[](unsigned i) const { return part_[i]; }
  /// Takes out number `i`.
  void drop(unsigned i);

private:
  char text_[4096];
  const char *part_[Stripes::kMost] = {};
  unsigned count_ = 0;
};

} // namespace pagecast
