// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program's side of nests: the bodies of __pagecast_enter, _next, _tick and _exit (pagecast/abi.h).
#include "runtime/entry/nests.h"

#include "core/arithmetic.h"
#include "core/nest/entry_backoff.h"
#include "runtime/kernel/message.h"
#include "runtime/entry/nest_args.h"
#include "runtime/entry/nest_entry.h"
#include "runtime/entry/profiled_nests.h"
#include "runtime/entry/small_nests.h"
#include "runtime/state/open_nests.h"
#include "runtime/entry/nest_stack.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/meeting.h"
#include "runtime/kernel/sandbox.h"
#include "runtime/profile/profile.h"
#include "runtime/slices/machine.h"
#include "runtime/slicer/slicer.h"
#include "runtime/slicer/survey.h"

#include <algorithm>

namespace pagecast {

static_assert(PAGECAST_WORD_LEFT == core::EntryBackoff::kLeftBits && PAGECAST_WORD_SITE + core::EntryBackoff::kBits <= 64 &&
              Statistics::kSiteBits == PAGECAST_WORD_SITE);

namespace {

/// An indirect target up to this share of the budget is fetched whole: it will stay, and a slice per
/// reference would cost more than it brings (the ranking phase of BUK).
constexpr uint64_t kSmallTargetShare = 8;
/// Where one iteration touches more than this share of the budget, there is no running ahead by iterations.
constexpr uint64_t kSlicedShare = 8;
/// References of a slice that follow each other within this share of the budget leave it to the last to give pages up.
constexpr uint64_t kTrailShare = 8;
/// Nests up to this size are first looked up in the residency map.
constexpr uint64_t kFilteredNest = 8u << 20;

/// A look at its ends: the first and last pages of globals are in no region. And between them: what comes round at its ends is
/// taken to go on there, beyond them (compiler/loops/PeriodicIndices.h).
bool in_regions(Engine &engine, core::Extent e) {
  const uint64_t page = os::page_size();
  for (const uint64_t at : {e.begin, e.begin + page, e.end - page - 1, e.end - 1, e.begin + e.size() / 2})
    if (at - e.begin < e.size() && engine.look_up(at).bytes) return true;
  return false;
}

/// The emitted description with the run-time values. Groups outside regions are left out (they become
/// indirect ones that no slice serves). Returns false if nothing is left.
bool make_shape(Engine &engine, const pagecast_nest &d, const uint64_t *args, core::Shape &shape) {
  shape.loops = d.loops;
  shape.ticked = d.ticked;
  shape.strips = d.strips != 0;
  shape.groups = d.groups;
  shape.sliced_bytes = shape.sliced_total = 0;
  shape.stages = d.slice ? d.slice->depths : 0;
  for (unsigned k = 0; k < d.loops; ++k) shape.trips[k] = args[k];
  bool any = false;
  const uint64_t *values = args + d.loops;
  for (unsigned g = 0; g < d.groups; ++g, values += 1 + d.loops) {
    const pagecast_group &from = d.group[g];
    core::Group &to = shape.group[g];
    to = {};
    to.reads = from.flags & PAGECAST_READS;
    to.writes = from.flags & PAGECAST_WRITES;
    to.indirect = from.flags & (PAGECAST_INDIRECT | PAGECAST_COMPARED);
    to.index = from.flags & PAGECAST_INDEX;
    to.overwrites = (from.flags & PAGECAST_OVERWRITES) && engine.may_overwrite();
    to.element = from.element;
    to.lo = from.lo;
    to.hi = from.hi;
    to.base = values[0];
    for (unsigned k = 0; k < d.loops; ++k) to.stride[k] = static_cast<int64_t>(values[1 + k]);
    if (!in_regions(engine, core::reach_of(shape, to))) to.indirect = true;
    any |= !to.indirect || (from.flags & PAGECAST_INDIRECT);
  }
  core::check_overwrites(&shape, os::page_size());
  return any;
}

/// A small target is fetched whole and stays while the nest runs.
void fetch_whole(Engine &engine, OpenNest &nest, unsigned group, const Region &r, bool write) {
  nest.dropped |= 1u << group;
  nest.pinned[nest.pinned_count++] = r.base;
  if (engine.residency().next_absent({r.base, r.base + r.bytes}, r.bytes).empty()) return;
  engine.hint({r.base, static_cast<uint32_t>(r.bytes >> os::page_shift()), write ? Hint::kFetchWrite : Hint::kFetch, 0,
               static_cast<uint16_t>(nest.sites + group), 0, 0});
}

/// Notes what the slice's operations touch. Returns true if it has ranges.
bool find_ranges(OpenNest &nest, const pagecast_slice &s) {
  bool any = false;
  for (uint8_t &stage : nest.range_stage) stage = 0;
  for (uint8_t &stage : nest.touch_stage) stage = 0;
  for (unsigned i = 0; i < s.ops; ++i) {
    if (s.op[i].code == PAGECAST_OP_TOUCH) nest.touch_stage[s.op[i].extra] = s.op[i].depth;
    if (s.op[i].code != PAGECAST_OP_RANGE) continue;
    nest.range_stage[s.op[i].extra] = s.op[i].depth;
    any = true;
  }
  return any;
}

/// Whether the nest around, with its slice, may bring what lies there. What its survey has seen is known; a range that depends on
/// loads, and a single place, may lie anywhere in the block that it is of, or, where nobody knows that, anywhere.
bool may_bring(Engine &engine, const OpenNest &around, core::Extent e) {
  const core::Shape &shape = around.policy.shape();
  for (unsigned g = 0; g < shape.groups; ++g) {
    if (!shape.group[g].indirect && !core::common(core::reach_of(shape, shape.group[g]), e).empty()) return true;
    if (!(around.description->group[g].flags & PAGECAST_INDIRECT) || around.dropped >> g & 1) continue;
    const bool is_seen = !around.touch_stage[g] && !around.hull[g].empty();
    const Region block = is_seen ? Region{} : engine.look_up(shape.group[g].base);
    const core::Extent within = is_seen ? around.hull[g] : core::Extent{block.base, block.base + block.bytes};
    if (within.empty() || !core::common(within, e).empty()) return true;
  }
  for (unsigned i = 0; i < around.pinned_count; ++i)
    if (const Region r = engine.look_up(around.pinned[i]); e.begin - r.base < r.bytes) return true;
  return false;
}

/// A nest inside one whose slice covers it: left to it are the groups that it overwrites. The slice must not read them
/// ahead, because it does not know for certain what will be stored to. Left to it, too, are those that the slice does not come
/// to: of a loop over iterations, it may go through small tables alone. False: there are none.
bool leave_to_slice(Engine &engine, OpenNest &around, const pagecast_nest &d, core::Shape &shape) {
  bool any = false;
  uint32_t overwritten = around.overwritten.load(std::memory_order_relaxed);
  for (unsigned g = 0; g < d.groups; ++g) {
    const unsigned sliced = d.group[g].flags >> PAGECAST_SLICED_SHIFT;
    const bool stores = sliced && shape.group[g].overwrites;
    const uint32_t bit = sliced ? 1u << ((sliced - 1) & 31) : 0;
    overwritten = stores ? overwritten | bit : overwritten & ~bit;
    const bool ours = stores || (!shape.group[g].indirect && !may_bring(engine, around, core::reach_of(shape, shape.group[g])));
    any |= ours;
    if (!ours) shape.group[g].indirect = true;
  }
  around.overwritten.store(overwritten, std::memory_order_relaxed);
  return any;
}

/// What the slice needs. `shape` gets the sizes of its ranges. Returns true if the slice is worth running.
bool prepare_slice(Engine &engine, OpenNest &nest, const pagecast_nest &d, const uint64_t *args, core::Shape &shape) {
  bool sliced = false;
  nest.sliced.store(false, std::memory_order_relaxed);
  nest.covers = nest.advised = false;
  nest.pinned_count = 0;
  nest.dropped = 0;
  for (core::Extent &h : nest.hull) h = {};
  if (!d.slice || !slice_valid(d)) return false;
  const uint64_t *live = args + d.loops + d.groups * (1 + d.loops);
  for (unsigned i = 0; i < d.live; ++i) nest.live[i] = live[i];
  const bool ranges = find_ranges(nest, *d.slice);
  for (unsigned g = 0; g < d.groups; ++g) {
    if (!(d.group[g].flags & PAGECAST_INDIRECT)) continue;
    const uint64_t base = args[d.loops + g * (1 + d.loops)];
    Region r = base ? engine.look_up(base) : Region{};
    if (base && r.bytes == 0) r = engine.look_up(base + os::page_size()); // globals begin within a page
    if (base && r.bytes == 0) nest.dropped |= 1u << g;
    else if (base && nest.range_stage[g] == 0 && r.bytes <= engine.budget() / kSmallTargetShare)
      fetch_whole(engine, nest, g, r, d.group[g].flags & PAGECAST_WRITES);
    else sliced = true, nest.advised |= r.is_file() && !(d.group[g].flags & PAGECAST_WRITES);
    shape.group[g].scattered = nest.touch_stage[g] && !(nest.dropped >> g & 1);
  }
  nest.sliced.store(sliced, std::memory_order_relaxed);
  nest.covers = sliced && ranges;
  if (!nest.covers) return sliced;
  SliceSurvey survey;
  survey_slice(engine, d, nest.live, shape.trips, nest.dropped, &survey);
  shape.sliced_bytes = survey.iteration_bytes;
  shape.sliced_total = survey.total_bytes;
  for (unsigned g = 0; g < d.groups; ++g) nest.hull[g] = survey.hull[g];
  return true;
}

/// A slice that only reads, from files, runs further ahead: a hint passes through three threads before its read begins, and
/// nobody tells how long it took. 200,000 gathers from a file: 800 to 1,300 major faults instead of 2,000 to 2,900.
/// Ahead of stores it is places, not steps, that are looked at (core/faults/append_streams.h).
core::Conditions conditions_for(const Engine &engine, bool advised) {
  constexpr uint64_t kFurther = 4, kShare = 16; // of the budget
  core::Conditions c = engine.conditions();
  if (advised) c.queue_bytes = std::max(c.queue_bytes, std::min(kFurther * c.queue_bytes, c.budget / kShare));
  return c;
}

/// Everything that the nest touches is in memory: it needs no hints. Only worth asking for small nests.
bool all_resident(Engine &engine, const core::Shape &shape, const core::Nest &nest) {
  if (nest.plan().total_bytes > kFilteredNest) return false;
  for (unsigned g = 0; g < shape.groups; ++g) {
    const core::Group &group = shape.group[g];
    if (group.indirect) continue;
    const core::Extent e = core::reach_of(shape, group);
    if (e.empty() || e.size() > 4 * kFilteredNest || !engine.residency().next_absent(e, ~0ull >> 1).empty()) return false;
  }
  return true;
}

/// Nests whose steps are longer are never passed over: a part of a step is worth its hints.
constexpr uint64_t kLongStep = 1u << 20;
/// Nests that touch more are opened whether they ask for pages or not. To open one with a slice takes 20 us, as long as it
/// takes to go through a hundred pages.
constexpr uint64_t kShortNest = 1u << 20;

bool is_short_nest(const core::Shape &shape, const core::Nest &policy, bool sliced) {
  const uint64_t places = sliced ? iterations_of(shape.trips, shape.loops) : 0;
  const uint64_t bytes = core::saturating_add(policy.plan().total_bytes, shape.sliced_total);
  return core::saturating_add(bytes, core::saturating_mul(places, kPlaceBytes)) <= kShortNest;
}

/// The nest's word without a lock: threads that note something at the same time lose one of the two, nothing else.
core::EntryBackoff entry_backoff_of(const pagecast_nest &d) {
  return core::EntryBackoff(__atomic_load_n(d.cache, __ATOMIC_RELAXED) >> PAGECAST_WORD_SITE);
}
void note_entry_backoff(const pagecast_nest &d, uint64_t bits) {
  const uint64_t site = Statistics::site_in(__atomic_load_n(d.cache, __ATOMIC_RELAXED));
  if (site) __atomic_store_n(d.cache, site | bits << PAGECAST_WORD_SITE, __ATOMIC_RELAXED);
}
uint64_t missed(const Engine &engine) { return engine.statistics.not_prefetched.load(std::memory_order_relaxed); }

/// Nothing of the nest has begun: doing without it costs hints at most.
bool passed_over(Engine &engine, const pagecast_nest &d, const void *frame) {
  core::EntryBackoff backoff = entry_backoff_of(d);
  if (!backoff.passes_over()) return false;
  const uint32_t gap = backoff.gap();
  const bool entered = backoff.enters(missed(engine));
  note_entry_backoff(d, backoff.bits());
  if (entered) engine.statistics.nests_passed_over.fetch_add(gap, std::memory_order_relaxed); // those before it
  else close_stale(&d, frame);
  return !entered;
}

/// The program leaves the nest, somewhere in it or at its end.
void note_exit(const OpenNest &nest) {
  const Engine *engine = engine_in_charge.load(std::memory_order_acquire);
  if (!engine || (!nest.can_be_early && !nest.is_short)) return;
  core::EntryBackoff backoff = entry_backoff_of(*nest.description);
  const uint64_t before = backoff.bits();
  const bool early = nest.can_be_early && nest.step() == 0;
  if (early || (nest.is_short && nest.asks.load(std::memory_order_relaxed) == 0)) backoff.left_early(missed(*engine));
  else backoff.went_on();
  if (backoff.bits() != before) note_entry_backoff(*nest.description, backoff.bits());
}

/// All that there is of a small nest: it is not opened.
void enter_small(Engine &engine, const pagecast_nest &d, const uint64_t *args) {
  const bool worth = ask_for_rows(engine, d, args);
  core::EntryBackoff backoff = entry_backoff_of(d);
  const uint64_t before = backoff.bits();
  if (worth) backoff.went_on();
  else backoff.left_early(missed(engine));
  if (backoff.bits() != before) note_entry_backoff(d, backoff.bits());
}

/// Closes the nest if it is this thread's.
void finish(const pagecast_ticket *ticket) {
  const unsigned i = index_of(ticket);
  if (i == pagecast_open_count) return;
  note_exit(open_at(i));
  close_finished(i);
}

pagecast_ticket *open_nest(Engine &engine, const pagecast_nest &d, const uint64_t *args, const void *frame) {
  close_stale(&d, frame);
  OpenNest *around = covering(d, frame);
  OpenNest *nest = open_room() ? claim_nest() : nullptr;
  if (!nest) {
    engine.statistics.nests_declined.fetch_add(1, std::memory_order_relaxed);
    engine.poke(); // nests that are closing become free
    return nullptr;
  }
  auto give_back = [&](std::atomic<uint64_t> &counter) -> pagecast_ticket * {
    counter.fetch_add(1, std::memory_order_relaxed);
    nest->state.store(OpenNest::kFree, std::memory_order_release);
    return nullptr;
  };
  core::Shape &shape = nest->draft;
  if (!make_shape(engine, d, args, shape)) return give_back(engine.statistics.nests_declined);
  if (around && !leave_to_slice(engine, *around, d, shape)) return give_back(engine.statistics.nests_filtered);
  nest->description = &d;
  nest->sites = engine.statistics.sites_of(&d);
  const bool slice = prepare_slice(engine, *nest, d, args, shape);
  if (shape.sliced_bytes > engine.budget() / kSlicedShare) return give_back(engine.statistics.nests_declined);
  nest->policy.start(shape, conditions_for(engine, slice && nest->advised), os::now_ns());
  if (!slice && all_resident(engine, shape, nest->policy)) return give_back(engine.statistics.nests_filtered);
  nest->overwrite.start(shape, nest->policy.strip(), os::page_size());
  if (slice) {
    for (unsigned stage = 0; stage < d.slice->depths; ++stage) nest->slice_cursor[stage].start(shape, nest->policy.strip());
    nest->index_cursor.start(shape, nest->policy.strip());
    nest->writers = 0;
    for (unsigned g = 0; g < d.groups; ++g) nest->writers |= uint32_t((d.group[g].flags & PAGECAST_WRITES) != 0) << g;
    nest->trail.start(os::page_size(), engine.max_io(), engine.budget() / kTrailShare);
    nest->coalescer.start(engine.max_io() / 2);
  }
  nest->slice_wasted.store(0, std::memory_order_relaxed);
  nest->served.store(nullptr, std::memory_order_relaxed);
  nest->slices_run = 0;
  nest->seen_ns = nest->alone = nest->asked_pages = 0;
  nest->costs.store(nullptr, std::memory_order_relaxed);
  nest->overwritten.store(0, std::memory_order_relaxed);
  nest->slice_ahead.store(nest->policy.slice_distance(), std::memory_order_relaxed);
  nest->ticks.start(shape, nest->policy.strip());
  nest->last_tick = last_tick_of(d, shape.trips);
  nest->ticket = {0, nest->last_tick, shape.strips ? nest->policy.strip() : 1};
  nest->wake_at = 0;
  nest->freed_seen = 0;
  nest->started = false;
  nest->frame = frame;
  nest->ends = ends_of(d, shape.trips);
  nest->can_be_early = nest->policy.steps() > 1 && nest->policy.plan().step_bytes <= kLongStep;
  nest->asks.store(0, std::memory_order_relaxed);
  nest->is_short = is_short_nest(shape, nest->policy, slice);
  push_open(nest);
  nest->thread = static_cast<uint32_t>(os::thread_id());
  nest->serial = engine.statistics.nests_opened.fetch_add(1, std::memory_order_relaxed);
  nest->shared = ~0ull;
  nest->left_to_others = 0;
  nest->state.store(OpenNest::kOpen, std::memory_order_release);
  open_nest_mask.fetch_or(1u << number_of(nest), std::memory_order_seq_cst);
  engine.poke();
  if (slice) slicer_poke();
  return &nest->ticket;
}

} // namespace

void nests_start(Engine *engine) {
  watch_ends_of_threads();
  engine_in_charge.store(engine, std::memory_order_release);
}

} // namespace pagecast

using namespace pagecast;

extern "C" {

pagecast_opened pagecast_do_enter(const pagecast_nest *nest, const uint64_t *words, const void *frame) {
  const uint64_t *dynamic = nest->dynamic > PAGECAST_REGISTER_WORDS ? reinterpret_cast<const uint64_t *>(words[0]) : words;
  Engine *engine = engine_in_charge.load(std::memory_order_acquire);
  uint64_t trips;
  if (engine && !sandboxed_strictly() && passed_over(*engine, *nest, frame) && ticked_trips(*nest, dynamic, &trips))
    return {trips, nullptr};
  uint64_t args[kMostArguments];
  // Modules of another version have been refused: their gates are shut.
  if (!expand_args(*nest, dynamic, args)) return {0, nullptr};
  if (engine && !sandboxed_strictly() && is_small(*engine, *nest, args)) {
    enter_small(*engine, *nest, args);
    return {args[nest->ticked], nullptr};
  }
  // In strict mode a thread may not even ask for the time.
  pagecast_ticket *ticket = engine && !sandboxed_strictly() ? open_nest(*engine, *nest, args, frame) : nullptr;
  if (!engine && profile::is_on()) ticket = open_profiled(*nest, args, frame);
  const uint64_t all = args[nest->ticked];
  return {ticket && ticket->strip < all ? ticket->strip : all, ticket};
}

void pagecast_do_tick(pagecast_ticket *ticket) {
  const uint64_t step = ticket->step + 1; // the only writer
  __atomic_store_n(&ticket->step, step, __ATOMIC_RELEASE);
  if (__builtin_expect(step < __atomic_load_n(&ticket->wake, __ATOMIC_RELAXED), 1)) return;
  const uint64_t last = nest_of(ticket).last_tick;
  __atomic_store_n(&ticket->wake, last, __ATOMIC_RELAXED); // once; the pager sets the next
  if (step >= last) finish(ticket);
  Engine *engine = engine_in_charge.load(std::memory_order_acquire);
  if (engine) engine->poke();
  OpenNest &nest = nest_of(ticket);
  if (__builtin_expect(nest.served.load(std::memory_order_acquire) != nullptr, 0) && step < last && engine) meet(nest, *engine);
}

void pagecast_do_exit(pagecast_ticket *ticket) {
  // A nest inside this one may have been left open by a jump: it goes with it.
  const unsigned i = index_of(ticket);
  if (i == pagecast_open_count) return;
  note_exit(open_at(i));
  close_until(i);
}

// Whatever the ticket says, never more iterations than the program has left, and never none of some.
uint64_t pagecast_do_next(uint64_t at, uint64_t bound, pagecast_ticket *ticket) {
  pagecast_do_tick(ticket);
  if (at != bound) return ticket->strip - 1 < bound - at ? at + ticket->strip : bound;
  const unsigned i = index_of(ticket);
  if (i < pagecast_open_count && open_at(i).ends && --open_at(i).ends == 0) finish(ticket);
  return at;
}
}
