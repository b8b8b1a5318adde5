// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of the machine, and how much of it this process may use.
#pragma once
#include "cli/machine/probes.h"
#include "core/memory/limit.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

// The memory that a program which starts now would get, by the run-time layer's own rule (core/memory/limit.h).

struct MemoryLimit {
  std::optional<uint64_t> cap; ///< PAGECAST_MEMORY, bytes; none = auto
  std::vector<core::Pool> pools;
  uint64_t budget = 0; ///< bytes
};

MemoryLimit memoryLimit();
Check probeLimit();

} // namespace pagecast::cli
