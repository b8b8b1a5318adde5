// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thesis's figures 5.6, 5.8 and 5.13: 428 pages in ten outer iterations, at three ratios of s_i (the time
// of one outer iteration) to the latency, with rows next to each other or not, under each schedule.
#pragma once
#include "simulator/simulator.h"
#include <vector>

namespace pagecast::simulator {

struct FigureCase {
  const char *figure;   ///< e.g. "5.6(b)"
  const char *schedule; ///< original, single, nested, continuous
  bool sequential;
  double ratio; ///< s_i / latency
  Hints hints;
  core::Schedule core_schedule;
};

inline constexpr uint64_t kFigureRows = 10;
inline constexpr uint64_t kFigureColumns = 21900; ///< doubles: 42.8 pages, 428 in all

/// s_i slightly larger than the latency; two thirds of it; at least two outer iterations needed.
inline constexpr double kRatioLarger = 1.05, kRatioTwoThirds = 2.0 / 3, kRatioTwoNeeded = 0.33;

const std::vector<FigureCase> &figure_cases();
Report run_figure(const FigureCase &);
/// For other values of what the figures vary.
Report run_rows(double ratio, bool sequential, Hints, core::Schedule);

} // namespace pagecast::simulator
