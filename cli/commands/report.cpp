// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/commands/commands.h"
#include "cli/explain/measured.h"
#include "cli/text/spelling.h"
#include "cli/text/table.h"
#include <cstdio>
#include <nlohmann/json.hpp>

namespace pagecast::cli {
namespace {

std::string number(const char *format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// What became of the program's data, in a word or a sentence.
std::string stateOf(const MeasuredRun &run) {
  if (!run.active) return run.whyNot.empty() ? "nothing was paged" : "not paged: " + run.whyNot;
  return run.finished ? "paged" : "paged; still running, or interrupted or killed";
}

Table tableOf(const std::vector<MeasuredRun> &runs) {
  Table table({"file", "seconds", "waited", "read", "written", "foreseen", "late", "missed", "state"});
  for (const MeasuredRun &run : runs) {
    const auto share = foreseenShare(run);
    table.add({run.path, number("%.3g", run.wallSeconds), run.stallSeconds ? number("%.3g", *run.stallSeconds) : "-",
               showSize(run.readBytes), showSize(run.writtenBytes), share ? number("%.0f %%", *share * 100) : "-",
               std::to_string(countOf(run.faults, "late")), std::to_string(countOf(run.faults, "not_prefetched")), stateOf(run)});
  }
  return table;
}

nlohmann::ordered_json jsonOf(const MeasuredRun &run) {
  nlohmann::ordered_json out = {{"file", run.path},
                                {"finished", run.finished},
                                {"compiled", run.compiled},
                                {"active", run.active},
                                {"why_not", nullptr},
                                {"wall_s", run.wallSeconds},
                                {"stall_s", nullptr},
                                {"read_bytes", run.readBytes},
                                {"written_bytes", run.writtenBytes},
                                {"foreseen_share", nullptr},
                                {"faults", nlohmann::ordered_json::object()}};
  if (!run.whyNot.empty()) out["why_not"] = run.whyNot;
  if (run.stallSeconds) out["stall_s"] = *run.stallSeconds;
  if (const auto share = foreseenShare(run)) out["foreseen_share"] = *share;
  for (const auto &[name, count] : run.faults) out["faults"][name] = count;
  return out;
}

} // namespace

int report(const ReportOptions &options) {
  std::vector<MeasuredRun> runs;
  for (const std::string &file : options.files) runs.push_back(readRun(file));
  if (!options.json) return std::fputs(tableOf(runs).text().c_str(), stdout), 0;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const MeasuredRun &run : runs) all.push_back(jsonOf(run));
  // Names of files need not be UTF-8.
  std::printf("%s\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  return 0;
}

} // namespace pagecast::cli
