// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pagecast profile show: the densities and clusters of each phase as text or JSON, and figure 4.
#include "cli/commands/commands.h"
#include "cli/profile/picture.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include "cli/text/table.h"
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace pagecast::cli {
namespace {

using Json = nlohmann::ordered_json;

Thresholds thresholdsOf(const ShowProfileOptions &options) { return {options.threshold / 100, options.smallest}; }

std::string nameOf(const Profile &profile, const Sharing &sharing, uint32_t index) {
  return profile.members[sharing.members[index]].name;
}

std::string listOf(const std::vector<std::string> &names) { return "{" + commaList(names) + "}"; }

std::string densityText(double density) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f", density);
  return text;
}

Table matrixOf(const Profile &profile, const Sharing &sharing) {
  Table::Row head = {"member"};
  for (uint32_t m = 0; m < sharing.members.size(); ++m) head.push_back(nameOf(profile, sharing, m));
  head.push_back("blocks");
  Table table(head);
  for (uint32_t a = 0; a < sharing.members.size(); ++a) {
    Table::Row row = {nameOf(profile, sharing, a)};
    for (uint32_t b = 0; b < sharing.members.size(); ++b)
      row.push_back(densityText(sharing.matrix[a * sharing.members.size() + b]));
    row.push_back(std::to_string(sharing.blocks[a]));
    table.add(row);
  }
  return table;
}

/// What is to be done for the clusters, a line for each that has more than one member.
std::string clustersText(const Profile &profile, const Sharing &sharing, const Thresholds &thresholds) {
  std::string out;
  uint32_t alone = 0;
  for (const auto &cluster : sharing.clusters) {
    if (cluster.size() < 2) {
      ++alone;
      continue;
    }
    out += "  " + listOf(namesOf(profile, sharing, cluster)) +
           (cluster.size() < thresholds.smallest ? ": too small for a helper, each prefetches for itself\n"
                                                 : ": one helper for all\n");
  }
  if (alone) out += "  " + std::to_string(alone) + (alone == 1 ? " prefetches for itself\n" : " prefetch each for itself\n");
  return out;
}

std::string phaseText(const Profile &profile, const ProfilePhase &phase, const Sharing &sharing, const Thresholds &thresholds) {
  if (sharing.members.empty())
    return "\n" + phase.name + " (" + phase.file +
           "): all that is known of its references goes through indices; what they touch is not seen\n";
  std::string out = "\n" + phase.name + " (" + phase.file + "), epochs " + std::to_string(phase.firstEpoch) + " to " +
                    std::to_string(phase.lastEpoch) + ": " + std::to_string(sharing.distinct) + " blocks\n";
  if (phase.unseen)
    out += "  " + std::to_string(phase.unseen) + " of " + std::to_string(phase.references) +
           " references go through indices; what they touch is not seen\n";
  return out + matrixOf(profile, sharing).text() + clustersText(profile, sharing, thresholds);
}

std::string profileText(const Profile &profile, const std::vector<Sharing> &sharings, const Thresholds &thresholds) {
  char time[80];
  std::snprintf(time, sizeof time, "%.3g s in %u epochs; blocks of 64 KiB\n", profile.seconds, profile.epochs);
  std::string out = profile.file + ", of " + std::filesystem::path(profile.program).filename().string() + ": " +
                    counted(profile.members.size(), "member") + ", " + counted(profile.phases.size(), "phase") + ", " + time;
  for (const Member &member : profile.members)
    if (!member.isFinished) out += "member " + member.name + " ended in the middle of a nest\n";
  for (size_t p = 0; p < sharings.size(); ++p) out += phaseText(profile, profile.phases[p], sharings[p], thresholds);
  return out;
}

std::string fitText(const Fit &fit, const Thresholds &thresholds) {
  std::string out = "\nfor that run:\n";
  for (const std::string &sentence : fit.misfits) out += "  " + sentence + "\n";
  for (const Served &phase : fit.phases)
    for (const Served::Cluster &cluster : phase.clusters)
      out += "  " + phase.phase + ": " + listOf(cluster.members) + " share " + densityText(cluster.density) + " or more" +
             (cluster.density < thresholds.density ? ", too little for the helper that the profile gives them\n" : "\n");
  return out;
}

Json jsonOf(const Profile &profile, const ProfilePhase &phase, const Sharing &sharing, const Thresholds &thresholds) {
  Json members = Json::array(), matrix = Json::array(), clusters = Json::array();
  for (uint32_t a = 0; a < sharing.members.size(); ++a) {
    members.push_back({{"name", nameOf(profile, sharing, a)}, {"blocks", sharing.blocks[a]}});
    Json row = Json::array();
    for (uint32_t b = 0; b < sharing.members.size(); ++b) row.push_back(sharing.matrix[a * sharing.members.size() + b]);
    matrix.push_back(row);
  }
  for (const auto &cluster : sharing.clusters)
    clusters.push_back({{"members", namesOf(profile, sharing, cluster)}, {"helper", cluster.size() >= thresholds.smallest}});
  return {{"name", phase.name},
          {"file", phase.file},
          {"function", phase.function},
          {"line", phase.line},
          {"kind", phase.isNest ? "nest" : "reads"},
          {"first_epoch", phase.firstEpoch},
          {"last_epoch", phase.lastEpoch},
          {"references", phase.references},
          {"unseen", phase.unseen},
          {"blocks", sharing.distinct},
          {"members", members},
          {"densities", matrix},
          {"clusters", clusters}};
}

Json jsonOf(const Fit &fit) {
  Json phases = Json::array();
  for (const Served &phase : fit.phases) {
    Json clusters = Json::array();
    for (const Served::Cluster &cluster : phase.clusters)
      clusters.push_back({{"members", cluster.members}, {"density", cluster.density}});
    phases.push_back({{"name", phase.phase}, {"known", phase.isKnown}, {"clusters", clusters}});
  }
  return {{"misfits", fit.misfits}, {"phases", phases}};
}

Profile readBy(const std::string &file, const std::string &by) {
  const Profile profile = readProfile(file);
  return by == "function" ? byFunction(profile) : profile;
}

/// The file that was written.
std::string draw(const Profile &profile, const std::vector<Sharing> &sharings, const ShowProfileOptions &options) {
  const std::string file =
      options.svg.empty() ? std::filesystem::path(options.file).replace_extension(".svg").string() : options.svg;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << pictureOf(profile, sharings, thresholdsOf(options));
  out.close();
  if (!out)
    throw Failure{"the picture could not be written to " + file + ": " + errorText(errno) + "; name another file with --svg"};
  return file;
}

} // namespace

int showProfile(const ShowProfileOptions &options) {
  const Thresholds thresholds = thresholdsOf(options);
  const Profile profile = readBy(options.file, options.by);
  Fit fit;
  if (!options.run.empty()) fit = fitOf(profile, readBy(options.run, options.by), thresholds);
  const std::vector<Sharing> sharings = sharingsOf(profile, thresholds);
  const std::string picture = draw(profile, sharings, options);
  if (!options.json) {
    std::fputs(profileText(profile, sharings, thresholds).c_str(), stdout);
    if (!options.run.empty()) std::fputs(fitText(fit, thresholds).c_str(), stdout);
    std::printf("\nthe picture is %s\n", picture.c_str());
    return 0;
  }
  Json out = {{"version", 1},
              {"file", profile.file},
              {"program", profile.program},
              {"threshold", thresholds.density},
              {"smallest", thresholds.smallest},
              {"picture", picture},
              {"phases", Json::array()}};
  for (size_t p = 0; p < sharings.size(); ++p)
    out["phases"].push_back(jsonOf(profile, profile.phases[p], sharings[p], thresholds));
  if (!options.run.empty()) out["run"] = jsonOf(fit);
  std::printf("%s\n", out.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  return 0;
}

} // namespace pagecast::cli
