// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The statistics that the runtime writes when a program ends (docs/statistics.md), as far as they
// can be told of a line.
#pragma once
#include "cli/explain/record.h"
#include <cstdint>
#include <optional>

namespace pagecast::cli {

/// The version of the format that can be read here.
inline constexpr int kStatisticsVersion = 1;

/// Named counts in the order of the file. Which there are is the runtime's business.
using Counts = std::vector<std::pair<std::string, uint64_t>>;

/// What was measured for one group of references of one nest.
struct Site {
  SourceLocation at; ///< line 0: compiled without debug information, or hints by hand
  std::string function, name;
  bool indirect = false;
  Counts counts;
};

/// What the slice of one nest cost, and what it brought.
struct MeasuredSlice {
  SourceLocation at; ///< of its first indirect group, without a column
  std::string function;
  double cpuSeconds = 0; ///< of the slicer and the pager
  double waitedSeconds = 0;
  std::optional<double> savedSeconds; ///< nothing: it was never compared
  uint64_t trials = 0, switchedOff = 0;
  bool isOff = false; ///< at the end
};

struct MeasuredRun {
  std::string path;     ///< of the file
  std::string pagecast; ///< the version that ran
  std::string program;  ///< its path; empty where that is not known
  uint64_t compiledLibraries = 0; ///< modules with hints that are not the program's own
  bool hintsWereOn = true;
  bool active = false;  ///< something was paged
  std::string whyNot;
  bool finished = true; ///< written at the program's end, and not before
  bool compiled = true; ///< some part of the program was compiled with pagecast
  double wallSeconds = 0;
  std::optional<double> stallSeconds; ///< nothing: not measured, as the kernel served the faults
  std::vector<std::pair<std::string, double>> stallByKind; ///< seconds, by the names of the file without their _s; may be empty
  bool isAdvised = false;       ///< the kernel pages the memory, with our advice: there is no userfaultfd
  uint64_t majorFaults = 0;     ///< of the whole process: faults that read
  uint64_t timesWithoutRoom = 0; ///< that the backing store had none for data
  double secondsWithoutRoom = 0;
  uint64_t dataBytes = 0; ///< the most that regions held at a time; 0: not known
  uint64_t readBytes = 0, writtenBytes = 0;
  Counts faults, faultStreams;
  std::vector<Site> sites;
  std::vector<MeasuredSlice> slices;
};

/// The count of that name; 0 where there is none.
uint64_t countOf(const Counts &, const char *name);

/// The share of the pages read that were asked for before the program came to them; none where nothing was read.
std::optional<double> foreseenShare(const MeasuredRun &);

/// Throws Failure when the file is absent, no statistics, or of another version.
MeasuredRun readRun(const std::string &path);

} // namespace pagecast::cli
