// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A position in a nest's iteration space, counted in steps: an odometer over the loops 0 .. ticked. A step is
// `strip` iterations of the ticked loop; the last strip of each execution of that loop is shorter, as in the
// emitted code, which ticks once per strip. Being an odometer, the cursor carries into the outer loops by
// itself; that carry is the continuous software pipelining of the thesis (section 5.2.3) for any depth.
#pragma once
#include "core/nest/pieces.h"
#include "core/types.h"

namespace pagecast::core {

class Cursor {
public:
  /// At step 0 of the nest. `strip` >= 1.
  void start(const Shape &, uint64_t strip);

  unsigned ticked() const { return ticked_; } ///< the loop whose strips are steps
  uint64_t steps() const { return steps_; } ///< in the nest; saturating; 0 when a loop is empty
  uint64_t position() const { return position_; }
  bool at_end() const { return position_ >= steps_; }
  void next();
  void seek(uint64_t position); ///< O(loops); beyond the end is the end

  uint64_t index(unsigned loop) const { return index_[loop]; } ///< loop <= ticked; of the ticked loop: the strip
  uint64_t first() const { return index_[ticked_] * strip_; } ///< iteration of the ticked loop
  uint64_t count() const;                                     ///< iterations of it in this step
  /// Steps in one iteration of `loop` (<= ticked); of loop -1: in the nest. Saturating; at least 1.
  uint64_t steps_per(int loop) const { return per_[loop + 1]; }
  /// Steps in one execution of the ticked loop.
  uint64_t strips() const { return radix_[ticked_]; }
  uint64_t trips(unsigned loop) const { return trips_[loop]; }

  /// What the group touches in this step.
  void step_pieces(const Group &, uint64_t page, Pieces *) const;
  /// What the group touches in the current iteration of `loop` (< ticked; -1: in the whole nest).
  void unit_pieces(const Group &, int loop, uint64_t page, Pieces *) const;

  /// Calls `callback(Extent)` for the pages of a group in this step, ascending piece by piece.
  template <class Callback> void for_each_extent(const Group &g, uint64_t page, Callback callback) const {
    Pieces p;
    step_pieces(g, page, &p);
    Extent before;
    for (uint64_t i = 0; i < p.size(); ++i) {
      const Extent e = p.at(i);
      if (e.begin != before.begin || e.end != before.end) callback(e);
      before = e;
    }
  }

  /// `e`, a piece of this step, made longer to the end of its `block` (a power of two) in the direction in which
  /// `loop` (<= ticked) goes on, but not beyond what the group touches at the same place in its later iterations.
  /// What lies behind has been used, and may have been released.
  Extent widened(const Group &, Extent e, unsigned loop, uint64_t block, uint64_t page) const;

private:
  Addr origin(const Group &, unsigned loops) const;

  unsigned loops_ = 0, ticked_ = 0;
  uint64_t strip_ = 1, steps_ = 0, position_ = 0;
  uint64_t trips_[kMaxLoops] = {};   ///< of the shape
  uint64_t radix_[kMaxLoops] = {};   ///< loops < ticked: iterations; ticked: strips per execution
  uint64_t index_[kMaxLoops] = {};   ///< of the odometer: loops <= ticked
  uint64_t per_[kMaxLoops + 1] = {}; ///< steps_per(loop), shifted by one
};

} // namespace pagecast::core
