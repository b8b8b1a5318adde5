// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nests that are being executed now. A program's thread opens and closes a nest; the pager's thread
// moves its cursors; the slicer's thread runs its slice. A nest passes from one to the other by its state.
#pragma once
#include "core/nest/cursor.h"
#include "core/memory/favour.h"
#include "core/memory/forecast.h"
#include "core/slices/coalescer.h"
#include "core/nest/nest.h"
#include "core/nest/overwrite.h"
#include "core/nest/ticks.h"
#include "pagecast/abi.h"
#include "runtime/slices/stage.h"
#include "runtime/slices/trail.h"
#include "runtime/slices/progress.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class Engine;
struct JobEntry;
struct SliceStatistics;

struct OpenNest {
  enum State : uint32_t {
    kFree,    ///< nobody's
    kClaimed, ///< the program's thread fills it
    kOpen,    ///< the pager moves it; the program ticks
    kClosing, ///< the program has left; the pager finishes it and makes it free
  };

  alignas(64) pagecast_ticket ticket; ///< written by the program at every step: a cache line of its own
  alignas(64) std::atomic<uint32_t> state{kFree};
  std::atomic<uint32_t> slicing{0};   ///< the slicer's thread reads the program's memory for it now
  std::atomic<uint64_t> slice_ahead{0}; ///< steps by which the slice runs ahead
  std::atomic<uint64_t> slice_wasted{0}; ///< pages that it asked for and that were evicted before their turn
  std::atomic<JobEntry *> served{nullptr}; ///< where a helper says how far it may go (engine/meeting.h); NULL: there is none
  std::atomic<uint32_t> asks{0}; ///< requests for pages that were not in memory, made for it by its plan or by its slice
  std::atomic<bool> met{false}; ///< it was let go on: the pager looks at the nest again
  const pagecast_nest *description;
  uint32_t sites; ///< of group 0
  const void *frame;
  uint64_t ends;   ///< how often the last loop will still end before the nest is closed by that; 0: it is not
  uint64_t last_tick; ///< the tick that closes it, or ~0. The ticket's `wake` is never later
  bool can_be_early; ///< leaving it before its first step's end is leaving it early (core/nest/entry_backoff.h)
  bool is_short; ///< it touches so little that opening it takes a good part of its time, unless it asks for pages
  bool is_profiled = false; ///< opened for a profile alone (entry/profiled_nests.h)
  uint32_t thread; ///< whose it is
  uint64_t serial; ///< counts nests in the order of their opening
  core::Shape draft; ///< of the nest that is being opened

  // Pager's thread, once open.
  core::Nest policy;
  core::Overwrite overwrite;
  core::Ticks ticks;
  uint64_t wake_at; ///< step
  uint64_t freed_seen;
  uint64_t crowded_seen;
  uint32_t turn; ///< counts the nests that this entry of the table has held
  bool started;
  core::Favour::Owner owner; ///< of its pages
  uint64_t shared;         ///< bytes of memory that it was planned for, with others open; ~0: alone
  bool foreseen;           ///< the forecast knows of it
  core::Forecast::Next next[core::kMaxGroups]; ///< use of each group after this nest
  uint32_t astray;         ///< see nest_missed()
  uint32_t left_to_others; ///< bit g: a nest that comes after it in the same loop gives group g's pages up

  uint64_t pinned[PAGECAST_MAX_GROUPS]; ///< addresses in indirect targets that are fetched whole
  unsigned pinned_count;
  core::Extent hull[PAGECAST_MAX_GROUPS]; ///< of the ranges of slices: see SliceSurvey

  // Slicer's thread, once open.
  std::atomic<bool> sliced{false}; ///< of the nest that is open: who has not kept it open may read another's
  uint64_t alone;                           ///< pages that its slice has asked for alone, since it was looked at last
  uint64_t asked_pages;                     ///< all that it has asked for since then
  core::Extent asked[PAGECAST_MAX_GROUPS];  ///< what it has asked for last, of each group
  std::atomic<SliceStatistics *> costs{nullptr}; ///< of its slice; NULL: not counted
  uint64_t seen_ns, seen_step;              ///< when the slicer looked at it last; 0: never; and where it was then
  bool advised;                             ///< what its slice only reads is, in part, in files (advise.h)
  bool covers;                              ///< its slice goes through loops inside, whose own nests need no hints
  core::Cursor slice_cursor[PAGECAST_MAX_DEPTH]; ///< of each stage
  core::Cursor index_cursor;                     ///< up to where the index arrays are kept in memory for the first
  uint64_t missed_seen;                          ///< faults on absent pages, when its slice ran last
  uint64_t slices_run;                           ///< how often it did
  std::atomic<uint32_t> overwritten{0};          ///< bit g: nests inside overwrite group g. Of the program's thread
  uint64_t live[PAGECAST_MAX_LIVE];
  uint32_t dropped;                         ///< bit g: hints of group g are not wanted
  uint32_t writers;                         ///< bit g: the program stores to what group g touches
  uint8_t range_stage[PAGECAST_MAX_GROUPS]; ///< in which the group's ranges are touched; 0: it has none
  uint8_t touch_stage[PAGECAST_MAX_GROUPS]; ///< the same of single touches
  SliceStage stage[PAGECAST_MAX_DEPTH];     ///< prepared when the slice runs first
  unsigned stages;                          ///< up to the last that touches anything
  SliceTrail trail;
  core::Coalescer coalescer; ///< found, but not asked for yet
  SliceWindow slice_window[PAGECAST_MAX_DEPTH]; ///< of each stage
  SliceLead slice_lead[PAGECAST_MAX_DEPTH];
  SliceState slice_state[PAGECAST_MAX_DEPTH];
  SliceRepeats slice_repeats[PAGECAST_MAX_DEPTH];
  SliceSampling slice_sampling[PAGECAST_MAX_DEPTH];

  /// Steps that the program has finished. Any thread.
  uint64_t step() const { return ticks.steps(__atomic_load_n(&ticket.step, __ATOMIC_ACQUIRE)); }
  /// Open, and the pager has begun to move it. Pager's thread.
  bool runs() const { return state.load(std::memory_order_acquire) == kOpen && started; }
  /// It has a slice, which is not switched off for long. Any thread, without a promise that it stays so.
  bool slice_runs() const;
};

inline constexpr unsigned kMostOpenNests = 32;
/// Room for the nests, all zero at first: each is constructed when it is claimed for the first time, since together they are
/// larger than all else that the runtime has in a program without nests.
union NestStorage {
  OpenNest nests[kMostOpenNests];
  unsigned char none;
  constexpr NestStorage() : none(0) {}
  ~NestStorage() {}
};
extern NestStorage nest_storage;
inline OpenNest (&nest_table)[kMostOpenNests] = nest_storage.nests;
/// Bit i: nest i of the table is open or closing.
extern std::atomic<uint32_t> open_nest_mask;

/// A free one, for a nest to be opened in; NULL: there is none. Any thread.
OpenNest *claim_nest();

/// Whose ticket it is.
inline OpenNest &nest_of(const pagecast_ticket *ticket) {
  return nest_table[(reinterpret_cast<uint64_t>(ticket) - reinterpret_cast<uint64_t>(nest_table)) / sizeof(OpenNest)];
}
inline unsigned number_of(const OpenNest *nest) { return static_cast<unsigned>(nest - nest_table); }

/// The nests that were open or closing when it was made: for (OpenNest &nest : OpenNests()). Any thread.
class OpenNests {
public:
  class Iterator {
  public:
    explicit Iterator(uint32_t open) : open_(open) {}
    OpenNest &operator*() const { return nest_table[__builtin_ctz(open_)]; }
    Iterator &operator++() { return open_ &= open_ - 1, *this; }
    bool operator!=(const Iterator &other) const { return open_ != other.open_; }

  private:
    uint32_t open_;
  };
  Iterator begin() const { return Iterator(open_); }
  Iterator end() const { return Iterator(0); }

private:
  uint32_t open_ = open_nest_mask.load(std::memory_order_seq_cst);
};

/// NULL while nothing is paged.
extern std::atomic<Engine *> engine_in_charge;

// Pager's thread: news of pages that a nest asked for. `number` is the nest's number in nest_table.
void nest_measured(unsigned number, uint64_t latency_ns);
void nest_late(unsigned number, unsigned site);
bool nest_not_there_yet(unsigned number, unsigned turn, uint32_t wanted_by, unsigned site);
/// Whether a nest that is open fetches `address` in its turn. Pager's thread.
bool nest_covers(uint64_t address);
/// The program faulted on a page at `address` that had to be read, or made zero: the same; or the nest has asked for such pages. Nests that miss
/// more than a page of eight cover nothing any more: what was assumed of where they go is wrong. Pager's thread.
bool nest_missed(uint64_t address);
void nest_asked(unsigned number, uint32_t pages);

} // namespace pagecast
