// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of the machine, and how much of it this process may use.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace pagecast::cli {

struct Memory {
  uint64_t total = 0;
  uint64_t available = 0;
  uint64_t swapTotal = 0;
  uint64_t swapFree = 0;
};

Memory machineMemory();

struct ControlGroup {
  int version = 0; ///< 1 or 2; 0 = no memory controller is visible
  std::string path;
  std::optional<uint64_t> limit; ///< the smallest on the way up the tree; none = unlimited
};

ControlGroup memoryControlGroup();

} // namespace pagecast::cli
