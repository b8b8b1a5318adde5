// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that a program which starts now would get, by the run-time layer's own rule (core/memory/limit.h).
#pragma once
#include "cli/machine/probes.h"
#include "core/memory/limit.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace pagecast::cli {

struct MemoryLimit {
  std::optional<uint64_t> cap; ///< PAGECAST_MEMORY, bytes; none = auto
  std::vector<core::Pool> pools;
  uint64_t budget = 0; ///< bytes
};

MemoryLimit memoryLimit();
Check probeLimit();

} // namespace pagecast::cli
