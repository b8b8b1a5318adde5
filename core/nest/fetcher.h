// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cursor that fetches: it turns the steps between its position and a target into requests for absent pages,
// neighbouring ones merged up to max_io.
//
// What is asked of the sink is decided as late as possible: touched ranges are collected per group, and only
// when one is handed on do the residency map's absent pages come out of it. So a page that two groups want is
// requested once, provided that the sink sets the page's bit before it returns true. In each step, the groups with the
// longest pieces come first, so that what others touch in between (the first element of each row) does not cut them up.
#pragma once
#include "core/nest/cursor.h"
#include "core/nest/plan.h"
#include "core/residency.h"
#include "core/types.h"

namespace pagecast::core {

class Fetcher {
public:
  /// `groups`: bit g = group g is this fetcher's.
  void start(const Shape &, const Plan &, const Conditions &, uint32_t groups);

  enum class Outcome : uint8_t { kReached, kPaused, kRefused };
  /// Fetches up to `target` (exclusive), but nothing before `program_step`: a cursor that the program has
  /// overtaken jumps there. `work` counts pieces and is used up; when it is, the outcome is kPaused.
  Outcome advance(uint64_t program_step, uint64_t target, const ResidencyMap &, Sink &, const Shape &, const Plan &,
                  uint64_t *work);

  uint64_t position() const { return cursor_.position(); }
  bool active() const { return groups_ != 0; }
  bool at_end() const { return groups_ == 0 || cursor_.at_end(); }
  const Cursor &cursor() const { return cursor_; }

private:
  struct Call; // the arguments of one advance()
  Outcome step(Call &);
  bool add(Call &, unsigned group, Extent);
  bool flush(Call &, unsigned group);
  bool flush_all(Call &);
  void jump(uint64_t step);
  void put_in_order(const Shape &);
  bool another_asks(const Call &, unsigned group) const;

  Cursor cursor_;
  uint32_t groups_ = 0;
  uint8_t order_[kMaxGroups] = {}; ///< the groups, those with the longest pieces first
  unsigned group_ = 0; ///< within the cursor's step: the group (its number in the order) and the piece to do next
  uint64_t piece_ = 0;
  uint64_t page_ = 4096, max_io_ = 4096;
  Extent pending_[kMaxGroups]; ///< touched, not handed on yet
};

} // namespace pagecast::core
