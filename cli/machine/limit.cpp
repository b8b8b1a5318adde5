// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/machine/limit.h"
#include "cli/programs/paths.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include "runtime/kernel/os.h"
#include "runtime/state/options.h"

namespace pagecast::cli {
namespace {

std::optional<uint64_t> userCap() {
  const auto given = environment("PAGECAST_MEMORY");
  if (!given || *given == "auto") return std::nullopt;
  try {
    return parseSize(*given, "PAGECAST_MEMORY");
  } catch (const Failure &) {
    return std::nullopt; // the run-time layer says so, and goes on without
  }
}

/// A group without a limit of its own is as large as the machine or larger.
bool bounds(const core::Pool &pool, const MemoryLimit &limit) { return pool.machine || pool.size < limit.pools.front().size; }

} // namespace

MemoryLimit memoryLimit() {
  MemoryLimit out;
  out.cap = userCap();
  os::MemoryWatch watch;
  core::Pool pools[core::kMostPools];
  watch.open();
  const unsigned n = watch.look(pools);
  watch.close();
  out.pools.assign(pools, pools + n);
  core::Limit limit;
  limit.start(out.cap.value_or(kAuto), kLeastMemory);
  limit.update(1, 0, pools, n);
  out.budget = limit.budget();
  return out;
}

Check probeLimit() {
  const MemoryLimit limit = memoryLimit();
  std::string detail = showSize(limit.budget) + " for large data now";
  if (limit.cap) detail += "; PAGECAST_MEMORY " + showSize(*limit.cap);
  for (const core::Pool &pool : limit.pools)
    if (bounds(pool, limit))
      detail += std::string("; ") + (pool.machine ? "machine" : "cgroup") + ": " + showSize(pool.free) + " free of " +
                showSize(pool.size) + ", less " + showSize(core::reserve(pool));
  if (limit.budget <= kLeastMemory)
    return {"limit", Status::kWarn, detail, "end other programs: no program gets less than this, but it is little"};
  return {"limit", Status::kOk, detail, ""};
}

} // namespace pagecast::cli
