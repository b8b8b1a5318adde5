// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slicer's thread: runs the slices of open nests ahead of the program, so that the pages of indirect
// references are asked for before the program computes their addresses. Each stage of a slice has a cursor of
// its own; the first is the furthest ahead, so that what a stage loads is in memory when its turn comes.
#include "runtime/slicer/slicer.h"

#include "core/arithmetic.h"
#include "core/slices/backoff.h"
#include "runtime/kernel/lock.h"
#include "runtime/state/open_nests.h"
#include "runtime/kernel/os.h"
#include "runtime/engine/engine.h"
#include "runtime/slicer/accounts.h"
#include "runtime/slicer/hints.h"
#include "runtime/slices/machine.h"
#include "runtime/slicer/reader.h"

namespace pagecast {
namespace {

std::atomic<uint32_t> slicer_asleep{0};
constexpr uint64_t kSlicerPollNs = 100000, kOffPollNs = 1000000; ///< the latter where all slices are switched off
constexpr unsigned kBurst = 64;             ///< steps, before other nests have their turn
constexpr uint64_t kIndexLead = 8;          ///< steps, by which index arrays are kept in memory ahead of the slice
/// The part of the budget that pages may take which slices have asked for and the program has not come to. What they found in
/// memory must still be there then: fewer pages than are on probation (Eviction::keep_aging).
constexpr uint64_t kAheadShare = 8;
/// Where only a slice knows what a step touches, and runs it by samples, a distance in steps says little: it goes so many times as
/// far, until so many pages have been asked for that the program has not come to. Slices that run all iterations do not: they would
/// keep the disk from the faults of a program that is still at their first step.
constexpr uint64_t kTimesSampled = 2048, kLeastSampled = 512;
constexpr uint64_t kSearchRounds = 4; ///< so much further ahead are stages that must run their steps again
constexpr uint64_t kStepWork = 64u << 20; ///< operations times lanes: what takes longer is given up

SliceMachine machine;
SliceReader reader;
SliceAccounts accounts;
core::Backoff backoffs[Statistics::kSites]; ///< of the stages of each nest, from the number of its first site on
Lock running; ///< held during each run
std::atomic<uint32_t> waiting_for_it{0}; ///< threads in slicer_let_go()

/// Calls `callback(group, Extent)` for what the slice reads in the cursor's step and the nest itself fetches.
template <class Callback> void for_each_index(const OpenNest &nest, const core::Cursor &cursor, Callback callback) {
  const core::Shape &shape = nest.policy.shape();
  for (unsigned g = 0; g < shape.groups; ++g)
    if (shape.group[g].index && !shape.group[g].indirect)
      cursor.for_each_extent(shape.group[g], os::page_size(), [&](core::Extent e) { callback(g, e); });
}

/// What the nest has asked for, or found in memory, far ahead of the slice may have been given up since: it is asked
/// for again some steps ahead, and so kept until the slice and the program come.
void keep_index(Engine &engine, OpenNest &nest, uint64_t position) {
  core::Cursor &ahead = nest.index_cursor;
  if (ahead.position() < position) ahead.seek(position);
  for (; !ahead.at_end() && ahead.position() <= position + kIndexLead; ahead.next()) {
    SliceHints hints(engine, nest, nullptr, ahead.position());
    for_each_index(nest, ahead, [&](unsigned group, core::Extent e) { hints.ask_absent(group, e); });
  }
}

/// The index arrays of this step are there: the slice will not stall.
bool index_ready(Engine &engine, const OpenNest &nest, const core::Cursor &cursor) {
  bool there = true;
  for_each_index(nest, cursor, [&](unsigned, core::Extent e) {
    for (uint64_t page = e.begin; there && page < e.end; page += os::page_size()) {
      const Region r = engine.look_up(page);
      there = r.bytes == 0 || engine.ready(r, page);
    }
  });
  return there;
}

/// The same; what is absent of them is asked for.
bool index_resident(Engine &engine, const OpenNest &nest, const core::Cursor &cursor, SliceHints &hints) {
  for_each_index(nest, cursor, [&](unsigned group, core::Extent e) { hints.ask_absent(group, e); });
  return index_ready(engine, nest, cursor);
}

/// Runs `call`; adds to `spent`. False: something that it needs is on its way.
bool run_call(Engine &engine, const SliceCall &call, SliceHints &hints, SliceOutcome *outcome, uint64_t *spent) {
  Guard guard(running);
  reader.forget();
  uint64_t work = kStepWork;
  *outcome = machine.run(call, {engine.residency().origin(), os::page_shift()}, reader, hints, &work);
  *spent += kStepWork - work;
  return !reader.was_early();
}

/// How many steps are run at once: where few of the iterations are, those of one step are not worth a run. What the nest reads
/// for its slice is looked at once a page.
uint64_t steps_at_once(Engine &engine, const OpenNest &nest, unsigned stage, const core::Cursor &cursor, uint64_t most) {
  const core::Shape &shape = nest.policy.shape();
  const uint64_t every = nest.slice_sampling[stage - 1].every(), strip = core::most(nest.policy.strip(), 1);
  if (every == 1 || shape.ticked + 1 != shape.loops) return 1;
  const uint64_t left = shape.trips[shape.ticked] - core::least(shape.trips[shape.ticked], cursor.first());
  const uint64_t steps = core::most(1, core::least(core::least(most, left / strip), every * SliceMachine::kLanes / strip));
  const uint64_t bytes = nest.policy.plan().step_bytes, stride = bytes ? core::most(1, os::page_size() / bytes) : steps;
  if (steps == 1) return 1;
  core::Cursor ahead = cursor;
  return SliceSampling::ready(steps, stride, [&](uint64_t n) {
    ahead.seek(cursor.position() + n);
    return index_ready(engine, nest, ahead);
  });
}

/// One step of one stage, or `steps` that follow each other; adds to `spent`. False: something that it needs is on its way.
bool run_step(Engine &engine, OpenNest &nest, const core::Cursor &cursor, unsigned stage, SliceHints &hints, uint64_t *spent,
              uint64_t steps = 1) {
  const pagecast_nest &d = *nest.description;
  uint64_t index[PAGECAST_MAX_LOOPS];
  for (unsigned k = 0; k < d.ticked; ++k) index[k] = cursor.index(k);
  const SliceStage &part = nest.stage[stage - 1];
  if (part.empty()) return true;
  SliceCall call{&part.nest(), nest.live, index, cursor.first(), cursor.count(), part.stage()};
  // A slice covers the innermost loop; where that is inside a step, the step's outer iterations follow each other.
  if (d.ticked + 2 == d.loops) {
    index[d.ticked] = cursor.first();
    call.first = 0;
    call.count = nest.policy.shape().trips[d.loops - 1];
  } else if (d.ticked + 1 != d.loops) {
    return true;
  }
  if (steps > 1) call.count = steps * nest.policy.strip(); // all of them are whole
  SliceOutcome outcome;
  if (!part.carries()) {
    SliceSampling &sampling = nest.slice_sampling[stage - 1];
    call.every = sampling.every();
    const bool done = run_call(engine, call, hints, &outcome, spent);
    if (!sampling.ran(machine.in_order() || outcome != SliceOutcome::kDone, !done)) return done;
    call.every = 1;
    return run_call(engine, call, hints, &outcome, spent);
  }
  SliceState &state = nest.slice_state[stage - 1];
  SliceCarried carried = state.before(cursor.position());
  call.carried = &carried;
  call.silent = cursor.position() < nest.step();
  if (!run_call(engine, call, hints, &outcome, spent) || (outcome == SliceOutcome::kTired && !hints.wanted())) return false;
  call.silent = true; // without the hints that are not wanted, it still has something to hand on
  if (outcome == SliceOutcome::kRefused && !run_call(engine, call, hints, &outcome, spent)) return false;
  state.after(cursor.position(), outcome == SliceOutcome::kDone ? carried : SliceCarried{});
  return true;
}

bool belongs_to(const OpenNest &nest, unsigned group, unsigned stage) {
  return nest.range_stage[group] == stage || nest.touch_stage[group] == stage;
}

/// NULL if the stage runs all its steps: sweeps are cheap, a few operations for many pages, and what they leave behind
/// is given up in their order. Steps that hand on to each other have no choice.
core::Backoff *backoff_of(const OpenNest &nest, unsigned stage) {
  if (nest.stage[stage - 1].carries()) return nullptr;
  for (unsigned g = 0; g < nest.description->groups; ++g)
    if (nest.range_stage[g] == stage) return nullptr;
  const uint64_t number = nest.sites + stage - 1;
  return nest.sites && number < Statistics::kSites ? &backoffs[number] : nullptr;
}

void note_backoff(Engine &engine, const OpenNest &nest, unsigned stage, uint64_t backed_off, uint64_t probes) {
  if (backed_off == 0 && probes == 0) return;
  for (unsigned g = 0; g < nest.description->groups; ++g) {
    if (nest.touch_stage[g] != stage) continue;
    SiteStatistics &site = engine.statistics.site[nest.sites + g];
    __atomic_fetch_add(&site.backed_off, backed_off, __ATOMIC_RELAXED);
    __atomic_fetch_add(&site.probes, probes, __ATOMIC_RELAXED);
  }
}

/// Step `done` of the stage has been run: where does it go on?
uint64_t next_step(Engine &engine, OpenNest &nest, unsigned stage, uint64_t done, uint64_t work, const SliceHints &hints,
                   uint64_t lead) {
  core::Backoff *backoff = backoff_of(nest, stage);
  if (!backoff) return done + 1;
  const uint64_t backed_off = backoff->backed_off(), probes = backoff->probes();
  backoff->wasted(nest.slice_wasted.exchange(0, std::memory_order_relaxed));
  const uint64_t next = backoff->ran(done, work, hints.absent(), hints.untouched(), lead);
  note_backoff(engine, nest, stage, backoff->backed_off() - backed_off, backoff->probes() - probes);
  return next;
}

void move(core::Cursor &cursor, SliceWindow &window, uint64_t position) {
  if (position < cursor.position()) window.back_to(position);
  if (position == cursor.position() + 1) cursor.next();
  else if (position != cursor.position()) cursor.seek(position);
}

/// The first step of which the stage has found something that is not asked for yet; its own step if there is none.
uint64_t asked_up_to(const OpenNest &nest, unsigned stage) {
  uint64_t step = core::least(nest.slice_cursor[stage - 1].position(), nest.coalescer.oldest());
  for (unsigned g = 0; g < nest.description->groups; ++g)
    if (belongs_to(nest, g, stage)) step = core::least(step, nest.trail.waits_since(g));
  return step;
}

/// What a stage finds is gathered over the further half of its lead, to be asked for in large pieces. What is nearer, and
/// at the end all of it, is asked for now; single pages are when the step that found them is done,
/// unless they follow each other.
void ask_gathered(OpenNest &nest, unsigned stage, uint64_t program_step, SliceHints &hints) {
  const core::Cursor &cursor = nest.slice_cursor[stage - 1];
  const bool last = cursor.at_end();
  const bool at_once = last || nest.stage[stage - 1].searches(); // which do not go on before it is there
  const uint64_t by = at_once ? ~0ull : program_step + (cursor.position() - core::least(cursor.position(), program_step)) / 2;
  for (unsigned g = 0; g < nest.description->groups; ++g) {
    if (!belongs_to(nest, g, stage)) continue;
    const bool alone = nest.touch_stage[g] == stage && nest.trail.waiting(g).size() == os::page_size() && !nest.trail.goes_on(g);
    if (alone || nest.trail.waits_since(g) <= by) hints.found(g, nest.trail.take(g, last));
  }
  hints.ask_found(by);
}

/// Runs the steps again in which a search came to what was not in memory.
void repeat_searches(Engine &engine, OpenNest &nest, unsigned stage) {
  SliceRepeats &repeats = nest.slice_repeats[stage - 1];
  uint64_t step = nest.step();
  repeats.pass(step);
  core::Cursor cursor = nest.slice_cursor[stage - 1];
  for (; repeats.next(&step); ++step) {
    if (nest.state.load(std::memory_order_relaxed) != OpenNest::kOpen) break;
    cursor.seek(step);
    SliceHints found(engine, nest, &nest.slice_window[stage - 1], step);
    found.repeats();
    const uint64_t failed = machine.failed_loads();
    uint64_t work = 0;
    run_step(engine, nest, cursor, stage, found, &work);
    repeats.ran(step, machine.failed_loads() == failed);
    ask_gathered(nest, stage, nest.step(), found);
  }
}

/// Whether the stage goes through rows that follow each other. What they leave behind is given up in their order, and to run some
/// again would disturb that: CGM and APPBT read and wrote a fifth more.
bool sweeps(const OpenNest &nest, unsigned stage) {
  for (unsigned g = 0; g < nest.description->groups; ++g)
    if (nest.range_stage[g] == stage && nest.trail.moves_on(g)) return true;
  return false;
}

/// Runs a stage up to its distance, once a quarter of that is lacking: in few, long turns. `missed`: the program has
/// faulted on absent pages. True if it did something.
bool run_stage(Engine &engine, OpenNest &nest, unsigned stage, bool missed) {
  const pagecast_nest &d = *nest.description;
  core::Cursor &cursor = nest.slice_cursor[stage - 1];
  SliceWindow &window = nest.slice_window[stage - 1];
  SliceLead &lead = nest.slice_lead[stage - 1];
  const bool searches = nest.stage[stage - 1].searches(), carries = nest.stage[stage - 1].carries();
  const bool blind = nest.policy.plan().step_bytes == 0;
  const uint64_t distance =
      nest.slice_ahead.load(std::memory_order_relaxed) * (d.slice->depths - stage + 1) * (searches ? kSearchRounds : 1);
  if (core::Backoff *backoff = missed ? backoff_of(nest, stage) : nullptr)
    move(cursor, window, backoff->missed(nest.step(), cursor.position()));
  bool worked = false;
  if (searches) repeat_searches(engine, nest, stage);
  for (unsigned burst = 0; burst < kBurst; ++burst) {
    const uint64_t step = nest.step();
    if (cursor.position() < step) {
      if (!carries) cursor.seek(step);
      else if (!missed) break; // it would have to run all of them, and the program goes on well without
    }
    if (!sweeps(nest, stage) && lead.is_stale(step, engine.crowded())) {
      lead.back_to(step, cursor.position());
      const uint64_t back = core::least(step + 1, cursor.position());
      move(cursor, window, carries ? nest.slice_state[stage - 1].back_to(back, cursor.position()) : back);
    }
    const bool further = blind && window.pages() < kLeastSampled && nest.slice_sampling[stage - 1].every() > 1;
    const uint64_t times = further ? kTimesSampled : 1;
    const uint64_t most_ahead =
        core::least(SliceWindow::end(step, core::saturating_mul(distance, times), worked), lead.end(step));
    const bool ended = cursor.at_end();
    SliceHints hints(engine, nest, &window, cursor.position());
    hints.release_passed(step);
    ask_gathered(nest, stage, step, hints);
    window.pass(step);
    if (window.full()) break;
    if (ended || cursor.position() >= most_ahead) break;
    if (nest.state.load(std::memory_order_relaxed) != OpenNest::kOpen) break;
    if (stage == 1) keep_index(engine, nest, cursor.position());
    if (stage == 1 && !index_resident(engine, nest, cursor, hints)) break;
    const uint64_t limit = stage > 1 ? core::least(most_ahead, asked_up_to(nest, stage - 1)) : most_ahead;
    if (cursor.position() >= limit) break;
    SliceHints found(engine, nest, &window, cursor.position());
    uint64_t work = 0;
    lead.runs(cursor.position(), engine.crowded());
    const uint64_t failed = machine.failed_loads();
    const uint64_t steps = steps_at_once(engine, nest, stage, cursor, limit - cursor.position());
    if (!run_step(engine, nest, cursor, stage, found, &work, steps) && (carries || !searches)) break;
    if (searches) nest.slice_repeats[stage - 1].ran(cursor.position(), machine.failed_loads() == failed);
    const uint64_t done = cursor.position() + steps - 1;
    move(cursor, window, core::most(next_step(engine, nest, stage, done, work, found, distance), carries ? 0 : step));
    worked = true;
    for (unsigned g = 0; g < d.groups; ++g)
      if (nest.range_stage[g] == stage) nest.trail.step_done(g, done);
    ask_gathered(nest, stage, step, found);
  }
  return worked;
}

void prepare_stages(Engine &engine, OpenNest &nest) {
  const pagecast_nest &d = *nest.description;
  unsigned used = 0;
  nest.stages = 0;
  for (unsigned stage = 1; stage <= d.slice->depths; ++stage) {
    nest.stage[stage - 1].prepare(d, stage, nest.dropped);
    if (nest.stage[stage - 1].empty()) continue;
    nest.stages = stage;
    ++used;
  }
  const uint64_t share = (engine.budget() >> os::page_shift()) / kAheadShare;
  for (unsigned stage = 0; stage < nest.stages; ++stage) {
    nest.slice_window[stage].start(core::most(1, share / core::most(used, 1)));
    nest.slice_lead[stage].start(share);
    nest.slice_state[stage].start();
    nest.slice_repeats[stage].start();
    nest.slice_sampling[stage].start(!nest.stage[stage].empty() && slice_can_sample(nest.stage[stage].nest()));
  }
}

/// Runs what the stages lack, if the slice is worth it now.
bool serve_stages(Engine &engine, OpenNest &nest) {
  const uint64_t missed = engine.statistics.not_prefetched.load(std::memory_order_relaxed);
  if (!accounts.runs(engine, nest)) return false;
  const bool first = nest.slices_run++ == 0, more = !first && missed != nest.missed_seen;
  nest.missed_seen = missed;
  if (first) prepare_stages(engine, nest);
  bool worked = false;
  for (unsigned stage = 1; stage <= nest.stages; ++stage) {
    core::Backoff *backoff = first ? backoff_of(nest, stage) : nullptr;
    if (backoff) backoff->enter();
    worked |= run_stage(engine, nest, stage, more);
  }
  accounts.ran(engine, nest);
  return worked;
}

} // namespace

bool slicer_serve(Engine &engine, OpenNest &nest) {
  nest.slicing.store(1, std::memory_order_seq_cst);
  bool worked = false;
  // Only now does the nest stay: before, it may have closed, and another, without a slice, have been opened in its place.
  const bool open = nest.state.load(std::memory_order_seq_cst) == OpenNest::kOpen && nest.sliced.load(std::memory_order_relaxed);
  if (open && reader.start(engine, false)) worked = serve_stages(engine, nest);
  if (worked) engine.poke();
  nest.slicing.store(0, std::memory_order_seq_cst);
  os::futex_wake(reinterpret_cast<uint32_t *>(&nest.slicing));
  return worked;
}

void slicer_run() {
  for (;;) {
    Engine *engine = engine_in_charge.load(std::memory_order_acquire);
    bool worked = false, any = false, soon = false;
    for (OpenNest &nest : OpenNests()) {
      if (!engine) break;
      if (nest.state.load(std::memory_order_acquire) != OpenNest::kOpen || !nest.sliced.load(std::memory_order_relaxed)) continue;
      any = true;
      worked |= slicer_serve(*engine, nest);
      soon |= !accounts.is_off(*engine, nest);
    }
    if (worked) continue;
    if (any) { // waiting for the program or for the index arrays: look again soon
      os::sleep(soon ? kSlicerPollNs : kOffPollNs);
    } else {
      slicer_asleep.store(1, std::memory_order_seq_cst);
      bool work = false;
      for (const OpenNest &nest : OpenNests()) work |= nest.sliced.load() && nest.state.load() == OpenNest::kOpen;
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

bool slicer_waited_for() { return waiting_for_it.load(std::memory_order_relaxed); }

void slicer_let_go() {
  waiting_for_it.fetch_add(1, std::memory_order_seq_cst);
  { Guard guard(running); }
  waiting_for_it.fetch_sub(1, std::memory_order_seq_cst);
}

} // namespace pagecast
