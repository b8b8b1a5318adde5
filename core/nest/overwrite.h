// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overwriting: which pages a nest will store over altogether, so that what they hold need not be read.
//
// A group that overwrites (Group::overwrites) stores stretches of bytes without gaps: from the innermost loop outwards, as
// long as each stride is at most what the loops inside cover. Loops further out move on to other stretches, or repeat them
// all. In   for (k..n) for (j..n) for (i = 1; i < n - 1; i++) x[k][j][i] = ...   each row is a stretch, and the two elements
// between rows are none of the nest's business. While the program is in a step that touches [at.begin, at.end),
//
//     stretches before | begin      at.begin        at.end        end | stretches behind
//     final       |   final    | in progress    | to come          | to come
//
// A page that lies in a stretch to come, or in the last part of this one, need not be read; nor any page of a stretch, if all
// of it will be stored once more. Pages in progress are never among them, because an iteration may read what it has
// just stored; nor are pages that hold other bytes as well. Where these are only the narrow margins of rows
// (core/nest/row_margins.h), who has kept the margins need not read the rest: see Unread::but_margins().
#pragma once
#include "core/nest/cursor.h"
#include "core/nest/row_margins.h"
#include "core/types.h"

namespace pagecast::core {

/// Takes `overwrites` off the groups that turn out not to: moving downwards, in stretches of less than a page whose margins are
/// not narrow, in stretches that are interleaved, or where the extent of a group that reads meets theirs. The bases and
/// strides of reading groups count even if they are `indirect`. Pure.
void check_overwrites(Shape *, uint64_t page);

class Overwrite {
public:
  /// For the groups of `shape` that overwrite, after check_overwrites().
  void start(const Shape &shape, uint64_t strip, uint64_t page);
  bool any() const { return any_; }

  /// What need not be read of one group while the program is in one step. Good until the next unread(), and only for
  /// pages that are absent now and were when the step was looked at.
  class Unread {
  public:
    /// The first pages of the page-aligned `e` that need not be read; empty if there are none. Cost: O(loops), for each
    /// stretch that meets `e`.
    Extent first(Extent e) const { return by_ ? by_->first_unread(*shape_, group_, e) : Extent{}; }
    /// Whether the page at `page` need not be read but for its part of row_margins(). Cost: O(loops), for each stretch in it.
    bool but_margins(Addr page) const { return by_ && by_->unread_but_margins(*shape_, group_, page); }
    /// The rows that the group is known by; none if it has no margins that are narrow.
    RowMargins row_margins() const { return by_ ? by_->row_margins(*shape_, group_) : RowMargins{}; }

  private:
    friend class Overwrite;
    const Overwrite *by_ = nullptr;
    const Shape *shape_ = nullptr;
    unsigned group_ = 0;
  };
  Unread unread(const Shape &shape, unsigned group, uint64_t step);
  /// The rows of a group that overwrites, with the margins that are kept. Pure.
  RowMargins row_margins(const Shape &, unsigned group) const;

  /// Those pages of `asked` stay unread that `unread`, which unread() has just returned, says need not be read, as do those of
  /// which only the margins must be kept.
  void leave(const Unread &unread, Extent asked);
  /// Whether the program, now in step `step`, has stored all that was left unread. Cost: O(1).
  bool all_stored(uint64_t step) const { return step >= stored_; }

private:
  /// Loops [from, loops) together store `span` bytes without gaps.
  struct Stretch {
    unsigned from = 0;
    uint64_t span = 0; ///< 0: the group does not overwrite
    uint64_t stride = 0; ///< of rows whose margins are narrow; else 0
  };
  Extent first_unread(const Shape &, unsigned group, Extent) const;
  bool unread_but_margins(const Shape &, unsigned group, Addr page) const;
  Extent in_progress() const;
  Addr seek_stretch(const Shape &, unsigned group, Addr from, uint64_t *index) const;
  Extent to_come(const Shape &, unsigned group, const uint64_t *index, Addr begin) const;
  uint64_t stored_by(const Shape &, unsigned group, Addr last) const;
  friend void check_overwrites(Shape *, uint64_t);
  static Stretch stretch_of(const Shape &, const Group &, uint64_t page);

  Stretch stretch_[kMaxGroups];
  Cursor program_at_; ///< the program's
  Extent at_; ///< what the group at hand touches there
  uint64_t stored_ = 0; ///< the step before which all that was left unread is stored
  uint64_t page_ = 4096, strip_ = 1;
  bool any_ = false;
};

} // namespace pagecast::core
