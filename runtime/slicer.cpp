// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slicer's thread: runs the slices of open nests ahead of the program, so that the pages of indirect
// references are asked for before the program computes their addresses. Each stage of a slice has a cursor of
// its own; the first is the furthest ahead, so that what a stage loads is in memory when its turn comes.
#include "core/arithmetic.h"
#include "core/backoff.h"
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
constexpr unsigned kBurst = 64;             ///< steps, before other nests have their turn
constexpr uint64_t kIndexLead = 8;          ///< steps, by which index arrays are kept in memory ahead of the slice
/// Of the budget, that pages asked for by slices may take before the program has come to them. What they found in
/// memory must still be there then: fewer pages than are on probation (Pager::keep_aging).
constexpr uint64_t kAheadShare = 8;
constexpr uint64_t kStepWork = 64u << 20;   ///< operations times lanes: what takes longer is given up

SliceMachine machine;
SliceReader reader;
core::Backoff backoffs[Statistics::kSites]; ///< of the stages of each nest, from the number of its first site on
Lock running; ///< held during each run
std::atomic<uint32_t> waiting_for_it{0}; ///< threads in slicer_let_go()

/// Hints of one run of one nest. `window`, if any, counts them.
class Hints final : public SliceSink {
public:
  Hints(Pager &pager, NestSlot &slot, SliceWindow *window, uint64_t step)
      : pager_(pager), slot_(slot), window_(window), step_(step) {}

  bool page(unsigned group, uint64_t page) override {
    const core::Extent e{page, page + os::page_size()}, before = slot_.trail.waiting(group);
    if (slot_.dropped >> group & 1 || page - before.begin < before.size()) return true;
    count(e);
    return found(group, slot_.trail.add(group, e, step_));
  }

  bool range(unsigned group, uint64_t begin, uint64_t end) override {
    if (slot_.dropped >> group & 1) return true;
    return found(group, slot_.trail.add(group, {begin, end}, step_));
  }

  /// What the trail has given back. A page that stands alone is asked for; more of them wait for their neighbours.
  bool found(unsigned group, core::Extent e) {
    if (e.empty() || overwritten(group)) return true;
    if (e.size() == os::page_size() && slot_.touch_stage[group]) return pager_.map().test(e.begin) || ask(group, e);
    if (e.size() >= pager_.max_io()) return ask_absent(group, e);
    core::Lots::Lot full;
    if (!slot_.lots.add({e, slot_.trail.taken_since(), group, writes(group)}, &full)) return true;
    return ask_absent(full.group, full.extent);
  }

  /// Asks for what has been found in step `by` and before.
  bool ask_found(uint64_t by) {
    return slot_.lots.take(by, [this](const core::Lots::Lot &lot) { return ask_absent(lot.group, lot.extent); });
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

  uint64_t look_ahead(uint64_t address) override { return pager_.look_up(address).look_ahead; }

  /// A page that the program is about to store to, which says nothing for or against the slice: one that was never stored
  /// to, or the one where the next place began, which the two have in common.
  bool page_ahead(unsigned group, uint64_t page) override {
    const Region r = pager_.look_up(page);
    if (slot_.dropped >> group & 1 || r.bytes == 0 || page == r.base) return true;
    if (r.chunk) return pager_.map().test(page) || tell(group, {page, page + os::page_size()});
    const PageState state = pager_.state_of(r, page), before = pager_.state_of(r, page - os::page_size());
    if (state != PageState::kZero && (state != PageState::kAbsent || before == PageState::kAbsent)) return true;
    return tell(group, {page, page + os::page_size()});
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
      pager_.slice_hint({e.begin, pages_of(e), Hint::kRelease, 0, site_of(group), static_cast<uint32_t>(step_), number()});
  }

  uint64_t absent() const { return absent_; }       ///< pages found one by one that take a read, or would before long
  uint64_t untouched() const { return untouched_; } ///< and that were never stored to

private:
  static constexpr unsigned kMostOutside = 64; ///< pages, in one run
  Pager &pager_;
  NestSlot &slot_;
  SliceWindow *window_;
  uint64_t step_;
  unsigned outside_ = 0;
  uint64_t absent_ = 0, untouched_ = 0;

  uint8_t number() const { return static_cast<uint8_t>(number_of(&slot_)); }
  /// By nests inside, which see to its pages themselves.
  bool overwritten(unsigned group) const { return slot_.overwritten.load(std::memory_order_relaxed) >> group & 1; }
  bool writes(unsigned group) const { return slot_.description->group[group].flags & PAGECAST_WRITES; }
  uint16_t site_of(unsigned group) const { return static_cast<uint16_t>(slot_.sites + group); }
  static uint32_t pages_of(core::Extent e) { return static_cast<uint32_t>(e.size() >> os::page_shift()); }

  /// Pages that a slice found absent.
  bool ask(unsigned group, core::Extent e) {
    if (overwritten(group)) return true;
    if (!tell(group, e)) return false;
    if (window_) window_->add(step_, pages_of(e));
    return true;
  }

  /// They are marked at once, so that they are asked for once. Waits for room.
  bool tell(unsigned group, core::Extent e) {
    const bool write = writes(group);
    pager_.map().set(e);
    const Hint hint{e.begin, pages_of(e),    write ? Hint::kFetchWrite : Hint::kFetch,
                    0,       site_of(group), static_cast<uint32_t>(step_),
                    number()};
    while (!pager_.slice_hint(hint)) {
      if (!wanted()) {
        pager_.map().clear(e);
        return false;
      }
      pager_.poke();
      timespec t{0, 50000};
      nanosleep(&t, nullptr);
    }
    return true;
  }

  void count(core::Extent e) {
    const Region r = pager_.look_up(e.begin);
    if (r.chunk) absent_ += pages_of(e); // of a file: the map knows no more
    for (uint64_t page = e.begin; !r.chunk && page < e.end && page < r.end(); page += os::page_size()) {
      const PageState state = pager_.state_of(r, page);
      absent_ += state == PageState::kAbsent || state >= PageState::kClean; // in memory, but about to go
      untouched_ += state == PageState::kZero;
    }
  }
};

/// Calls `callback(group, Extent)` for what the slice reads in the cursor's step and the nest itself fetches.
template <class Callback> void for_each_index(const NestSlot &slot, const core::Cursor &cursor, Callback callback) {
  const core::Shape &shape = slot.nest.shape();
  for (unsigned g = 0; g < shape.groups; ++g)
    if (shape.group[g].index && !shape.group[g].indirect)
      cursor.for_each_extent(shape.group[g], os::page_size(), [&](core::Extent e) { callback(g, e); });
}

/// What the nest has asked for, or found in memory, far ahead of the slice may have been given up since: it is asked
/// for again some steps ahead, and so kept until the slice and the program come.
void keep_index(Pager &pager, NestSlot &slot, uint64_t position) {
  core::Cursor &ahead = slot.index_cursor;
  if (ahead.position() < position) ahead.seek(position);
  for (; !ahead.at_end() && ahead.position() <= position + kIndexLead; ahead.next()) {
    Hints hints(pager, slot, nullptr, ahead.position());
    for_each_index(slot, ahead, [&](unsigned group, core::Extent e) { hints.ask_absent(group, e); });
  }
}

/// The index arrays of this step are there: the slice will not stall.
bool index_resident(Pager &pager, const NestSlot &slot, const core::Cursor &cursor, Hints &hints) {
  bool there = true;
  for_each_index(slot, cursor, [&](unsigned group, core::Extent e) {
    hints.ask_absent(group, e);
    for (uint64_t page = e.begin; there && page < e.end; page += os::page_size()) {
      const Region r = pager.look_up(page);
      there = r.bytes == 0 || pager.ready(r, page);
    }
  });
  return there;
}

/// One step of one stage; adds to `spent`. False: something that it needs is on its way.
bool run_step(Pager &pager, NestSlot &slot, const core::Cursor &cursor, unsigned stage, Hints &hints, uint64_t *spent) {
  const pagecast_nest &d = *slot.description;
  uint64_t index[PAGECAST_MAX_LOOPS];
  for (unsigned k = 0; k < d.ticked; ++k) index[k] = cursor.index(k);
  const SliceStage &part = slot.stage[stage - 1];
  if (part.empty()) return true;
  SliceCall call{&part.nest(), slot.live, index, cursor.first(), cursor.count(), part.stage()};
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
  *spent += kStepWork - work;
  return !reader.was_early();
}

bool belongs_to(const NestSlot &slot, unsigned group, unsigned stage) {
  return slot.range_stage[group] == stage || slot.touch_stage[group] == stage;
}

/// NULL if the stage runs all its steps: sweeps are cheap, a few operations for many pages, and what they leave behind
/// is given up in their order.
core::Backoff *backoff_of(const NestSlot &slot, unsigned stage) {
  for (unsigned g = 0; g < slot.description->groups; ++g)
    if (slot.range_stage[g] == stage) return nullptr;
  const uint64_t number = slot.sites + stage - 1;
  return slot.sites && number < Statistics::kSites ? &backoffs[number] : nullptr;
}

void note_backoff(Pager &pager, const NestSlot &slot, unsigned stage, uint64_t backed_off, uint64_t probes) {
  if (backed_off == 0 && probes == 0) return;
  for (unsigned g = 0; g < slot.description->groups; ++g) {
    if (slot.touch_stage[g] != stage) continue;
    SiteStatistics &site = pager.statistics.site[slot.sites + g];
    __atomic_fetch_add(&site.backed_off, backed_off, __ATOMIC_RELAXED);
    __atomic_fetch_add(&site.probes, probes, __ATOMIC_RELAXED);
  }
}

/// Step `done` of the stage has been run: where does it go on?
uint64_t next_step(Pager &pager, NestSlot &slot, unsigned stage, uint64_t done, uint64_t work, const Hints &hints,
                   uint64_t lead) {
  core::Backoff *backoff = backoff_of(slot, stage);
  if (!backoff) return done + 1;
  const uint64_t backed_off = backoff->backed_off(), probes = backoff->probes();
  backoff->wasted(slot.slice_wasted.exchange(0, std::memory_order_relaxed));
  const uint64_t next = backoff->ran(done, work, hints.absent(), hints.untouched(), lead);
  note_backoff(pager, slot, stage, backoff->backed_off() - backed_off, backoff->probes() - probes);
  return next;
}

void move(core::Cursor &cursor, SliceWindow &window, uint64_t position) {
  if (position < cursor.position()) window.back_to(position);
  if (position == cursor.position() + 1) cursor.next();
  else if (position != cursor.position()) cursor.seek(position);
}

/// The first step of which the stage has found something that is not asked for yet; its own step if there is none.
uint64_t asked_up_to(const NestSlot &slot, unsigned stage) {
  uint64_t step = core::least(slot.slice_cursor[stage - 1].position(), slot.lots.oldest());
  for (unsigned g = 0; g < slot.description->groups; ++g)
    if (belongs_to(slot, g, stage)) step = core::least(step, slot.trail.waits_since(g));
  return step;
}

/// What a stage finds is gathered over the further half of its lead, to be asked for in large pieces. What is nearer, and
/// at the end all of it, is asked for now; single pages are when the step that found them is done.
void ask_gathered(NestSlot &slot, unsigned stage, uint64_t program_step, Hints &hints) {
  const core::Cursor &cursor = slot.slice_cursor[stage - 1];
  const bool last = cursor.at_end();
  const uint64_t by = last ? ~0ull : program_step + (cursor.position() - core::least(cursor.position(), program_step)) / 2;
  for (unsigned g = 0; g < slot.description->groups; ++g) {
    if (!belongs_to(slot, g, stage)) continue;
    const bool alone = slot.touch_stage[g] == stage && slot.trail.waiting(g).size() == os::page_size();
    if (alone || slot.trail.waits_since(g) <= by) hints.found(g, slot.trail.take(g, last));
  }
  hints.ask_found(by);
}

/// Runs a stage up to its distance, once a quarter of that is lacking: in few, long turns. `missed`: the program has
/// faulted on absent pages. True if it did something.
bool run_stage(Pager &pager, NestSlot &slot, unsigned stage, bool missed) {
  const pagecast_nest &d = *slot.description;
  core::Cursor &cursor = slot.slice_cursor[stage - 1];
  SliceWindow &window = slot.slice_window[stage - 1];
  const uint64_t distance = slot.slice_ahead.load(std::memory_order_relaxed) * (d.slice->depths - stage + 1);
  if (core::Backoff *backoff = missed ? backoff_of(slot, stage) : nullptr)
    move(cursor, window, backoff->missed(slot.step(), cursor.position()));
  bool worked = false;
  for (unsigned burst = 0; burst < kBurst; ++burst) {
    const uint64_t step = slot.step();
    const uint64_t most_ahead = SliceWindow::end(step, distance, worked);
    if (cursor.position() < step) cursor.seek(step);
    const bool ended = cursor.at_end();
    Hints hints(pager, slot, &window, cursor.position());
    hints.release_passed(step);
    ask_gathered(slot, stage, step, hints);
    window.pass(step);
    if (window.full()) break;
    if (ended || cursor.position() >= most_ahead) break;
    if (slot.state.load(std::memory_order_relaxed) != NestSlot::kOpen) break;
    if (stage == 1) keep_index(pager, slot, cursor.position());
    if (stage == 1 && !index_resident(pager, slot, cursor, hints)) break;
    if (stage > 1 && cursor.position() >= asked_up_to(slot, stage - 1)) break;
    Hints found(pager, slot, &window, cursor.position());
    uint64_t work = 0;
    if (!run_step(pager, slot, cursor, stage, found, &work)) break;
    const uint64_t done = cursor.position();
    move(cursor, window, core::most(next_step(pager, slot, stage, done, work, found, distance), step));
    worked = true;
    for (unsigned g = 0; g < d.groups; ++g)
      if (slot.range_stage[g] == stage) slot.trail.step_done(g, done);
    ask_gathered(slot, stage, step, found);
  }
  return worked;
}

void prepare_stages(Pager &pager, NestSlot &slot) {
  const pagecast_nest &d = *slot.description;
  unsigned used = 0;
  slot.stages = 0;
  for (unsigned stage = 1; stage <= d.slice->depths; ++stage) {
    slot.stage[stage - 1].prepare(d, stage, slot.dropped);
    if (slot.stage[stage - 1].empty()) continue;
    slot.stages = stage;
    ++used;
  }
  const uint64_t share = (pager.budget() >> os::page_shift()) / kAheadShare / core::most(used, 1);
  for (unsigned stage = 0; stage < slot.stages; ++stage) slot.slice_window[stage].start(core::most(1, share));
}

bool run_slice(Pager &pager, NestSlot &slot) {
  slot.slicing.store(1, std::memory_order_seq_cst);
  bool worked = false;
  if (slot.state.load(std::memory_order_seq_cst) == NestSlot::kOpen && reader.start(pager, false)) {
    const uint64_t missed = pager.statistics.not_prefetched.load(std::memory_order_relaxed);
    const bool first = slot.slices_run++ == 0, more = !first && missed != slot.missed_seen;
    slot.missed_seen = missed;
    if (first) prepare_stages(pager, slot);
    for (unsigned stage = 1; stage <= slot.stages; ++stage) {
      core::Backoff *backoff = first ? backoff_of(slot, stage) : nullptr;
      if (backoff) backoff->enter();
      worked |= run_stage(pager, slot, stage, more);
    }
  }
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
    for (NestSlot &slot : OpenNests()) {
      if (!pager) break;
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
      for (const NestSlot &slot : OpenNests()) work |= slot.sliced && slot.state.load() == NestSlot::kOpen;
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
