// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Releases: what the program has behind it and what the plan does not keep.
//
// A group is released in units of iterations of its plan's release_unit loop. A finished unit's pages go, one
// step later, except those that the next unit touches again: so a page that two steps share stays until the
// last of them has passed it, and a page kept for reuse in a localized loop stays until that loop has ended.
#pragma once
#include "core/nest/cursor.h"
#include "core/nest/plan.h"
#include "core/types.h"

namespace pagecast::core {

class Releaser {
public:
  void start(const Shape &, const Plan &, const Conditions &);
  /// What the program has finished by this step is not released any more.
  void skip_to(uint64_t program_step);

  /// Releases what the program has finished with when it has finished `program_step` steps. `work` counts pieces and is
  /// used up, but a unit is never left half done. False: there is more.
  bool advance(uint64_t program_step, Sink &, const Shape &, const Plan &, uint64_t *work);
  /// The program has left the nest after `program_step` steps: what is left of what it touched, the last
  /// kLastPieces pieces of it (more are left only when advance() was not called for long).
  void finish(uint64_t program_step, Sink &, const Shape &, const Plan &);
  /// The step at which advance() is worth calling, at least `batch` steps after `program_step`; kUnbounded: never.
  uint64_t wake(uint64_t program_step, uint64_t batch) const;

  static constexpr uint64_t kLastPieces = 16384;

private:
  struct Call;
  uint64_t units_for(int loop, uint64_t unit, const Shape &, uint64_t work);
  void release_units(Call &, int loop, uint64_t begin, uint64_t end, uint64_t last);
  void release_unit(Call &, int loop, unsigned group, uint64_t unit, bool last);
  void give(Call &, Extent, unsigned priority);
  void hand_on(Call &);
  uint64_t finished_units(int loop, uint64_t program_step) const;

  Cursor cursor_;
  uint64_t page_ = 4096;
  uint32_t groups_[kMaxLoops + 1] = {}; ///< bit g: group g is released in units of loop index - 1
  uint64_t unit_[kMaxLoops + 1] = {};   ///< the next unit of loop index - 1
};

} // namespace pagecast::core
