// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the processes of a program wrote while a profile was taken (core/sharing/touch_records.h), as it was written.
#pragma once
#include "core/sharing/reference.h"
#include "core/sharing/touch_records.h"
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace pagecast::cli {

/// A phase as one process has it: a nest, or a function that reads.
struct PartPhase {
  bool isNest = false;
  std::string file, function; ///< of a function that reads, the program, and nothing
  uint32_t line = 0;          ///< 0: unknown
  uint32_t references = 0, unseen = 0;
  uint64_t offset = 0; ///< in the program, of a function that reads
};

struct PartDataSet {
  std::string path;
  uint64_t bytes = 0;
};

/// An entry of a nest, or a read. Times are ns since 1970.
struct PartTouch {
  uint32_t thread = 0, phase = 0, dataSet = 0; ///< the last two are indices into the vectors below
  uint64_t begin = 0, end = 0;                 ///< end 0: the process has ended in it
  core::Reference reference;
  core::Stored stored = core::Stored::kNo;
};

struct Part {
  std::string program;
  uint32_t process = 0;
  int64_t rank = -1; ///< -1: not told
  uint64_t begin = 0, end = 0;
  uint64_t dropped = 0;
  std::vector<PartPhase> phases;
  std::vector<PartDataSet> dataSets;
  std::vector<PartTouch> touches;
};

/// Reads all files of the directory. One that is not whole is read as far as it goes.
std::vector<Part> readParts(const std::filesystem::path &directory);

/// The name of the function that has the byte at `offset` of a program, as its table of symbols has it; "" if that is not known.
std::string functionAt(const std::string &program, uint64_t offset);

} // namespace pagecast::cli
