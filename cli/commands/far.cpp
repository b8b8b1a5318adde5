// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/commands/commands.h"
#include "cli/machine/runtime_options.h"
#include "cli/profile/sharing.h"
#include "cli/programs/job_helper.h"
#include "cli/programs/paths.h"
#include "cli/text/message.h"
#include "runtime/nbd/job.h"
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

struct Far {
  std::string scheme, profile;
  std::string threshold = "80", interval = "10";
  std::string smallest; ///< empty: the scheme's
  std::string helpers = "1";
  std::string place = "beside", report;
};

void requireNumber(const std::string &text, const std::string &what, double least, double most) {
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value >= least && value <= most))
    throw Failure{"--far: " + what + " '" + text + "' is no number from " + std::to_string(int(least)) + " to " +
                  std::to_string(int(most))};
}

Far parse(const std::string &given) {
  Far far;
  std::istringstream words(given);
  std::getline(words, far.scheme, ',');
  for (std::string word; std::getline(words, word, ',');) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (equals == std::string::npos && !word.empty() && std::isdigit(static_cast<unsigned char>(word[0]))) far.helpers = word;
    else if (name == "profile") far.profile = value;
    else if (name == "threshold") far.threshold = value;
    else if (name == "smallest") far.smallest = value;
    else if (name == "interval") far.interval = value;
    else if (name == "place") far.place = value;
    else if (name == "report") far.report = value;
    else throw Failure{"--far: there is no '" + name + "'; there are profile, threshold, smallest, interval, place and report"};
  }
  if (far.smallest.empty()) far.smallest = far.scheme == "live" ? "2" : "3";
  requireNumber(far.threshold, "threshold", 0, 100);
  requireNumber(far.interval, "interval", 1, 100);
  requireNumber(far.smallest, "smallest", 1, Job::kMembers);
  requireNumber(far.helpers, "number of helpers", 1, Job::kMembers);
  if (far.helpers != "1" && far.scheme != "reserved")
    throw Failure{"--far: a number of helpers is only for reserved, as in --far reserved,2"};
  if (far.place != "own" && far.place != "beside")
    throw Failure{"--far: place '" + far.place +
                  "' is neither own, a processor for the helper alone, nor beside, among the processes"};
  return far;
}

/// A line for each team of each nest: the nest's number, and the ranks.
std::vector<std::string> planOf(const Profile &profile, const Far &far) {
  const Thresholds thresholds{std::stod(far.threshold) / 100, uint32_t(std::stoul(far.smallest))};
  const std::vector<Sharing> sharings = sharingsOf(profile, thresholds);
  int64_t ranks = 0;
  for (const Member &member : profile.members) ranks = std::max(ranks, member.rank + 1);
  std::vector<std::string> out{"ranks=" + std::to_string(ranks)};
  for (size_t p = 0; p < sharings.size(); ++p)
    for (const auto &cluster : sharings[p].clusters) {
      const ProfilePhase &phase = profile.phases[p];
      if (!phase.isNest || cluster.size() < thresholds.smallest) continue;
      char number[32];
      std::snprintf(number, sizeof number, "%llx",
                    static_cast<unsigned long long>(Job::phase_of(phase.file.c_str(), phase.function.c_str(), phase.line)));
      std::string line = number;
      for (const uint32_t m : cluster)
        line += (line == number ? "=" : ",") + std::to_string(profile.members[sharings[p].members[m]].rank);
      out.push_back(line);
    }
  return out;
}

void sayWhatDoesNotFit(const Profile &profile, const std::string &file, const std::vector<std::string> &command, size_t teams) {
  const std::string program = fs::path(profile.program).filename();
  const bool isNamed = std::any_of(command.begin(), command.end(),
                                   [&](const std::string &word) { return word.find(program) != std::string::npos; });
  if (!isNamed)
    warn(file + " is a profile of " + program + ", which this command does not name; what fits by its loops' names is used");
  if (!teams) warn(file + " has no cluster that is large enough for a helper: each process asks for its own blocks");
}

} // namespace

void applyFar(const std::string &given, const std::vector<std::string> &command) {
  const std::string text = given.empty() ? environment("PAGECAST_FAR").value_or("") : given;
  if (text.empty()) return;
  const Far far = parse(text);
  const std::vector<std::string> schemes = farSchemes();
  if (std::find(schemes.begin(), schemes.end(), far.scheme) == schemes.end())
    throw Failure{"--far '" + far.scheme + "' is no scheme; use none, independent, reserved, adaptive or live"};
  if ((far.scheme == "adaptive") != !far.profile.empty() && !environment("PAGECAST_JOB"))
    throw Failure{
        "--far adaptive goes by a profile, and no other scheme does; write --far adaptive,profile=p.json, as pagecast profile made it"};
  setenv("PAGECAST_FAR", far.scheme.c_str(), 1);
  if (far.scheme != "none") setenv("PAGECAST_GATE", "4K", 0); // each page of a server's is dear, and small loops are many of them
  if (far.scheme == "none" || far.scheme == "independent" || environment("PAGECAST_JOB")) return;
  std::vector<std::string> plan;
  if (!far.profile.empty()) {
    const Profile profile = readProfile(far.profile);
    plan = planOf(profile, far);
    sayWhatDoesNotFit(profile, far.profile, command, plan.size() - 1);
  }
  plan.push_back("helpers=" + far.helpers);
  if (!far.report.empty()) plan.push_back("report=" + fs::absolute(far.report).string());
  if (const pid_t helper = startJobHelper({far.scheme, far.threshold, far.smallest, far.interval}, plan, far.place == "own"))
    setenv("PAGECAST_JOB", std::to_string(helper).c_str(), 1);
  else setenv("PAGECAST_FAR", "independent", 1);
}

} // namespace pagecast::cli
