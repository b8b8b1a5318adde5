// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/sharing/recorded_file.h"
#include <fstream>
#include <nlohmann/json.hpp>

namespace pagecast::simulator {
namespace {

using nlohmann::json;

constexpr uint64_t kApart = 16u << 20; ///< data sets begin at multiples of this

uint64_t micros_of(const json &seconds) { return uint64_t(std::max(0.0, double(seconds)) * 1e6); }

core::Reference reference_of(const json &entry, int64_t beginning) {
  core::Reference out;
  out.first = int64_t(entry.at("first")) + beginning;
  out.span = entry.at("span");
  for (const json &loop : entry.at("loops")) {
    if (out.loops == core::kMaxLoops) throw std::out_of_range("loops");
    out.trips[out.loops] = loop.at(0);
    out.stride[out.loops++] = loop.at(1);
  }
  return out;
}

/// The entry that it belongs to: several references of a nest have the same member, phase and time.
RecordedEntry &entry_of(const json &from, RecordedRun *run) {
  const RecordedEntry e{from.at("member"), from.at("phase"), micros_of(from.at("begin")), micros_of(from.at("end")), {}};
  for (auto at = run->entries.rbegin(); at != run->entries.rend() && at->begin == e.begin; ++at)
    if (at->member == e.member && at->phase == e.phase) return *at;
  if (e.member >= run->members) throw std::out_of_range("member");
  return run->entries.emplace_back(e);
}

RecordedRun run_of(const json &profile) {
  RecordedRun out;
  out.members = uint32_t(profile.at("members").size());
  std::vector<int64_t> beginning;
  for (const json &set : profile.at("data_sets")) {
    beginning.push_back(int64_t(out.bytes));
    out.bytes += (uint64_t(set.at("bytes")) + kApart - 1) / kApart * kApart;
  }
  for (const json &e : profile.at("entries"))
    entry_of(e, &out).references.push_back(
        {core::Stored(uint16_t(e.at("stored"))), reference_of(e, beginning.at(e.at("data_set")))});
  return out;
}

} // namespace

std::string read_recorded(const std::string &file, RecordedRun *out) {
  std::ifstream in(file);
  if (!in) return file + " cannot be read";
  try {
    const json profile = json::parse(in);
    if (!profile.contains("entries"))
      return file + " has no entries; pagecast profile --entries -o " + file + " -- PROGRAM makes one that has";
    *out = run_of(profile);
  } catch (const std::exception &) { return file + " is no profile of this version"; }
  return out->members && !out->entries.empty() ? "" : file + " is of a program that touched nothing";
}

} // namespace pagecast::simulator
