// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/commands/commands.h"
#include "cli/explain/measured.h"
#include "cli/machine/paged_programs.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include "cli/text/table.h"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

namespace pagecast::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// What a program has done since it began; rates are differences of two of these.
struct Counted {
  PagedProgram program;
  Clock::time_point at;
  std::optional<MeasuredRun> run; ///< its statistics, where it writes some and they can be read
};

/// What is shown of a program.
struct Shown {
  PagedProgram program;
  std::optional<double> readRate, writeRate; ///< bytes a second; none: not known yet, or never
  std::optional<double> waiting;             ///< threads that wait for pages, on average; from statistics
  std::optional<double> foreseen;            ///< share of pages, since it began; from statistics
};

using Key = std::pair<int, uint64_t>;
using View = std::map<Key, Counted>;

std::optional<MeasuredRun> statisticsOf(const PagedProgram &program) {
  if (program.statistics.empty() || !program.paged) return std::nullopt;
  try {
    return readRun(program.statistics);
  } catch (const Failure &) { return std::nullopt; } // not written yet, or not ours to read
}

View look() {
  View out;
  for (PagedProgram &program : pagedPrograms()) {
    const Key key{program.pid, program.born};
    std::optional<MeasuredRun> run = statisticsOf(program);
    out.emplace(key, Counted{std::move(program), Clock::now(), std::move(run)});
  }
  return out;
}

std::optional<double> rate(std::optional<uint64_t> before, std::optional<uint64_t> now, double seconds) {
  if (!before || !now || *now < *before || seconds <= 0) return std::nullopt;
  return static_cast<double>(*now - *before) / seconds;
}

Shown shownOf(const Counted &now, const Counted *before) {
  Shown out{now.program, {}, {}, {}, {}};
  if (now.run) out.foreseen = foreseenShare(*now.run);
  if (!before) return out;
  const double seconds = std::chrono::duration<double>(now.at - before->at).count();
  out.readRate = rate(before->program.readBytes, now.program.readBytes, seconds);
  out.writeRate = rate(before->program.writtenBytes, now.program.writtenBytes, seconds);
  if (!now.run || !before->run) return out;
  // Its own clock: the statistics are up to a second old.
  const double passed = now.run->wallSeconds - before->run->wallSeconds;
  const auto &waited = now.run->stallSeconds, &waitedBefore = before->run->stallSeconds;
  if (passed > 0 && waited && waitedBefore) out.waiting = std::max(0.0, *waited - *waitedBefore) / passed;
  return out;
}

std::vector<Shown> compare(const View &before, const View &now) {
  std::vector<Shown> out;
  for (const auto &[key, counted] : now) {
    const auto known = before.find(key);
    out.push_back(shownOf(counted, known == before.end() ? nullptr : &known->second));
  }
  return out;
}

std::string rateText(std::optional<double> bytes) { return bytes ? showSize(static_cast<uint64_t>(*bytes)) + "/s" : "-"; }

/// What a program was told that it may take: a number of bytes, or a word.
std::string memoryText(const std::string &told) {
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(told.data(), told.data() + told.size(), bytes);
  return error == std::errc() && end == told.data() + told.size() ? showSize(bytes) : told;
}

std::string tableText(const std::vector<Shown> &programs) {
  if (programs.empty()) return "No program runs with pagecast. Start one with: pagecast run -- PROGRAM\n";
  Table table({"pid", "paged", "holds", "memory", "reads", "writes", "waiting", "foreseen", "program"});
  for (const Shown &s : programs) {
    char waiting[16] = "-", foreseen[16] = "-";
    if (s.waiting) std::snprintf(waiting, sizeof waiting, "%.2f", *s.waiting);
    if (s.foreseen) std::snprintf(foreseen, sizeof foreseen, "%.0f %%", *s.foreseen * 100);
    table.add({std::to_string(s.program.pid), s.program.paged ? "yes" : "no", showSize(s.program.heldBytes),
               memoryText(s.program.memory), rateText(s.readRate), rateText(s.writeRate), waiting, foreseen, s.program.name});
  }
  return table.text();
}

template <class T> nlohmann::ordered_json orNull(const std::optional<T> &value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

std::string jsonText(const std::vector<Shown> &programs) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Shown &s : programs)
    all.push_back({{"pid", s.program.pid},
                   {"program", s.program.name},
                   {"paged", s.program.paged},
                   {"held_bytes", s.program.heldBytes},
                   {"memory", s.program.memory},
                   {"read_bytes_per_s", orNull(s.readRate)},
                   {"written_bytes_per_s", orNull(s.writeRate)},
                   {"threads_waiting", orNull(s.waiting)},
                   {"foreseen_share", orNull(s.foreseen)}});
  const nlohmann::ordered_json view = {{"programs", all}};
  return view.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void show(const std::string &text, bool inPlace) {
  // Home, and what was below is cleared: nothing flickers.
  std::fputs(((inPlace ? "\033[H\033[J" : "") + text).c_str(), stdout);
  std::fflush(stdout);
}

volatile sig_atomic_t interrupted = 0;

void interrupt(int) { interrupted = 1; }

/// Signals that end it are held but while it waits, so that none comes between the question and the wait.
class Interruption {
public:
  Interruption() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      sigaddset(&held, signal);
      struct sigaction action = {};
      action.sa_handler = interrupt;
      sigaction(signal, &action, nullptr);
    }
    sigprocmask(SIG_BLOCK, &held, &before_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigdelset(&before_, signal); // who starts it may have had them held
  }
  /// True when it is time to end.
  bool wait(double seconds) const {
    timespec left{static_cast<time_t>(seconds),
                  static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
    pselect(0, nullptr, nullptr, nullptr, &left, &before_);
    return interrupted;
  }

private:
  sigset_t before_;
};

} // namespace

int top(const TopOptions &options) {
  const Interruption interruption;
  const bool inPlace = !options.json && isatty(STDOUT_FILENO);
  View before = look();
  if (inPlace) show(tableText(compare({}, before)), true);
  for (unsigned i = 0; (options.count == 0 || i < options.count) && !interruption.wait(options.interval); ++i) {
    View now = look();
    const std::vector<Shown> programs = compare(before, now);
    show(options.json ? jsonText(programs) : tableText(programs), inPlace);
    before = std::move(now);
  }
  return 0;
}

} // namespace pagecast::cli
