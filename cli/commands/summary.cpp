// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/commands/summary.h"
#include "cli/programs/process.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include <cstdio>
#include <cstring>
#include <utility>

namespace pagecast::cli {
namespace {

/// Waits of less than this share of the time are not worth a next step.
constexpr double kLittleWaiting = 0.1;
/// A fault that reads takes no disk less. The kernel does not say how long it took.
constexpr double kLeastSecondsOfMajorFault = 1e-4;

std::string seconds(double s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", s);
  return text;
}

/// What threads can wait for, by its name in the statistics.
struct Waiting {
  const char *name, *words;
  const char *next, *nextIfCompiled; ///< of the user's own program
  const char *nextOfScript, *nextOfPackage;
};
constexpr const char *kLessDisk = "next: more memory or a faster disk, since what it waited for was asked for in time";
constexpr const char *kMoreRoom = "next: more memory or a faster disk, since it stores faster than the disk takes";
constexpr const char *kMoreMemory =
    "next: more memory with --memory, since it goes over its data in no order that its faults tell";
constexpr const char *kFewerSweeps =
    "next: more memory with --memory, or fewer sweeps that change the data, since each first store to a page costs a fault";
/// Data that were read so many times over go round through memory.
constexpr uint64_t kManyTimes = 8;
constexpr const char *kStatisticsFile = "STATS.JSON"; ///< in a next step: where the user keeps them
constexpr const char *kMemoryAgain = "next: use memory again rather than ask for new, since each new page costs a fault";
constexpr Waiting kWaiting[] = {
    {"late", "reads that were on their way", kLessDisk, kLessDisk, kLessDisk, kLessDisk},
    {"not_prefetched", "reads that nothing foresaw",
     "next: compile it with pagecast cc, so that its loops say what they will touch",
     "next: pagecast explain --run STATS.JSON FILE says which references have no hints",
     "next: pagecast.prefetch() in the script, which docs/python.md explains, or more memory with --memory", kMoreMemory},
    {"zero_fill", "new pages, made zero one after the other",
     "next: compile it with pagecast cc, so that its loops say what they will fill", kMemoryAgain, kMemoryAgain, kMemoryAgain},
    {"protect", "faults at pages that were in memory", kFewerSweeps,
     "next: try --release none, since pages that hints released were in use again", kFewerSweeps, kFewerSweeps},
    {"room", "memory that other pages had to leave first", kMoreRoom, kMoreRoom, kMoreRoom, kMoreRoom},
};

/// What most of the waiting was for, and how long; null where that is not known.
std::pair<const Waiting *, double> mostOf(const MeasuredRun &run) {
  std::pair<const Waiting *, double> out{nullptr, 0};
  for (const auto &[name, spent] : run.stallByKind)
    for (const Waiting &one : kWaiting)
      if (name == one.name && spent > out.second) out = {&one, spent};
  return out;
}

/// Whether faults that read, of which the pager knows nothing, may have taken a good part of the time.
bool mayHaveReadLong(const MeasuredRun &run) {
  return static_cast<double>(run.majorFaults) * kLeastSecondsOfMajorFault >= kLittleWaiting * run.wallSeconds;
}

/// Whether new pages were there already for nearly all that came to them: the rest waited for others to leave.
bool foresawNewPages(const MeasuredRun &run) {
  return countOf(run.faults, "zero_fill_hit") >= 4 * countOf(run.faults, "zero_fill_fault");
}

/// Whether the threads waited for pages to be read, whoever asked for these.
bool isForReads(const Waiting &most) { return !std::strcmp(most.name, "late") || !std::strcmp(most.name, "not_prefetched"); }

std::string nextOf(const Waiting &most, const MeasuredRun &run, Author author) {
  if (isForReads(most) && run.dataBytes && run.readBytes / run.dataBytes >= kManyTimes)
    return "next: more memory with --memory, or all that is to be done with a part of the data before the next part, since " +
           showSize(run.dataBytes) + " of data were read " + std::to_string(run.readBytes / run.dataBytes) + " times over";
  if (!std::strcmp(most.name, "zero_fill") && foresawNewPages(run)) return kMoreRoom;
  if (run.compiled) return most.nextIfCompiled;
  if (author == Author::kUser) return most.next;
  return author == Author::kPython ? most.nextOfScript : most.nextOfPackage;
}

std::string nextStep(const MeasuredRun &run, Author author) {
  if (run.timesWithoutRoom)
    return "next: free room in the backing directory, or name another with --backing: there was none for " +
           seconds(run.secondsWithoutRoom);
  if (run.isAdvised) return "next: pagecast doctor, which says how to allow userfaultfd, with which this is faster and measured";
  if (run.stallSeconds.value_or(0) >= kLittleWaiting * run.wallSeconds) {
    const Waiting *most = mostOf(run).first;
    if (!most) return "next: docs/statistics.md says what the figures tell";
    return nextOf(*most, run, author);
  }
  if (mayHaveReadLong(run))
    return "next: docs/files.md, since it waited at " + std::to_string(run.majorFaults) + " faults in files";
  return "nothing is left to gain, as it hardly waited";
}

std::string waits(const MeasuredRun &run) {
  if (!run.stallSeconds)
    return "; the kernel paged the data, so waits and bytes were not measured; faults that read from the disk: " +
           std::to_string(run.majorFaults);
  const auto [most, spent] = mostOf(run);
  std::string out = ", of which threads waited " + seconds(*run.stallSeconds) + " for pages";
  if (most) out += ", " + seconds(spent) + " of it for " + most->words;
  return out + "; read " + showSize(run.readBytes) + ", wrote " + showSize(run.writtenBytes);
}

} // namespace

std::string summaryOf(const MeasuredRun &run, Author author) {
  const std::string time = seconds(run.wallSeconds);
  if (!run.active) return time + "; nothing was paged: " + (run.whyNot.empty() ? "the data fitted in the budget" : run.whyNot);
  if (run.isAdvised) return time + waits(run) + "; " + nextStep(run, author);
  const auto foreseen = foreseenShare(run);
  char share[64] = "no page had to be read";
  if (foreseen) std::snprintf(share, sizeof share, "%.0f %% of the pages read were foreseen", *foreseen * 100);
  return time + waits(run) + "; " + share + "; " + nextStep(run, author);
}

Summary::Summary(const std::string &statistics, Author author) : statistics_(statistics), author_(author) {
  if (!statistics_.empty()) return;
  own_folder_ = std::make_unique<ScratchFolder>("summary");
  statistics_ = *own_folder_ / "stats.json";
}

void Summary::say(const std::string &program_end) const {
  std::string line;
  if (statistics_.find("%p") != std::string::npos) { // each process has its own, and none is the program's alone
    std::fprintf(stderr, "pagecast: what each process did is in its own file, %s\n", statistics_.c_str());
    return;
  }
  try {
    const MeasuredRun run = readRun(statistics_);
    if (!run.finished)
      line = "the program " + (program_end.empty() ? "did not end by exit" : program_end) + "; the last figures before that: ";
    line += summaryOf(run, author_);
    const size_t file = line.find(kStatisticsFile);
    if (!own_folder_ && file != std::string::npos) line.replace(file, std::strlen(kStatisticsFile), statistics_);
  } catch (const Failure &) {
    line =
        "the program left no statistics, as it " +
        (program_end.empty() ? "is linked statically, or paged nothing and left by another way than main or exit" : program_end);
  }
  std::fprintf(stderr, "pagecast: %s\n", line.c_str());
}

void Summary::runAndSay(const std::function<void()> &become) {
  const SignalsPassedOn signals;
  const Ended ended = runChild(signals, become);
  const char *name = ended.signal ? sigabbrev_np(ended.signal) : nullptr;
  say(name ? std::string("was ended by SIG") + name : ended.signal ? "was ended by signal " + std::to_string(ended.signal) : "");
  own_folder_.reset();
  endAs(ended);
}

} // namespace pagecast::cli
