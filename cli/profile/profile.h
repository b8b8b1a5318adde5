// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile: who touched which blocks of which file in each phase, and when (PACT 2008, section 4.2 and figure 4).
#pragma once
#include "core/sharing/reference.h"
#include "core/sharing/touch_records.h"
#include <cstdint>
#include <string>
#include <vector>

namespace pagecast::cli {

/// Blocks that follow each other.
struct BlockRange {
  uint64_t first = 0, count = 0;
};
/// ... in an epoch; in pieces of the data set's grain.
struct EpochRange {
  uint32_t epoch = 0;
  uint64_t first = 0, count = 0;
};

/// A rank, or one of its threads, or a process that has no rank.
struct Member {
  std::string name; ///< "3", or "3.1" for the second thread of rank 3
  int64_t rank = -1;
  uint32_t process = 0, thread = 0;
  bool isFinished = true; ///< false: it ended in the middle of a nest
};

struct ProfileDataSet {
  std::string path;
  uint64_t bytes = 0;
  uint64_t blocks() const;
  uint64_t grain() const; ///< blocks: of the picture, not of the densities
};

struct Touched {
  uint32_t member = 0, dataSet = 0;
  std::vector<BlockRange> blocks;
  std::vector<EpochRange> epochs;
};

struct ProfilePhase {
  std::string name; ///< tells it from all others, and is the same in each run of the program
  std::string function, file;
  uint32_t line = 0;
  bool isNest = false;
  uint32_t references = 0, unseen = 0;
  uint32_t firstEpoch = 0, lastEpoch = 0;
  uint32_t number = 0; ///< in the order in which they were found
  std::vector<Touched> touched;
};

/// What one reference of a nest touches each time that a member enters it, or one read. Seconds since the start.
struct ProfileEntry {
  uint32_t member = 0, phase = 0, dataSet = 0;
  double begin = 0, end = 0;
  core::Stored stored = core::Stored::kNo;
  core::Reference reference;
};

struct Profile {
  std::string file; ///< that it was read from
  std::string program;
  double seconds = 0;
  uint32_t epochs = 0;
  uint64_t dropped = 0;
  std::vector<Member> members;
  std::vector<ProfileDataSet> dataSets;
  std::vector<ProfilePhase> phases; ///< in the order in which they began
  std::vector<ProfileEntry> entries; ///< where they are asked for; they are not read again
};

/// Writes it as JSON. Throws Failure.
void writeProfile(const Profile &, const std::string &file);
/// Throws Failure if the file is none that writeProfile() has written.
Profile readProfile(const std::string &file);

/// Phases of the same function become one: the paper's phases. Their order is that of the first of each.
Profile byFunction(const Profile &);

} // namespace pagecast::cli
