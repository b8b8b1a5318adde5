// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slicer's thread: runs the slices of open nests ahead of the program, so that the pages of indirect
// references are asked for before the program computes their addresses. Each stage of a slice has a cursor of
// its own; the first is the furthest ahead, so that what a stage loads is in memory when its turn comes.
#include "runtime/fork.h"
#include "runtime/lock.h"
#include "runtime/nest_slots.h"
#include "runtime/os.h"
#include "runtime/pager.h"
#include "runtime/slice_machine.h"
#include "runtime/slice_reader.h"

#include <ctime>

namespace pagecast {
namespace {

std::atomic<uint32_t> slicer_asleep{0};
constexpr uint64_t kSlicerPollNs = 100000;
constexpr unsigned kBurst = 16;             ///< steps, before other nests have their turn
constexpr uint64_t kStepWork = 64u << 20;   ///< operations times lanes: what takes longer is given up

SliceMachine machine;
SliceReader reader;
Lock running; ///< held during each run
std::atomic<uint32_t> waiting_for_it{0}; ///< threads in slicer_let_go()

/// Hints of one run of one nest.
class Hints final : public SliceSink {
public:
  Hints(Pager &pager, NestSlot &slot, SliceWindow &window, uint64_t step)
      : pager_(pager), slot_(slot), window_(window), step_(static_cast<uint32_t>(step)) {}

  bool page(unsigned group, uint64_t page) override {
    if (slot_.dropped >> group & 1) return true;
    return ask(group, {page, page + os::page_size()});
  }

  bool range(unsigned group, uint64_t begin, uint64_t end) override {
    if (slot_.dropped >> group & 1) return true;
    return ask_absent(group, slot_.trail.add(group, {begin, end}));
  }

  /// The program's thread waits for the run's end when it leaves the nest, and when it unmaps memory.
  bool wanted() override {
    return slot_.state.load(std::memory_order_relaxed) == NestSlot::kOpen && !waiting_for_it.load(std::memory_order_relaxed);
  }

  bool region(uint64_t address, uint64_t *begin, uint64_t *end) override {
    const Region r = pager_.look_up(address);
    *begin = r.base;
    *end = r.end();
    return r.bytes != 0;
  }

  /// The absent pages of `e`, as far as it is in regions.
  bool ask_absent(unsigned group, core::Extent e) {
    while (!e.empty()) {
      const Region r = pager_.look_up(e.begin);
      if (r.bytes == 0) { // the ends of arrays may lie outside
        e.begin += os::page_size();
        if (++outside_ > kMostOutside) return true;
        continue;
      }
      const core::Extent here{e.begin, r.end() < e.end ? r.end() : e.end};
      const core::Extent absent = pager_.map().next_absent(here, pager_.max_io());
      if (absent.empty()) e.begin = here.end;
      else if (!ask(group, absent)) return false;
      else e.begin = absent.end;
    }
    return true;
  }

  /// What the program has passed is given up.
  void release_passed(uint64_t program_step) {
    unsigned group;
    core::Extent e;
    while (slot_.trail.passed(program_step, &group, &e))
      pager_.slice_hint({e.begin, pages_of(e), Hint::kRelease, 0, site_of(group), step_, number()});
  }

private:
  static constexpr unsigned kMostOutside = 64; ///< pages, in one run
  Pager &pager_;
  NestSlot &slot_;
  SliceWindow &window_;
  uint32_t step_;
  unsigned outside_ = 0;

  uint8_t number() const { return static_cast<uint8_t>(number_of(&slot_)); }
  uint16_t site_of(unsigned group) const { return static_cast<uint16_t>(slot_.sites + group); }
  static uint32_t pages_of(core::Extent e) { return static_cast<uint32_t>(e.size() >> os::page_shift()); }

  /// Pages that a slice found absent. They are marked at once, so that they are asked for once. Waits for room.
  bool ask(unsigned group, core::Extent e) {
    const bool write = slot_.description->group[group].flags & PAGECAST_WRITES;
    pager_.map().set(e);
    const Hint hint{e.begin, pages_of(e), write ? Hint::kFetchWrite : Hint::kFetch, 0, site_of(group), step_, number()};
    while (!pager_.slice_hint(hint)) {
      if (!wanted()) {
        pager_.map().clear(e);
        return false;
      }
      pager_.poke();
      timespec t{0, 50000};
      nanosleep(&t, nullptr);
    }
    window_.add(step_, hint.pages);
    return true;
  }
};

/// The index arrays of this step are there: the slice will not stall. What the nest has asked for, or found in
/// memory, far ahead of the slice may have been given up since: it is asked for again, and so kept until the program
/// comes.
bool index_resident(Pager &pager, const NestSlot &slot, const core::Cursor &cursor, Hints &hints) {
  const core::Shape &shape = slot.nest.shape();
  bool there = true;
  for (unsigned g = 0; g < shape.groups && there; ++g) {
    if (!shape.group[g].index || shape.group[g].indirect) continue;
    cursor.for_each_extent(shape.group[g], os::page_size(), [&](core::Extent e) {
      hints.ask_absent(g, e);
      for (uint64_t page = e.begin; there && page < e.end; page += os::page_size()) {
        const Region r = pager.look_up(page);
        there = r.bytes == 0 || pager.ready(r, page);
      }
    });
  }
  return there;
}

/// One step of one stage. False: something that it needs is on its way.
bool run_step(Pager &pager, NestSlot &slot, const core::Cursor &cursor, unsigned stage, Hints &hints) {
  const pagecast_nest &d = *slot.description;
  uint64_t index[PAGECAST_MAX_LOOPS];
  for (unsigned k = 0; k < d.ticked; ++k) index[k] = cursor.index(k);
  SliceCall call{&d, slot.live, index, cursor.first(), cursor.count(), stage};
  // A slice covers the innermost loop; where that is inside a step, the step's outer iterations follow each other.
  if (d.ticked + 2 == d.loops) {
    index[d.ticked] = cursor.first();
    call.first = 0;
    call.count = slot.nest.shape().trips[d.loops - 1];
  } else if (d.ticked + 1 != d.loops) {
    return true;
  }
  Guard guard(running);
  reader.forget();
  uint64_t work = kStepWork;
  machine.run(call, {pager.map().origin(), os::page_shift()}, reader, hints, &work);
  return !reader.was_early();
}

/// Runs a stage up to its distance. True if it did something.
bool run_stage(Pager &pager, NestSlot &slot, unsigned stage) {
  const pagecast_nest &d = *slot.description;
  core::Cursor &cursor = slot.slice_cursor[stage - 1];
  SliceWindow &window = slot.slice_window[stage - 1];
  const uint64_t distance = slot.slice_ahead.load(std::memory_order_relaxed) * (d.slice->depths - stage + 1);
  bool worked = false;
  for (unsigned burst = 0; burst < kBurst; ++burst) {
    const uint64_t step = slot.step();
    if (cursor.position() < step) cursor.seek(step);
    const bool ended = cursor.at_end();
    Hints hints(pager, slot, window, cursor.position());
    hints.release_passed(step);
    window.pass(step);
    if (window.full()) break;
    if (ended || cursor.position() >= step + distance) break;
    if (slot.state.load(std::memory_order_relaxed) != NestSlot::kOpen) break;
    if (stage == 1 && !index_resident(pager, slot, cursor, hints)) break;
    if (stage > 1 && cursor.position() >= slot.slice_cursor[stage - 2].position()) break;
    if (!run_step(pager, slot, cursor, stage, hints)) break;
    const uint64_t done = cursor.position();
    cursor.next();
    worked = true;
    for (unsigned g = 0; g < d.groups; ++g) {
      if (slot.range_stage[g] != stage) continue;
      hints.ask_absent(g, slot.trail.take(g, cursor.at_end()));
      slot.trail.step_done(g, done);
    }
  }
  return worked;
}

bool run_slice(Pager &pager, NestSlot &slot) {
  slot.slicing.store(1, std::memory_order_seq_cst);
  bool worked = false;
  if (slot.state.load(std::memory_order_seq_cst) == NestSlot::kOpen && reader.start(pager, false))
    for (unsigned stage = 1; stage <= slot.description->slice->depths; ++stage) worked |= run_stage(pager, slot, stage);
  if (worked) pager.poke();
  slot.slicing.store(0, std::memory_order_seq_cst);
  os::futex_wake(reinterpret_cast<uint32_t *>(&slot.slicing));
  return worked;
}

} // namespace

void slicer_run() {
  for (;;) {
    Pager *pager = pager_in_charge.load(std::memory_order_acquire);
    bool worked = false, any = false;
    for (uint32_t open = open_nests.load(std::memory_order_seq_cst); pager && open; open &= open - 1) {
      NestSlot &slot = nest_slots[__builtin_ctz(open)];
      if (slot.state.load(std::memory_order_acquire) != NestSlot::kOpen || !slot.sliced) continue;
      any = true;
      worked |= run_slice(*pager, slot);
    }
    if (worked) continue;
    if (any) { // waiting for the program or for the index arrays: look again soon
      timespec t{0, static_cast<long>(kSlicerPollNs)};
      nanosleep(&t, nullptr);
    } else {
      slicer_asleep.store(1, std::memory_order_seq_cst);
      bool work = false;
      for (uint32_t open = open_nests.load(std::memory_order_seq_cst); open; open &= open - 1)
        work |= nest_slots[__builtin_ctz(open)].sliced && nest_slots[__builtin_ctz(open)].state.load() == NestSlot::kOpen;
      if (!work) os::futex_wait(reinterpret_cast<uint32_t *>(&slicer_asleep), 1);
      slicer_asleep.store(0, std::memory_order_seq_cst);
    }
  }
}

void slicer_poke() {
  if (slicer_asleep.exchange(0, std::memory_order_seq_cst)) os::futex_wake(reinterpret_cast<uint32_t *>(&slicer_asleep));
}

void slicer_hold() {
  waiting_for_it.fetch_add(1, std::memory_order_seq_cst);
  running.acquire();
}

void slicer_go_on() {
  running.release();
  waiting_for_it.fetch_sub(1, std::memory_order_seq_cst);
}

void slicer_forked() {
  running.release();
  waiting_for_it.store(0);
  slicer_asleep.store(0);
}

void slicer_let_go() {
  waiting_for_it.fetch_add(1, std::memory_order_seq_cst);
  { Guard guard(running); }
  waiting_for_it.fetch_sub(1, std::memory_order_seq_cst);
}

} // namespace pagecast
