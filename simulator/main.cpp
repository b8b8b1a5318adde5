// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pagecast-sim: the policy under virtual time, from the command line.
#include "simulator/figures.h"
#include "simulator/workload.h"
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using namespace pagecast;
using nlohmann::json;
using simulator::Report;

struct Row {
  std::string figure, workload, schedule;
  double ratio;
  Report report;
};

const char kFooter[] = R"(
Without a workload it prints the thesis's experiments: 428 pages in ten outer iterations, for three ratios of
s_i (the time of one outer iteration) to the disk's latency.

  stalls        how often, and for how many cycles, the program waited for a page
  hit/late/miss what became of the first reference to each page: prefetched in time, in flight, not prefetched
  wasted        pages fetched and never used
  outstanding   prefetched pages not referenced yet, least/mean/most between the first stall and the last prefetch

Examples:
  pagecast-sim                                       the tables of figures 5.6, 5.8 and 5.13
  pagecast-sim rows --ratio 0.5 --schedule nested    one case of your own
  pagecast-sim sweeps --frames 600                   repeated sweeps over more than memory, with releases
  pagecast-sim sweeps --frames 600 --no-release      ... and without: nothing is left for the next sweep
  pagecast-sim matvec --frames 512 --bandwidth 2     bytes per cycle: a disk that can be too slow
  pagecast-sim rows --json --timeline                every change of the number of outstanding prefetches
)";

json to_json(const Row &row, bool timeline) {
  const Report &r = row.report;
  json j = {{"figure", row.figure},
            {"workload", row.workload},
            {"schedule", row.schedule},
            {"ratio", row.ratio},
            {"cycles", r.cycles},
            {"stalls", r.stalls},
            {"stall_cycles", r.stall_cycles},
            {"outer_stalls", r.outer_stalls},
            {"outer_stall_cycles", r.outer_stall_cycles},
            {"prefetched_hits", r.prefetched_hits},
            {"late", r.late},
            {"not_prefetched", r.not_prefetched},
            {"fetched", r.fetched},
            {"wasted", r.wasted},
            {"rescued", r.rescued},
            {"requests", r.requests},
            {"bytes", r.bytes},
            {"outstanding", {{"min", r.steady_min}, {"mean", r.steady_mean}, {"max", r.steady_max}}}};
  if (timeline)
    for (const auto &s : r.timeline) j["timeline"].push_back({s.cycle, s.outstanding});
  return j;
}

void print(const std::vector<Row> &rows) {
  std::printf("%-8s %-12s %-11s %5s %10s %7s %12s %18s %7s %18s\n", "figure", "workload", "schedule", "ratio", "cycles", "stalls",
              "stall cycles", "hit/late/miss", "wasted", "outstanding");
  for (const Row &row : rows) {
    const Report &r = row.report;
    char coverage[64], outstanding[64];
    std::snprintf(coverage, sizeof coverage, "%llu/%llu/%llu", (unsigned long long)r.prefetched_hits, (unsigned long long)r.late,
                  (unsigned long long)r.not_prefetched);
    std::snprintf(outstanding, sizeof outstanding, "%llu/%.0f/%llu", (unsigned long long)r.steady_min, r.steady_mean,
                  (unsigned long long)r.steady_max);
    std::printf("%-8s %-12s %-11s %5.2f %10llu %7llu %12llu %18s %7llu %18s\n", row.figure.c_str(), row.workload.c_str(),
                row.schedule.c_str(), row.ratio, (unsigned long long)r.cycles, (unsigned long long)r.stalls,
                (unsigned long long)r.stall_cycles, coverage, (unsigned long long)r.wasted, outstanding);
  }
}

std::vector<Row> run_figures() {
  std::vector<Row> rows;
  for (const auto &c : simulator::figure_cases())
    rows.push_back({c.figure, c.sequential ? "rows" : "rows apart", c.schedule, c.ratio, simulator::run_figure(c)});
  return rows;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Runs Pagecast's policy on synthetic programs in virtual time (one innermost iteration = one cycle).",
               "pagecast-sim");
  app.footer(kFooter);

  std::string workload, schedule = "continuous";
  simulator::Machine m;
  double ratio = 1.05;
  uint64_t latency = 0;
  bool apart = false, as_json = false, no_release = false;
  const std::map<std::string, core::Schedule> schedules = {{"single", core::Schedule::kSingle},
                                                           {"nested", core::Schedule::kNested},
                                                           {"continuous", core::Schedule::kContinuous},
                                                           {"original", core::Schedule::kSingle},
                                                           {"none", core::Schedule::kSingle}};
  app.add_option("workload", workload, "The program; none: the thesis's figures")
      ->check(CLI::IsMember({"rows", "sweeps", "matvec", "columns"}));
  app.add_option("--schedule", schedule, "single, nested, continuous (core/); original: the papers' first; none: no hints")
      ->check(CLI::IsMember({"single", "nested", "continuous", "original", "none"}))
      ->capture_default_str();
  app.add_option("--frames", m.frames, "Pages of memory")->check(CLI::Range(16, 1 << 20))->capture_default_str();
  app.add_option("--ratio", ratio, "rows: s_i / latency")->check(CLI::Range(0.001, 1000.0))->capture_default_str();
  app.add_option("--latency", latency, "Of the disk, in cycles; default 20000, for rows from --ratio");
  app.add_option("--bandwidth", m.bandwidth, "Bytes per cycle; 0 = unlimited")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--distance", m.fixed_distance, "Steps; 0 = measured (rows: the latency)")->capture_default_str();
  app.add_flag("--apart", apart, "rows: rows do not follow each other in memory (figure 5.7)");
  app.add_flag("--no-release", no_release, "No release hints");
  app.add_flag("--json", as_json, "JSON instead of a table");
  app.add_flag("--timeline", m.timeline, "With --json: outstanding prefetches over time, as [cycle, pages]");
  CLI11_PARSE(app, argc, argv);

  std::vector<Row> results;
  if (workload.empty()) {
    results = run_figures();
  } else {
    const bool is_rows = workload == "rows";
    m.hints = schedule == "none"       ? simulator::Hints::kNone
              : schedule == "original" ? simulator::Hints::kOriginal
                                       : simulator::Hints::kCore;
    m.schedule = schedules.at(schedule);
    m.release = !no_release;
    if (latency) m.latency = latency;
    else if (is_rows) m.latency = uint64_t(double(simulator::kFigureColumns) / ratio);
    if (is_rows && m.fixed_distance == 0) m.fixed_distance = m.latency;
    const core::Shape shape = is_rows                ? simulator::rows(simulator::kFigureRows, simulator::kFigureColumns, !apart)
                              : workload == "sweeps" ? simulator::sweeps(5, 1000, m.page)
                              : workload == "matvec" ? simulator::matvec(3, 40, 1 << 16)
                                                     : simulator::columns(200, 4096);
    results.push_back(
        {"", is_rows && apart ? "rows apart" : workload, schedule, is_rows ? ratio : 0, simulator::simulate(shape, m)});
  }
  if (!as_json) {
    print(results);
    return 0;
  }
  json out = {{"version", 1}, {"results", json::array()}};
  for (const Row &r : results) out["results"].push_back(to_json(r, m.timeline));
  std::printf("%s\n", out.dump(2).c_str());
  return 0;
}
