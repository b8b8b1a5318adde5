// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overwriting: which pages a nest will store over altogether, so that what they hold need not be read.
//
// A group that overwrites (Group::overwrites) touches one interval of bytes without gaps: from the innermost loop
// outwards each stride is at most what the loops inside cover. Loops in which it does not move repeat that. While the
// program is in a step that touches [at.begin, at.end), the bytes up to at.begin have been stored, those in `at` may
// have been, and those from at.end on will be:
//
//     begin            at.begin        at.end                 end
//     | stored, final    | in progress    | to come              |
//
// A page in the last part need not be read; nor one in the first, if the whole interval will be stored once more.
// Pages at the ends, which hold other bytes as well, are never among them.
#pragma once
#include "core/cursor.h"
#include "core/types.h"

namespace pagecast::core {

/// Takes `overwrites` off the groups that turn out not to: with gaps, moving downwards, or where the extent of a
/// group that reads meets theirs. The bases and strides of reading groups count even if they are `indirect`. Pure.
void check_overwrites(Shape *);

class Overwrite {
public:
  /// For the groups of `shape` that overwrite, after check_overwrites().
  void start(const Shape &shape, uint64_t strip, uint64_t page);
  bool any() const { return any_; }

  /// The pages that need not be read while the program is in step `step`: up to two page-aligned extents, ascending,
  /// perhaps empty. Only for pages that are absent now and were when the step was looked at. Cost: O(loops).
  struct Unread {
    Extent part[2];
  };
  Unread unread(const Shape &shape, unsigned group, uint64_t step);

  /// Of the pages of `asked`, those of `unread`, which is what unread() said at `step`, are left so from now on.
  void leave(const Shape &shape, unsigned group, uint64_t step, Extent asked, const Unread &unread);
  /// Whether the program, now in step `step`, has stored all that was left unread. Once true, it stays so until the next
  /// leave(), but where rows overlap: there it may be asked once more at most. Cost: O(groups * loops).
  bool all_stored(const Shape &shape, uint64_t step);

private:
  uint64_t pass_of(const Group &, uint64_t step) const;

  /// Where the last of the pages that were left unread will be stored: in which pass over the interval (pass_of()), and up
  /// to which address.
  struct Left {
    uint64_t pass = 0;
    Addr end = 0; ///< 0: none was
  };
  Left left_[kMaxGroups];
  Extent interval_[kMaxGroups]; ///< page-aligned; empty for groups that do not overwrite
  Cursor place_;                ///< scratch: the program's place
  uint64_t page_ = 4096;
  unsigned ticked_ = 0;
  bool any_ = false;
};

} // namespace pagecast::core
