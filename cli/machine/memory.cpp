// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/machine/memory.h"
#include "cli/programs/paths.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include "runtime/kernel/os.h"
#include "runtime/state/options.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace fs = std::filesystem;

namespace pagecast::cli {

namespace {

/// Version 1 writes "no limit" as the largest number of pages.
constexpr uint64_t kUnlimited = uint64_t{1} << 60;

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) out.push_back(part);
  return out;
}

bool contains(const std::vector<std::string> &list, const std::string &word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// A mounted control group hierarchy: `root` of it is seen at `point`.
struct Mount {
  std::string root, point;
};

/// The mount of the memory controller (version 1) or of the unified hierarchy (version 2).
std::optional<Mount> findMount(int version) {
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto fields = split(line.substr(0, dash), ' ');
    const auto tail = split(line.substr(dash + 3), ' ');
    if (fields.size() < 5 || tail.size() < 3) continue;
    const bool right = version == 2 ? tail[0] == "cgroup2" : tail[0] == "cgroup" && contains(split(tail[2], ','), "memory");
    if (right) return Mount{fields[3], fields[4]};
  }
  return std::nullopt;
}

/// The path of this process in a hierarchy, from /proc/self/cgroup.
std::optional<std::string> ownPath(int version) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version == 2 ? controllers.empty() : contains(split(controllers, ','), "memory")) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::optional<uint64_t> readLimit(const fs::path &file) {
  std::ifstream stream(file);
  uint64_t limit = 0;
  if (!(stream >> limit) || limit >= kUnlimited) // "max" does not read as a number
    return std::nullopt;
  return limit;
}

/// The directory of a path that /proc/self/cgroup gives, in the mount (which may show a part only).
fs::path inMount(const Mount &mount, std::string path) {
  if (mount.root != "/" && path.rfind(mount.root, 0) == 0) path.erase(0, mount.root.size());
  return fs::path(mount.point) / fs::path(path).relative_path();
}

ControlGroup groupOf(int version, const Mount &mount, const std::string &path) {
  ControlGroup out{version, path, std::nullopt};
  const char *name = version == 2 ? "memory.max" : "memory.limit_in_bytes";
  for (fs::path at = inMount(mount, path);; at = at.parent_path()) {
    if (const auto limit = readLimit(at / name)) out.limit = std::min(out.limit.value_or(kUnlimited), *limit);
    if (at == fs::path(mount.point) || at == at.parent_path()) return out;
  }
}

} // namespace

Memory machineMemory() {
  Memory out;
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (uint64_t value = 0; file >> name >> value; std::getline(file, unit)) {
    const uint64_t bytes = value * 1024;
    if (name == "MemTotal:") out.total = bytes;
    else if (name == "MemAvailable:") out.available = bytes;
    else if (name == "SwapTotal:") out.swapTotal = bytes;
    else if (name == "SwapFree:") out.swapFree = bytes;
  }
  return out;
}

ControlGroup memoryControlGroup() {
  for (const int version : {1, 2}) { // where both are mounted, version 1 has the memory controller
    const auto mount = findMount(version);
    const auto path = ownPath(version);
    if (mount && path) return groupOf(version, *mount, *path);
  }
  return {};
}

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
