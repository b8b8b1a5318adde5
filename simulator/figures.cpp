// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/figures.h"
#include "simulator/workload.h"
#include <cmath>

namespace pagecast::simulator {

const std::vector<FigureCase> &figure_cases() {
  using core::Schedule;
  constexpr Schedule kS = Schedule::kSingle, kN = Schedule::kNested, kC = Schedule::kContinuous;
  constexpr Hints core = Hints::kCore, original = Hints::kOriginal;
  static const std::vector<FigureCase> cases = {
      {"5.6(a)", "original", true, kRatioLarger, original, kS},     {"5.6(b)", "nested", true, kRatioLarger, core, kN},
      {"5.6(c)", "original", true, kRatioTwoThirds, original, kS},  {"5.6(d)", "nested", true, kRatioTwoThirds, core, kN},
      {"5.6(e)", "original", true, kRatioTwoNeeded, original, kS},  {"5.6(f)", "nested", true, kRatioTwoNeeded, core, kN},
      {"5.8(a)", "nested", false, kRatioTwoThirds, core, kN},       {"5.8(b)", "nested", false, kRatioTwoNeeded, core, kN},
      {"5.8(c)", "original", false, kRatioTwoThirds, original, kS}, {"5.8(d)", "original", false, kRatioTwoNeeded, original, kS},
      {"5.8(e)", "single", false, kRatioTwoThirds, core, kS},       {"5.8(f)", "single", false, kRatioTwoNeeded, core, kS},
      {"5.13", "continuous", true, kRatioLarger, core, kC},         {"5.13", "continuous", true, kRatioTwoThirds, core, kC},
      {"5.13", "continuous", true, kRatioTwoNeeded, core, kC},      {"5.13", "continuous", false, kRatioTwoThirds, core, kC},
      {"5.13", "continuous", false, kRatioTwoNeeded, core, kC},
  };
  return cases;
}

Report run_rows(double ratio, bool sequential, Hints hints, core::Schedule schedule) {
  Machine m;
  m.frames = 4096; // nothing is evicted: replacement is not what these figures are about
  m.latency = uint64_t(std::llround(double(kFigureColumns) / ratio));
  m.fixed_distance = m.latency; // a step is one iteration, which is one cycle
  m.hints = hints;
  m.schedule = schedule;
  return simulate(rows(kFigureRows, kFigureColumns, sequential), m);
}

Report run_figure(const FigureCase &c) { return run_rows(c.ratio, c.sequential, c.hints, c.core_schedule); }

} // namespace pagecast::simulator
