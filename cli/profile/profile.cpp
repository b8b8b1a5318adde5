// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/profile/profile.h"
#include "cli/text/contents.h"
#include "cli/text/message.h"
#include "core/sharing/reference.h"
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace pagecast::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kVersion = 1;
/// Pieces that the picture divides a data set into, at most.
constexpr uint64_t kPieces = 512;

Json jsonOf(const Touched &touched) {
  Json blocks = Json::array(), epochs = Json::array();
  for (const BlockRange &run : touched.blocks) blocks.push_back({run.first, run.count});
  for (const EpochRange &run : touched.epochs) epochs.push_back({run.epoch, run.first, run.count});
  return {{"member", touched.member}, {"data_set", touched.dataSet}, {"blocks", blocks}, {"epochs", epochs}};
}

Json jsonOf(const ProfilePhase &phase) {
  Json touched = Json::array();
  for (const Touched &one : phase.touched) touched.push_back(jsonOf(one));
  return {{"name", phase.name},
          {"function", phase.function},
          {"file", phase.file},
          {"line", phase.line},
          {"kind", phase.isNest ? "nest" : "reads"},
          {"references", phase.references},
          {"unseen", phase.unseen},
          {"first_epoch", phase.firstEpoch},
          {"last_epoch", phase.lastEpoch},
          {"touched", touched}};
}

Json jsonOf(const ProfileEntry &entry) {
  Json loops = Json::array();
  for (uint32_t k = 0; k < entry.reference.loops; ++k) loops.push_back({entry.reference.trips[k], entry.reference.stride[k]});
  return {{"member", entry.member},
          {"phase", entry.phase},
          {"data_set", entry.dataSet},
          {"begin", entry.begin},
          {"end", entry.end},
          {"stored", uint32_t(entry.stored)},
          {"first", entry.reference.first},
          {"span", entry.reference.span},
          {"loops", loops}};
}

Json jsonOf(const Profile &profile) {
  Json out = {{"version", kVersion},        {"kind", "pagecast profile"}, {"program", profile.program},
              {"seconds", profile.seconds}, {"epochs", profile.epochs},   {"block_bytes", core::kStorageBlock},
              {"dropped", profile.dropped}, {"members", Json::array()},   {"data_sets", Json::array()},
              {"phases", Json::array()}};
  for (const Member &m : profile.members)
    out["members"].push_back(
        {{"name", m.name}, {"rank", m.rank}, {"process", m.process}, {"thread", m.thread}, {"finished", m.isFinished}});
  for (const ProfileDataSet &set : profile.dataSets)
    out["data_sets"].push_back({{"path", set.path}, {"bytes", set.bytes}, {"grain_blocks", set.grain()}});
  for (const ProfilePhase &phase : profile.phases) out["phases"].push_back(jsonOf(phase));
  for (const ProfileEntry &entry : profile.entries) out["entries"].push_back(jsonOf(entry));
  return out;
}

Touched touchedOf(const Json &from, const Profile &profile) {
  Touched out{from.at("member"), from.at("data_set"), {}, {}};
  out.member = out.member < profile.members.size() ? out.member : throw Failure{"it names a member that it does not have"};
  if (out.dataSet >= profile.dataSets.size()) throw Failure{"it names a data set that it does not have"};
  for (const Json &run : from.at("blocks")) out.blocks.push_back({run.at(0), run.at(1)});
  for (const Json &run : from.at("epochs")) out.epochs.push_back({run.at(0), run.at(1), run.at(2)});
  for (const BlockRange &run : out.blocks)
    if (const uint64_t most = profile.dataSets[out.dataSet].blocks() + 64; run.first > most || run.count > most - run.first)
      throw Failure{"it has blocks beyond the end of a data set"};
  return out;
}

ProfilePhase phaseOf(const Json &from, const Profile &profile) {
  ProfilePhase out;
  out.name = from.at("name");
  out.function = from.at("function");
  out.file = from.at("file");
  out.line = from.at("line");
  out.isNest = from.at("kind") == "nest";
  out.references = from.at("references");
  out.unseen = from.at("unseen");
  out.firstEpoch = from.at("first_epoch");
  out.lastEpoch = from.at("last_epoch");
  for (const Json &touched : from.at("touched")) out.touched.push_back(touchedOf(touched, profile));
  return out;
}

Profile profileOf(const Json &from) {
  Profile out;
  if (from.at("kind") != "pagecast profile") throw Failure{"it is something else"};
  if (from.at("version") != kVersion) throw Failure{"it is of another version of pagecast"};
  if (from.at("block_bytes") != core::kStorageBlock) throw Failure{"its blocks are of another size"};
  out.program = from.at("program");
  out.seconds = from.at("seconds");
  out.epochs = from.at("epochs");
  out.dropped = from.at("dropped");
  for (const Json &m : from.at("members"))
    out.members.push_back({m.at("name"), m.at("rank"), m.at("process"), m.at("thread"), m.at("finished")});
  for (const Json &set : from.at("data_sets")) out.dataSets.push_back({set.at("path"), set.at("bytes")});
  for (const Json &phase : from.at("phases")) out.phases.push_back(phaseOf(phase, out));
  return out;
}

/// Runs that may overlap, as runs that do not.
std::vector<BlockRange> joined(std::vector<BlockRange> runs) {
  std::sort(runs.begin(), runs.end(), [](const BlockRange &a, const BlockRange &b) { return a.first < b.first; });
  std::vector<BlockRange> out;
  for (const BlockRange &run : runs)
    if (!out.empty() && run.first <= out.back().first + out.back().count)
      out.back().count = std::max(out.back().first + out.back().count, run.first + run.count) - out.back().first;
    else out.push_back(run);
  return out;
}

void mergeInto(ProfilePhase *phase, const ProfilePhase &more) {
  phase->references += more.references;
  phase->unseen += more.unseen;
  phase->firstEpoch = std::min(phase->firstEpoch, more.firstEpoch);
  phase->lastEpoch = std::max(phase->lastEpoch, more.lastEpoch);
  for (const Touched &touched : more.touched) {
    const auto same = std::find_if(phase->touched.begin(), phase->touched.end(), [&](const Touched &other) {
      return other.member == touched.member && other.dataSet == touched.dataSet;
    });
    if (same == phase->touched.end()) {
      phase->touched.push_back(touched);
      continue;
    }
    same->blocks.insert(same->blocks.end(), touched.blocks.begin(), touched.blocks.end());
    same->blocks = joined(std::move(same->blocks));
    same->epochs.insert(same->epochs.end(), touched.epochs.begin(), touched.epochs.end());
  }
}

} // namespace

uint64_t ProfileDataSet::blocks() const { return (bytes + core::kStorageBlock - 1) / core::kStorageBlock; }
uint64_t ProfileDataSet::grain() const { return std::max<uint64_t>(1, (blocks() + kPieces - 1) / kPieces); }

void writeProfile(const Profile &profile, const std::string &file) {
  // Names of files need not be UTF-8.
  const std::string text = jsonOf(profile).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text << '\n';
  out.close();
  if (!out) throw Failure{"the profile could not be written to " + file + ": " + errorText(errno)};
}

Profile readProfile(const std::string &file) {
  const std::string text = contentsOf(file, "the profile " + file, "; pagecast profile -o FILE -- PROGRAM makes one");
  const auto none = [&](const std::string &why) {
    return Failure{file + " is no profile: " + why + "; pagecast profile -o " + file + " -- PROGRAM makes one"};
  };
  try {
    Profile out = profileOf(Json::parse(text));
    out.file = file;
    return out;
  } catch (const Failure &failure) { throw none(failure.sentence); } catch (const Json::exception &) {
    throw none("it is not the JSON that pagecast profile writes");
  }
}

Profile byFunction(const Profile &from) {
  Profile out = from;
  out.phases.clear();
  std::map<std::string, size_t> index;
  for (const ProfilePhase &phase : from.phases) {
    const std::string function = phase.function.substr(0, phase.function.find('#')); // a number follows where lines are not known
    const auto [at, isNew] = index.emplace(phase.file + '\0' + function, out.phases.size());
    if (!isNew) {
      mergeInto(&out.phases[at->second], phase);
      continue;
    }
    out.phases.push_back(phase);
    out.phases.back().name = out.phases.back().function = function;
    out.phases.back().line = 0;
  }
  return out;
}

} // namespace pagecast::cli
