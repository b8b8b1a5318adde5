// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run that was recorded (`pagecast profile --entries`), as the simulation makes it again: which pages each member touches, step by
// step, and where all meet.
//
// Nobody recorded where members meet, but it can be seen: at some time no nest is open, and each member has had one since the
// last such time. What is between two meetings is a leg.
//
// Members that were recorded shared their processors. A nest's time counts by its part of these: where eight nests are open on two
// processors, a quarter of it.
#pragma once
#include "core/sharing/reference.h"
#include "core/sharing/touch_records.h"
#include <cstdint>
#include <vector>

namespace pagecast::simulator {

struct RecordedReference {
  core::Stored stored = core::Stored::kNo;
  core::Reference reference; ///< in all data sets, which follow each other
};

/// Of a nest, with what each of its references touches.
struct RecordedEntry {
  uint32_t member = 0, phase = 0;
  uint64_t begin = 0, end = 0; ///< microseconds
  std::vector<RecordedReference> references;
};

struct RecordedRun {
  uint32_t members = 0;
  uint64_t bytes = 0; ///< of all data sets
  std::vector<RecordedEntry> entries; ///< in the order in which they began
};

/// An entry of a member in a leg.
struct Visit {
  const RecordedEntry *entry = nullptr;
  uint32_t occurrence = 0; ///< of that phase, for the member, in the leg
  uint64_t micros = 0; ///< of a processor
};

struct Leg {
  std::vector<std::vector<Visit>> of; ///< of each member, in order
  uint64_t pause = 0; ///< between it and the next one, microseconds
};

std::vector<Leg> legs_of(const RecordedRun &, uint32_t processors);

/// A page that a step touches.
struct PageTouch {
  uint64_t page;
  core::Stored stored;
};
using Step = std::vector<PageTouch>;

/// What the entry touches, in steps of a few pages.
std::vector<Step> steps_of(const RecordedEntry &, uint64_t page, uint64_t bytes);

/// The bytes from the first to the last one that a reference touches.
uint64_t reach_of(const core::Reference &);

} // namespace pagecast::simulator
