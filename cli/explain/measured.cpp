// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/explain/measured.h"
#include "cli/text/contents.h"
#include "cli/text/message.h"
#include <nlohmann/json.hpp>

namespace pagecast::cli {
namespace {

using Json = nlohmann::ordered_json; // keeps the order of the counts

/// A text, or nothing for null and absence.
std::string text(const Json &object, const char *key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Counts countsIn(const Json &object) {
  Counts out;
  for (const auto &[key, value] : object.items())
    if (key != "line" && key != "column" && value.is_number_unsigned()) out.emplace_back(key, value.get<uint64_t>());
  return out;
}

Site toSite(const Json &site) {
  return {{text(site, "file"), site.value("line", 0u), site.value("column", 0u)},
          text(site, "function"),
          text(site, "name"),
          site.value("indirect", false),
          countsIn(site)};
}

MeasuredSlice toSlice(const Json &slice) {
  MeasuredSlice out;
  out.at = {text(slice, "file"), slice.value("line", 0u), 0};
  out.function = text(slice, "function");
  out.cpuSeconds = slice.value("cpu_s", 0.0) + slice.value("pager_cpu_s", 0.0);
  out.waitedSeconds = slice.value("waited_s", 0.0);
  if (const auto saved = slice.find("saved_s"); saved != slice.end() && saved->is_number())
    out.savedSeconds = saved->get<double>();
  out.trials = slice.value("trials", uint64_t{0});
  out.switchedOff = slice.value("switched_off", uint64_t{0});
  out.isOff = slice.value("off", false);
  return out;
}

/// What must be a number, or null for what was not measured.
std::optional<double> secondsIn(const Json &object, const char *key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::nullopt : std::optional(found->get<double>());
}

void readTimes(const Json &statistics, MeasuredRun &out) {
  if (const auto time = statistics.find("time"); time != statistics.end()) {
    out.wallSeconds = time->value("wall_s", 0.0);
    out.stallSeconds = secondsIn(*time, "stall_s");
  }
  if (const auto kinds = statistics.find("stall_by_kind"); kinds != statistics.end() && kinds->is_object())
    for (const auto &[name, seconds] : kinds->items())
      out.stallByKind.emplace_back(name.substr(0, name.rfind("_s")), seconds.get<double>());
  if (const auto trouble = statistics.find("trouble"); trouble != statistics.end()) {
    out.timesWithoutRoom = trouble->value("no_room", uint64_t{0});
    out.secondsWithoutRoom = trouble->value("full_s", 0.0);
  }
}

void requireVersion(const Json &statistics, const std::string &path) {
  const auto version = statistics.find("version");
  if (version == statistics.end() || !version->is_number_integer() || !statistics.contains("sites"))
    throw Failure{path + " holds no statistics of pagecast; write them with pagecast run --stats FILE"};
  if (*version != kStatisticsVersion)
    throw Failure{path + " holds statistics of version " + version->dump() + ", but this pagecast reads version " +
                  std::to_string(kStatisticsVersion) + "; run the program again with the runtime of this version"};
}

} // namespace

uint64_t countOf(const Counts &counts, const char *name) {
  for (const auto &[known, count] : counts)
    if (known == name) return count;
  return 0;
}

std::optional<double> foreseenShare(const MeasuredRun &run) {
  const uint64_t foreseen = countOf(run.faults, "prefetched_hit") + countOf(run.faults, "late");
  const uint64_t all = foreseen + countOf(run.faults, "not_prefetched");
  return all ? std::optional(static_cast<double>(foreseen) / static_cast<double>(all)) : std::nullopt;
}

MeasuredRun readRun(const std::string &path) {
  const std::string file = contentsOf(path, "the statistics file " + path, "; write one with pagecast run --stats FILE");
  // Names in it need not be UTF-8, but a file of the runtime's is JSON.
  const Json statistics = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (statistics.is_discarded() || !statistics.is_object())
    throw Failure{path + " is not JSON, or was cut short; write it anew with pagecast run --stats FILE"};
  requireVersion(statistics, path);
  try {
    MeasuredRun out;
    out.path = path;
    out.pagecast = text(statistics, "pagecast");
    out.program = text(statistics, "program");
    out.compiledLibraries = statistics.value("compiled_libraries", uint64_t{0});
    if (const auto hints = statistics.find("hints"); hints != statistics.end()) out.hintsWereOn = hints->value("on", true);
    out.active = statistics.value("active", false);
    out.whyNot = text(statistics, "why_not");
    out.finished = statistics.value("finished", true);
    out.compiled = statistics.value("compiled", true);
    readTimes(statistics, out);
    out.isAdvised = out.active && text(statistics, "back_end").rfind("pager", 0) != 0;
    if (const auto files = statistics.find("files"); files != statistics.end())
      out.majorFaults = files->value("major_faults", uint64_t{0});
    if (const auto io = statistics.find("io"); io != statistics.end()) {
      out.readBytes = io->value("read_bytes", uint64_t{0});
      out.writtenBytes = io->value("written_bytes", uint64_t{0});
    }
    if (const auto budget = statistics.find("budget"); budget != statistics.end())
      out.dataBytes = budget->value("most_region_bytes", uint64_t{0});
    if (const auto faults = statistics.find("faults"); faults != statistics.end()) out.faults = countsIn(*faults);
    if (const auto streams = statistics.find("fault_streams"); streams != statistics.end()) out.faultStreams = countsIn(*streams);
    for (const Json &site : statistics["sites"]) out.sites.push_back(toSite(site));
    if (const auto slices = statistics.find("slices"); slices != statistics.end())
      for (const Json &slice : *slices) out.slices.push_back(toSlice(slice));
    return out;
  } catch (const Json::exception &) {
    throw Failure{path + " holds no statistics of pagecast: a field has the wrong type; write it anew with "
                         "pagecast run --stats FILE"};
  }
}

} // namespace pagecast::cli
