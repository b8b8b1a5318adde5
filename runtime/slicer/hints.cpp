// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slicer/hints.h"

#include "runtime/slicer/slicer.h"
#include "runtime/kernel/os.h"

namespace pagecast {
namespace {

uint32_t pages_of(core::Extent e) { return static_cast<uint32_t>(e.size() >> os::page_shift()); }

} // namespace

bool SliceHints::page(unsigned group, uint64_t page) {
  const core::Extent e{page, page + os::page_size()}, before = nest_.trail.waiting(group);
  if (nest_.dropped >> group & 1 || page - before.begin < before.size()) return true;
  count(e);
  return found(group, nest_.trail.add(group, e, step_));
}

bool SliceHints::range(unsigned group, uint64_t begin, uint64_t end) {
  if (repeats_ || nest_.dropped >> group & 1) return true;
  return found(group, nest_.trail.add(group, {begin, end}, step_));
}

bool SliceHints::found(unsigned group, core::Extent e) {
  if (e.empty() || overwritten(group)) return true;
  if (e.size() == os::page_size() && nest_.touch_stage[group])
    return engine_.residency().test(e.begin) || ask(group, e, writes(group));
  if (e.size() >= engine_.max_io()) return ask_absent(group, e);
  if (engine_.residency().next_absent(e, os::page_size()).empty()) return true; // a column of a matrix most of which is there
  core::Coalescer::Request full;
  if (!nest_.coalescer.add({e, nest_.trail.taken_since(), group, writes(group)}, &full)) return true;
  return ask_absent(full);
}

bool SliceHints::ask_found(uint64_t by) {
  return nest_.coalescer.take(by, [this](const core::Coalescer::Request &request) { return ask_absent(request); });
}

bool SliceHints::wanted() { return nest_.state.load(std::memory_order_relaxed) == OpenNest::kOpen && !slicer_waited_for(); }

bool SliceHints::region(uint64_t address, uint64_t *begin, uint64_t *end) {
  const Region r = engine_.look_up(address);
  *begin = r.base;
  *end = r.end();
  return r.bytes != 0;
}

uint64_t SliceHints::look_ahead(uint64_t address) { return engine_.look_up(address).look_ahead; }

bool SliceHints::page_ahead(unsigned group, uint64_t page) {
  const Region r = engine_.look_up(page);
  if (nest_.dropped >> group & 1 || r.bytes == 0 || page == r.base) return true;
  if (r.is_file()) return engine_.residency().test(page) || tell(group, {page, page + os::page_size()}, writes(group));
  const PageState state = engine_.state_of(r, page), before = engine_.state_of(r, page - os::page_size());
  if (state != PageState::kZero && (state != PageState::kAbsent || before == PageState::kAbsent)) return true;
  return tell(group, {page, page + os::page_size()}, writes(group));
}

bool SliceHints::ask_absent(const core::Coalescer::Request &request) {
  core::Extent e = request.extent;
  while (!e.empty()) {
    const Region r = engine_.look_up(e.begin);
    if (r.bytes == 0) { // the ends of arrays may lie outside
      e.begin += os::page_size();
      if (++outside_ > kMostOutside) return true;
      continue;
    }
    const core::Extent here{e.begin, r.end() < e.end ? r.end() : e.end};
    const core::Extent absent = engine_.residency().next_absent(here, engine_.max_io());
    if (absent.empty()) e.begin = here.end;
    else if (!ask(request.group, absent, request.write)) return false;
    else e.begin = absent.end;
  }
  return true;
}

void SliceHints::release_passed(uint64_t program_step) {
  unsigned group;
  core::Extent e;
  while (nest_.trail.passed(program_step, &group, &e))
    engine_.slice_hint({e.begin, pages_of(e), Hint::kRelease, 0, site_of(group), static_cast<uint32_t>(step_), number()});
}

/// A page that must be read, and that is no neighbour of what was asked for before: nothing but the slice foresees it.
bool SliceHints::is_alone(unsigned group, core::Extent e) {
  core::Extent &before = nest_.asked[group];
  const bool near = e.begin <= before.end + os::page_size() && before.begin <= e.end + os::page_size();
  before = e;
  if (near || e.size() > os::page_size()) return false;
  const Region r = engine_.look_up(e.begin);
  return r.bytes != 0 && (r.is_file() || engine_.state_of(r, e.begin) == PageState::kAbsent);
}

/// Pages that a slice found absent.
bool SliceHints::ask(unsigned group, core::Extent e, bool write) {
  if (overwritten(group)) return true;
  const bool alone = is_alone(group, e);
  if (!tell(group, e, write)) return false;
  nest_.alone += alone;
  if (window_) window_->add(step_, pages_of(e));
  return true;
}

/// They are marked at once, so that they are asked for once. Waits for room.
bool SliceHints::tell(unsigned group, core::Extent e, bool write) {
  engine_.residency().set(e);
  const Hint hint{e.begin, pages_of(e), write ? Hint::kFetchWrite : Hint::kFetch, 0, site_of(group), static_cast<uint32_t>(step_),
                  number()};
  while (!engine_.slice_hint(hint)) {
    if (!wanted()) {
      engine_.residency().clear(e);
      return false;
    }
    engine_.poke();
    os::sleep(50000);
  }
  if (nest_.touch_stage[group] || nest_.range_stage[group]) nest_.asked_pages += pages_of(e); // others need no slice
  return true;
}

void SliceHints::count(core::Extent e) {
  const Region r = engine_.look_up(e.begin);
  if (r.is_file()) absent_ += pages_of(e); // of a file: the residency map knows no more
  for (uint64_t page = e.begin; !r.is_file() && page < e.end && page < r.end(); page += os::page_size()) {
    const PageState state = engine_.state_of(r, page);
    absent_ += state == PageState::kAbsent || state >= PageState::kClean; // in memory, but about to go
    untouched_ += state == PageState::kZero;
  }
}

} // namespace pagecast
