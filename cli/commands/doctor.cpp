// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pagecast doctor: everything that Pagecast needs of a host, asked and answered one a line.
#include "cli/commands/commands.h"
#include "cli/machine/disk.h"
#include "cli/machine/filesystem.h"
#include "cli/machine/memory.h"
#include "cli/machine/probes.h"
#include "cli/programs/paths.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>
#include <vector>

namespace pagecast::cli {
namespace {

struct Report {
  std::vector<Check> checks;
  std::string backing;
  std::vector<std::pair<std::string, DiskRates>> disks; ///< by directory, as far as they could be measured
};

std::string backingDirectory() {
  for (const char *name : {"PAGECAST_BACKING", "TMPDIR"})
    if (const auto directory = environment(name)) return *directory;
  return "/var/tmp";
}

bool existsAsDirectory(const std::string &path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none);
}

const char *word(Status status) { return status == Status::kOk ? "ok" : status == Status::kWarn ? "warn" : "fail"; }

/// On a terminal, says what takes so long, in a line that vanishes.
void showProgress(const char *what) {
  if (isatty(STDERR_FILENO)) std::fprintf(stderr, *what ? "\r\033[Kmeasuring the disk: %s ..." : "\r\033[K%s", what);
}

Check measure(Report &report, const std::string &directory, const std::string &where, double seconds) {
  try {
    const DiskRates rates = measureDisk(directory, seconds, showProgress);
    report.disks.emplace_back(directory, rates);
    showProgress("");
    char text[160];
    std::snprintf(text, sizeof text, "reads %.0f MB/s, writes %.0f MB/s, %.0f random 4 KiB reads/s", rates.sequentialRead / 1e6,
                  *rates.sequentialWrite / 1e6, rates.randomRead);
    return {"disk", Status::kOk, text + where, ""};
  } catch (const Failure &failure) {
    showProgress("");
    return {"disk", Status::kWarn, "not measured: " + failure.sentence, "see backing, direct I/O and io_uring"};
  }
}

/// An export is only read, since what it holds may be somebody's.
Check probeServer(const std::string &address) {
  try {
    const ExportRates found = measureExport(address, 0);
    return {"backing", Status::kOk,
            address + ", " + showSize(found.bytes) + " over " + std::to_string(found.connections) +
                (found.connections == 1 ? " connection" : " connections"),
            ""};
  } catch (const Failure &failure) {
    return {"backing", Status::kFail, address + ": " + failure.sentence, "name a server that answers, in PAGECAST_BACKING"};
  }
}

Check measureServer(Report &report, const std::string &address, double seconds) {
  try {
    showProgress("a server");
    const ExportRates found = measureExport(address, seconds);
    report.disks.emplace_back(address, DiskRates{std::nullopt, found.sequentialRead, found.randomRead});
    showProgress("");
    char text[160];
    std::snprintf(text, sizeof text, "reads %.0f MB/s, %.0f random 4 KiB reads/s from ", found.sequentialRead / 1e6,
                  found.randomRead);
    return {"disk", Status::kOk, text + address, ""};
  } catch (const Failure &failure) {
    showProgress("");
    return {"disk", Status::kWarn, "not measured: " + failure.sentence, "see backing"};
  }
}

Report examine(const DoctorOptions &options) {
  Report report;
  report.backing = options.backing.empty() ? backingDirectory() : options.backing;
  report.checks = {probeKernel(),       probeUserfaultfd(),    probeUserfaultfdFeatures(),
                   probeIoUring(),      probeProcessMadvise(), probeBackEnds(),
                   probeControlGroup(), probeMemory(),         probeLimit(),
                   probeSwap(),         probeClang(),          probeFlang(),
                   probeRuntime(),      probeSpeculation()};
  const std::vector<std::string> backings = backingParts(report.backing);
  auto after = std::find_if(report.checks.begin(), report.checks.end(), [](const Check &c) { return c.name == "swap"; }) + 1;
  for (const std::string &backing : backings) {
    if (isAddress(backing)) {
      after = report.checks.insert(after, probeServer(backing)) + 1;
      continue;
    }
    after = report.checks.insert(after, probeBacking(backing)) + 1;
    if (!existsAsDirectory(backing)) continue; // which has just been said
    after = report.checks.insert(after, probeDirectIo(backing)) + 1;
  }
  for (const std::string &backing : backings)
    if (!options.noDisk && (isAddress(backing) || existsAsDirectory(backing)))
      report.checks.push_back(isAddress(backing)
                                  ? measureServer(report, backing, options.diskSeconds)
                                  : measure(report, backing, backings.size() > 1 ? " in " + backing : "", options.diskSeconds));
  return report;
}

bool isHealthy(const Report &report) {
  return std::none_of(report.checks.begin(), report.checks.end(), [](const Check &c) { return c.status == Status::kFail; });
}

const char *verdict(const Report &report) {
  if (!isHealthy(report)) return "Pagecast cannot work here until what failed is mended.";
  const auto pager =
      std::find_if(report.checks.begin(), report.checks.end(), [](const Check &c) { return c.name == "back ends"; });
  return pager->status == Status::kOk ? "Pagecast can work here."
                                      : "Pagecast can work here, without its pager: large data will live in a file, which the "
                                        "kernel pages with advice.";
}

void printText(const Report &report) {
  for (const Check &check : report.checks) {
    std::printf("%-4s  %-20s  %s\n", word(check.status), check.name.c_str(), check.detail.c_str());
    if (!check.advice.empty()) std::printf("%-4s  %-20s  -> %s\n", "", "", check.advice.c_str());
  }
  std::puts(verdict(report));
}

nlohmann::json toJson(const Report &report) {
  nlohmann::json out = {{"version", PAGECAST_VERSION}, {"healthy", isHealthy(report)}, {"checks", nlohmann::json::array()}};
  for (const Check &check : report.checks)
    out["checks"].push_back(
        {{"name", check.name}, {"status", word(check.status)}, {"detail", check.detail}, {"advice", check.advice}});
  const Memory memory = machineMemory();
  out["memory"] = {{"total_bytes", memory.total}, {"available_bytes", memory.available}, {"swap_bytes", memory.swapTotal}};
  const ControlGroup group = memoryControlGroup();
  out["cgroup"] = {{"version", group.version}, {"limit_bytes", nullptr}};
  if (group.limit) out["cgroup"]["limit_bytes"] = *group.limit;
  const MemoryLimit limit = memoryLimit();
  out["limit"] = {{"budget_bytes", limit.budget}, {"cap_bytes", nullptr}, {"pools", nlohmann::json::array()}};
  if (limit.cap) out["limit"]["cap_bytes"] = *limit.cap;
  for (const core::Pool &pool : limit.pools)
    out["limit"]["pools"].push_back({{"machine", pool.machine},
                                     {"size_bytes", pool.size},
                                     {"free_bytes", pool.free},
                                     {"reserve_bytes", core::reserve(pool)}});
  out["backing"] = report.backing;
  out["disk"] = nullptr;
  out["disks"] = nlohmann::json::array(); // of which the first is "disk"
  for (const auto &[directory, rates] : report.disks) {
    nlohmann::json disk = {
        {"read_bytes_per_s", rates.sequentialRead}, {"write_bytes_per_s", nullptr}, {"random_reads_per_s", rates.randomRead}};
    if (rates.sequentialWrite) disk["write_bytes_per_s"] = *rates.sequentialWrite;
    if (out["disk"].is_null()) out["disk"] = disk;
    disk["directory"] = directory;
    out["disks"].push_back(disk);
  }
  return out;
}

} // namespace

int doctor(const DoctorOptions &options) {
  const Report report = examine(options);
  if (options.json)
    // Names of files need not be UTF-8: what is not is replaced, not thrown at.
    std::puts(toJson(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  else printText(report);
  return isHealthy(report) ? 0 : 1;
}

} // namespace pagecast::cli
