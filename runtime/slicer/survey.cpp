// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slicer/survey.h"

#include "runtime/kernel/floating_environment.h"

#include "core/arithmetic.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/sandbox.h"
#include "runtime/engine/engine.h"
#include "runtime/slices/machine.h"
#include "runtime/slicer/reader.h"

namespace pagecast {
namespace {

constexpr uint64_t kWork = 100000; ///< of one iteration

std::atomic<bool> busy{false};
SliceMachine machine;
SliceReader reader;

/// Adds the ranges of one iteration up instead of asking for them.
class Survey final : public SliceSink {
public:
  Survey(SliceSurvey *out, uint32_t ignored) : out_(out), ignored_(ignored) {}
  bool page(unsigned, uint64_t) override { return true; }
  bool region(uint64_t, uint64_t *, uint64_t *) override { return false; }
  bool range(unsigned group, uint64_t begin, uint64_t end) override {
    if (ignored_ >> group & 1) return true;
    bytes += added(begin, end);
    core::Extent &h = out_->hull[group];
    h = h.empty() ? core::Extent{begin, end} : core::Extent{core::least(h.begin, begin), core::most(h.end, end)};
    return true;
  }
  uint64_t bytes = 0;

private:
  static constexpr unsigned kParts = 16;
  SliceSurvey *out_;
  uint32_t ignored_;
  core::Extent part_[kParts];
  unsigned parts_ = 0;

  /// How much of it is new: what is read and written back counts once. Exact for a few parts.
  uint64_t added(uint64_t begin, uint64_t end) {
    for (unsigned i = 0; i < parts_; ++i) {
      core::Extent &p = part_[i];
      if (begin > p.end || end < p.begin) continue;
      const core::Extent both{core::least(begin, p.begin), core::most(end, p.end)};
      const uint64_t more = both.size() - p.size();
      p = both;
      return more;
    }
    if (parts_ < kParts) part_[parts_++] = {begin, end};
    return end - begin;
  }
};

} // namespace

void survey_slice(Engine &engine, const pagecast_nest &d, const uint64_t *live, const uint64_t *all_trips, uint32_t ignored,
                  SliceSurvey *out) {
  *out = {};
  uint64_t last[PAGECAST_MAX_LOOPS] = {};
  for (unsigned k = 0; k < d.loops; ++k) {
    if (all_trips[k] == 0) return;
    last[k] = all_trips[k] - 1;
  }
  const uint64_t trips = all_trips[d.loops - 1];
  if (sandboxed()) return; // to copy what is read may be deadly on the program's thread
  if (busy.exchange(true, std::memory_order_acquire)) return;
  const DefaultFloating floating; // this is the program's thread
  if (reader.start(engine, true)) {
    const SliceFilter filter{engine.residency().origin(), os::page_shift()};
    const uint64_t first[PAGECAST_MAX_LOOPS] = {};
    const struct {
      const uint64_t *outer;
      uint64_t at;
    } samples[] = {{first, 0}, {first, trips / 2}, {first, trips - 1}, {last, 0}, {last, trips - 1}};
    for (const auto &sample : samples) {
      if (d.loops == 1 && sample.outer == last) break;
      reader.forget();
      Survey survey(out, ignored);
      uint64_t work = kWork;
      const SliceCall call{&d, live, sample.outer, sample.at, 1, 1};
      // An iteration of which only a part was seen is a long one.
      if (machine.run(call, filter, reader, survey, &work) != SliceOutcome::kDone)
        survey.bytes = core::saturating_mul(survey.bytes, 4);
      out->iteration_bytes = core::most(out->iteration_bytes, survey.bytes);
    }
    for (const core::Extent &h : out->hull) out->total_bytes = core::saturating_add(out->total_bytes, h.size());
    // Rows that follow each other: the mean says more than three of them.
    if (d.loops == 1 && out->total_bytes / trips < out->iteration_bytes) {
      const uint64_t mean = out->total_bytes / trips;
      out->iteration_bytes = core::most(mean, out->iteration_bytes / 4);
    }
  }
  busy.store(false, std::memory_order_release);
}

} // namespace pagecast
