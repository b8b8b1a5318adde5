// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pagecast-sharing-sim: the cells of the figures of PACT 2008, as JSON; or those of a run that was recorded.
#include "simulator/sharing/recorded_file.h"
#include "simulator/sharing/replay.h"
#include "simulator/sharing/schemes.h"
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace {

using namespace pagecast::simulator;
using nlohmann::json;

struct Named {
  const char *name;
  Scheme scheme;
};

Scheme reserved(uint32_t processors) {
  Scheme scheme{SchemeKind::kReserved};
  scheme.reserved = processors;
  return scheme;
}

const std::vector<Named> kMain = {{"none", {SchemeKind::kNone}},
                                  {"independent", {SchemeKind::kIndependent}},
                                  {"adaptive", {SchemeKind::kAdaptive}},
                                  {"live", {SchemeKind::kLive}}};

/// Runs cells once each, however many figures ask for them.
class Cells {
public:
  explicit Cells(std::vector<Program> programs) : programs_(std::move(programs)) {}

  void add(const Named &named, const IoMachine &m) {
    for (const Program &program : programs_) {
      json cell = {{"program", program.name},
                   {"scheme", named.name},
                   {"processors", m.processors},
                   {"nodes", m.nodes},
                   {"cache", m.cache},
                   {"threshold", named.scheme.threshold},
                   {"interval", named.scheme.interval},
                   {"policy", m.policy == pagecast::core::StoragePolicy::kAging ? "aging" : "2q"}};
      if (!keys_.insert(cell.dump()).second) continue;
      const SharedReport r = run_shared(program, m, named.scheme);
      cell.update({{"micros", r.micros}, {"disk_reads", r.disk_reads}, {"helpers", r.helpers}});
      for (const pagecast::core::NamedCount &count : pagecast::core::kClientCounts) cell[count.name] = r.counts.*count.value;
      out_.push_back(cell);
    }
  }
  const json &out() const { return out_; }

private:
  std::vector<Program> programs_;
  std::set<std::string> keys_;
  json out_ = json::array();
};

/// Figures 2, 3 (a), 3 (b) and 13 (a): the numbers of processors.
void by_processors(Cells *cells, uint32_t most) {
  for (uint32_t p = 1; p <= most; p += p < 16 ? 1 : p)
    for (const Named &named : kMain) {
      IoMachine m;
      m.processors = p;
      cells->add(named, m);
    }
}

/// Figures 13 (b) to 17, with 8 and 16 processors.
void by_all_else(Cells *cells, uint32_t processors) {
  IoMachine m;
  m.processors = processors;
  for (const Named &named :
       {Named{"1 reserved", reserved(1)}, Named{"2 reserved", reserved(2)}, Named{"3 reserved", reserved(3)}})
    cells->add(named, m);
  for (const Named &named : kMain) {
    for (const uint32_t cache : {150u, 200u, 300u, 400u, 500u}) {
      IoMachine with = m;
      with.cache = cache;
      cells->add(named, with);
    }
    for (const uint32_t nodes : {1u, 2u, 4u}) {
      IoMachine with = m;
      with.nodes = nodes;
      cells->add(named, with);
    }
    IoMachine with = m;
    with.policy = pagecast::core::StoragePolicy::kTwoQueues;
    cells->add(named, with);
  }
  for (const double percent : {50, 60, 70, 80, 90}) {
    Scheme scheme{SchemeKind::kAdaptive};
    scheme.threshold = percent / 100;
    cells->add({"adaptive", scheme}, m);
  }
  for (const double percent : {1, 2, 5, 10, 20, 50}) {
    Scheme scheme{SchemeKind::kAdaptive};
    scheme.interval = percent / 100;
    cells->add({"adaptive", scheme}, m);
  }
}

json cell_of(const RunReport &r) {
  json cell = {{"micros", r.micros},
               {"disk_reads", r.disk_reads},
               {"disk_writes", r.disk_writes},
               {"disk_bytes", r.disk_bytes},
               {"requests", r.requests},
               {"meetings", r.meetings},
               {"teams", r.teams}};
  for (const pagecast::core::NamedCount &count : pagecast::core::kClientCounts) cell[count.name] = r.counts.*count.value;
  return cell;
}

/// Prints the recorded run under each scheme. Returns the command's exit status.
int replay_all(const std::string &file, const RunMachine &m) {
  RecordedRun run;
  if (const std::string refusal = read_recorded(file, &run); !refusal.empty()) {
    std::fprintf(stderr, "pagecast-sharing-sim: %s\n", refusal.c_str());
    return 2;
  }
  if (m.cache / m.block < 4) {
    std::fprintf(stderr, "pagecast-sharing-sim: a cache has at least four blocks\n");
    return 2;
  }
  json cells = json::object();
  for (const Named &named : kMain) cells[named.name] = cell_of(replay(run, m, named.scheme));
  for (const uint32_t helpers : {1u, 2u, 3u})
    cells[std::to_string(helpers) + " reserved"] = cell_of(replay(run, m, reserved(helpers)));
  std::printf("%s\n", json{{"version", 1}, {"members", run.members}, {"schemes", cells}}.dump(1).c_str());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Simulates parallel programs that share the storage caches of I/O nodes, and prints JSON.",
               "pagecast-sharing-sim");
  uint32_t most = 128;
  bool is_quick = false;
  app.add_option("--processors", most, "The most processors")->check(CLI::Range(1, 256))->capture_default_str();
  app.add_flag("--quick", is_quick, "Only what varies the number of processors");
  std::string recorded;
  RunMachine m;
  const CLI::AsSizeValue size(false);
  app.add_option("--run", recorded, "A run that pagecast profile --entries has recorded, instead of the figures");
  app.add_option("--cores", m.processors, "With --run: processors that its members share")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--block", m.block, "... bytes of a storage block")->transform(size)->capture_default_str();
  app.add_option("--cache", m.cache, "... of the node's cache")->transform(size)->capture_default_str();
  app.add_option("--memory", m.memory, "... that each member has for pages")->transform(size)->capture_default_str();
  app.add_option("--latency", m.latency, "... microseconds of a request to the disk")->capture_default_str();
  app.add_option("--rate", m.rate, "... bytes that the disk moves in a second; 0: at once")
      ->transform(size)
      ->capture_default_str();
  app.add_option("--request", m.request, "... microseconds of a processor for a request to the node")->capture_default_str();
  app.add_option("--turn", m.turn, "... of the disk's thread between two requests")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (!recorded.empty()) return replay_all(recorded, m);
  Cells cells(shared_programs());
  by_processors(&cells, most);
  for (const uint32_t processors : {8u, 16u})
    if (!is_quick) by_all_else(&cells, processors);
  json programs = json::array();
  for (const Program &program : shared_programs()) programs.push_back({{"name", program.name}, {"blocks", program.blocks}});
  std::printf("%s\n",
              json{{"version", 1}, {"block_bytes", 1 << 20}, {"programs", programs}, {"cells", cells.out()}}.dump(1).c_str());
  return 0;
}
