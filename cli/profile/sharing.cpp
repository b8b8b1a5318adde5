// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/profile/sharing.h"
#include "core/sharing/reference.h"
#include <algorithm>
#include <filesystem>
#include <map>

namespace pagecast::cli {
namespace {

/// All data sets, one behind the other.
std::vector<uint64_t> firstBlocks(const Profile &profile, uint64_t *total) {
  std::vector<uint64_t> out;
  *total = 0;
  for (const ProfileDataSet &set : profile.dataSets) {
    out.push_back(*total);
    *total += core::block_set_words(set.blocks()) * 64;
  }
  return out;
}

const ProfilePhase *find(const Profile &profile, const ProfilePhase &same) {
  for (const ProfilePhase &phase : profile.phases)
    if (phase.name == same.name && phase.file == same.file) return &phase;
  return nullptr;
}

std::string programOf(const Profile &profile) { return std::filesystem::path(profile.program).filename().string(); }

/// The least dense pair of these members; 1 of fewer than two.
double leastDensity(const Sharing &sharing, const std::vector<uint32_t> &indices) {
  double least = 1;
  for (const uint32_t a : indices)
    for (const uint32_t b : indices) least = std::min(least, sharing.matrix[a * sharing.members.size() + b]);
  return least;
}

Served servedBy(const Profile &profile, const Profile &run, const ProfilePhase &phase, const Thresholds &thresholds) {
  Served out{phase.name, false, {}};
  const ProfilePhase *known = find(profile, phase);
  if (!known) return out;
  out.isKnown = true;
  const Sharing there = sharingOf(run, phase, thresholds);
  std::map<std::string, uint32_t> index;
  for (uint32_t i = 0; i < there.members.size(); ++i) index[run.members[there.members[i]].name] = i;
  const Sharing sharing = sharingOf(profile, *known, thresholds);
  for (const auto &cluster : sharing.clusters) {
    Served::Cluster served;
    std::vector<uint32_t> indices;
    for (const uint32_t m : cluster)
      if (const auto at = index.find(profile.members[sharing.members[m]].name); at != index.end()) {
        served.members.push_back(at->first);
        indices.push_back(at->second);
      }
    if (indices.size() < thresholds.smallest) continue;
    served.density = leastDensity(there, indices);
    out.clusters.push_back(served);
  }
  return out;
}

} // namespace

Sharing sharingOf(const Profile &profile, const ProfilePhase &phase, const Thresholds &thresholds) {
  uint64_t total = 0;
  const std::vector<uint64_t> first = firstBlocks(profile, &total);
  std::map<uint32_t, std::vector<uint64_t>> sets;
  for (const Touched &touched : phase.touched) {
    std::vector<uint64_t> &set = sets[touched.member];
    set.resize(total / 64);
    for (const BlockRange &run : touched.blocks)
      for (uint64_t b = run.first; b < run.first + run.count && first[touched.dataSet] + b < total; ++b)
        core::insert_block(set.data(), first[touched.dataSet] + b);
  }
  Sharing out;
  std::vector<const uint64_t *> rows;
  for (const auto &[member, set] : sets) {
    out.members.push_back(member);
    rows.push_back(set.data());
    const uint64_t *one[] = {set.data()};
    out.blocks.push_back(core::touched_by(one, 1, total / 64).by_any);
  }
  const auto count = uint32_t(rows.size());
  out.distinct = core::touched_by(rows.data(), count, total / 64).by_any;
  out.matrix.resize(size_t(count) * count);
  core::pair_densities(rows.data(), count, total / 64, out.matrix.data());
  std::vector<double> linkage = out.matrix;
  std::vector<uint32_t> cluster_of(count);
  out.clusters.resize(core::make_clusters(linkage.data(), count, thresholds.density, cluster_of.data()));
  for (uint32_t m = 0; m < count; ++m) out.clusters[cluster_of[m]].push_back(m);
  return out;
}

std::vector<Sharing> sharingsOf(const Profile &profile, const Thresholds &thresholds) {
  std::vector<Sharing> out;
  for (const ProfilePhase &phase : profile.phases) out.push_back(sharingOf(profile, phase, thresholds));
  return out;
}

std::vector<std::string> namesOf(const Profile &profile, const Sharing &sharing, const std::vector<uint32_t> &cluster) {
  std::vector<std::string> out;
  for (const uint32_t index : cluster) out.push_back(profile.members[sharing.members[index]].name);
  return out;
}

Fit fitOf(const Profile &profile, const Profile &run, const Thresholds &thresholds) {
  Fit out;
  if (programOf(profile) != programOf(run))
    out.misfits.push_back("the profile is of another program, " + programOf(profile) +
                          ": phases of the same name and file are used");
  if (profile.members.size() != run.members.size())
    out.misfits.push_back("the profile has " + std::to_string(profile.members.size()) + " members and the run " +
                          std::to_string(run.members.size()) +
                          ": those whose names are in both are used, the others prefetch each for itself");
  for (const ProfilePhase &phase : run.phases) {
    out.phases.push_back(servedBy(profile, run, phase, thresholds));
    if (!out.phases.back().isKnown)
      out.misfits.push_back("the profile does not have the phase " + phase.name + ": its members prefetch each for itself");
  }
  return out;
}

} // namespace pagecast::cli
