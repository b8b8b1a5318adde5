// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One stage of a slice as a slice of its own: the operations that its hints need and no others, and the loops that have
// lost the loops inside them as loops over vectors. In
//
//     loop j: from = row[j], to = row[j + 1]; range a + 8 * from ...;  loop k: c = column[from + k]; touch x + 8 * c
//
// stage 1 is left with the range, and computes it for 128 rows at a time; stage 2 is left with nothing where x is in
// memory as a whole. A load that nothing needs any more does not end its iteration: more is hinted then, not less.
#pragma once
#include "pagecast/abi.h"

#include <cstdint>

namespace pagecast {

class SliceStage {
public:
  /// Makes the stage of a nest with a valid slice, which must live as long. `ignored`: bit g: hints of group g are not wanted.
  /// Cost: a few passes over the operations.
  void prepare(const pagecast_nest &, unsigned stage, uint32_t ignored);
  /// Nothing is touched in it.
  bool empty() const { return empty_; }
  /// There are searches in it: each run of a step may get further than the one before.
  bool searches() const { return searches_; }
  /// What the machine runs instead, and as which stage.
  const pagecast_nest &nest() const { return *run_; }
  unsigned stage() const { return stage_; }
  /// Its iterations hand values on: they are run in order, from the first one on.
  bool carries() const { return run_->slice->carried != 0; }

private:
  struct Kept;
  unsigned copy(const pagecast_slice &, const Kept &);
  bool make_vectors(unsigned loop, unsigned begin, unsigned end, unsigned iteration);

  const pagecast_nest *run_ = nullptr;
  unsigned stage_ = 1;
  bool empty_ = true, searches_ = false;
  pagecast_nest nest_;
  pagecast_slice slice_;
  pagecast_op op_[PAGECAST_MAX_OPS];
};

} // namespace pagecast
