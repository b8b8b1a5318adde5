// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/explain/explanation.h"
#include <nlohmann/json.hpp>

namespace pagecast::cli {
namespace {

using Json = nlohmann::ordered_json;

const char *word(Remark::Kind kind) {
  switch (kind) {
  case Remark::Kind::kPassed: return "done";
  case Remark::Kind::kMissed: return "refused";
  case Remark::Kind::kOther: return "note";
  }
  return "";
}

/// Numbers that are unknown, and texts that are empty, are null.
Json orNull(unsigned number) { return number ? Json(number) : Json(); }
Json orNull(const std::string &text) { return text.empty() ? Json() : Json(text); }

Json toJson(const Counts &counts) {
  Json out = Json::object();
  for (const auto &[name, count] : counts) out[name] = count;
  return out;
}

Json toJson(const Site &site) {
  Json out = {{"file", orNull(site.at.file)},
              {"line", orNull(site.at.line)},
              {"column", orNull(site.at.column)},
              {"function", orNull(site.function)},
              {"name", orNull(site.name)}};
  out["measured"] = toJson(site.counts);
  return out;
}

Json argumentsOf(const Remark &remark) {
  Json out = Json::object();
  for (const auto &[key, value] : remark.arguments)
    if (key != "String") out[key] = value;
  return out;
}

Json toJson(const Explained &one) {
  Json out = {{"name", one.remark.name},
              {"kind", word(one.remark.kind)},
              {"file", orNull(one.remark.at.file)},
              {"line", orNull(one.remark.at.line)},
              {"column", orNull(one.remark.at.column)},
              {"source", orNull(one.source)},
              {"array", orNull(one.array)},
              {"library", one.isLibrary},
              {"text", one.remark.text()}};
  out["arguments"] = argumentsOf(one.remark);
  out["measured"] = one.sites.empty() ? Json() : toJson(totalOf(one.sites));
  return out;
}

Json toJson(const ExplainedNest &nest) {
  Json out = {{"file", orNull(nest.at.file)},
              {"line", orNull(nest.at.line)},
              {"column", orNull(nest.at.column)},
              {"source", orNull(nest.source)}};
  out["remarks"] = Json::array();
  for (const Explained &one : nest.remarks) out["remarks"].push_back(toJson(one));
  return out;
}

Json toJson(const MeasuredRun &run) {
  Json out = {
      {"file", run.path},          {"pagecast", run.pagecast}, {"active", run.active},        {"why_not", orNull(run.whyNot)},
      {"wall_s", run.wallSeconds}, {"stall_s", nullptr},       {"faults", toJson(run.faults)}};
  if (run.stallSeconds) out["stall_s"] = *run.stallSeconds;
  return out;
}

Json toJson(const MeasuredSlice &slice) {
  return {{"file", orNull(slice.at.file)},
          {"line", orNull(slice.at.line)},
          {"function", orNull(slice.function)},
          {"cpu_s", slice.cpuSeconds},
          {"waited_s", slice.waitedSeconds},
          {"saved_s", slice.savedSeconds ? Json(*slice.savedSeconds) : Json()},
          {"trials", slice.trials},
          {"switched_off", slice.switchedOff},
          {"off", slice.isOff}};
}

} // namespace

std::string explanationAsJson(const Explanation &all) {
  Json out = {{"version", kExplanationVersion}, {"pagecast", PAGECAST_VERSION}, {"file", all.file}};
  out["run"] = all.run ? toJson(*all.run) : Json();
  out["functions"] = Json::array();
  for (const ExplainedFunction &function : all.functions) {
    Json nests = Json::array();
    for (const ExplainedNest &nest : function.nests) nests.push_back(toJson(nest));
    out["functions"].push_back({{"name", function.name}, {"symbol", function.symbol}, {"nests", nests}});
  }
  out["sites_without_remark"] = Json::array();
  for (const Site *site : all.strangers) out["sites_without_remark"].push_back(toJson(*site));
  out["slices"] = Json::array();
  if (all.run)
    for (const MeasuredSlice &slice : all.run->slices) out["slices"].push_back(toJson(slice));
  out["fault_streams"] = all.faultStreams ? toJson(*all.faultStreams) : Json();
  // Names of files and source lines need not be UTF-8: what is not is replaced, not thrown at.
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace pagecast::cli
