// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/profile/join.h"
#include "cli/profile/parts.h"
#include "core/sharing/reference.h"
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

namespace pagecast::cli {
namespace {

using Set = std::vector<uint64_t>;

/// What a member touches of a data set in a phase.
struct Collected {
  Set blocks;
  std::map<uint32_t, Set> epochs;
};

std::vector<BlockRange> runsOf(const Set &set) {
  std::vector<BlockRange> out;
  const uint64_t end = set.size() * 64;
  for (uint64_t b = 0; (b = core::next_block(set.data(), set.size(), b)) < end; ++b)
    if (!out.empty() && out.back().first + out.back().count == b) ++out.back().count;
    else out.push_back({b, 1});
  return out;
}

/// Puts share `k` of `count` of what the reference touches into the set, in the order in which it does. Where there are fewer
/// iterations than shares, several have the same.
void insertShare(const core::Reference &r, uint64_t k, uint64_t count, uint64_t block, Set *set) {
  const uint64_t all = core::shared_iterations(r), at = k * all / count;
  const core::Iterations share = all >= count ? core::interval_of(r, k, count) : core::Iterations{at, std::min(at + 1, all)};
  core::insert_touched(r, share, block, set->data(), set->size());
}

class Joining {
public:
  Joining(const std::vector<Part> &parts, uint32_t epochs, bool withEntries) : parts_(parts), withEntries_(withEntries) {
    out_.epochs = epochs;
  }

  Profile go() {
    findTime();
    findMembers();
    for (const Part &part : parts_) add(part);
    finish();
    return std::move(out_);
  }

private:
  void findTime() {
    uint64_t end = 0;
    begin_ = ~uint64_t{0};
    for (const Part &part : parts_) {
      begin_ = std::min(begin_, part.begin);
      end = std::max(end, part.end);
      out_.dropped += part.dropped;
      if (out_.program.empty()) out_.program = part.program;
    }
    length_ = parts_.empty() ? 1 : end - begin_ + 1;
    out_.seconds = double(length_) * 1e-9;
  }

  /// By rank, process and thread; those without a rank come last. A thread's number is its index among its rank's.
  void findMembers() {
    std::map<Key, bool> all;
    for (const Part &part : parts_)
      for (const PartTouch &touch : part.touches) all.emplace(keyOf(part, touch), true).first->second &= touch.end != 0;
    std::map<uint64_t, uint32_t> seen, threads, withoutRank;
    for (const auto &[key, _] : all) ++threads[std::get<0>(key)];
    for (const auto &[key, isFinished] : all) {
      const auto [group, process, thread] = key;
      const uint32_t number = seen[group]++;
      Member member;
      member.isFinished = isFinished;
      member.process = process;
      member.thread = number;
      member.rank = group >= kNoRank ? -1 : int64_t(group);
      // The process's number would be another one in the next run.
      const auto order = uint32_t(withoutRank.size());
      member.name = member.rank < 0 ? "process " + std::to_string(withoutRank.emplace(group, order).first->second)
                                    : std::to_string(member.rank);
      if (threads[group] > 1) member.name += "." + std::to_string(number);
      members_[key] = uint32_t(out_.members.size());
      out_.members.push_back(member);
    }
  }

  static constexpr uint64_t kNoRank = uint64_t{1} << 40;
  using Key = std::tuple<uint64_t, uint32_t, uint32_t>; ///< of a member: rank, process and thread
  static Key keyOf(const Part &part, const PartTouch &touch) {
    return {part.rank < 0 ? kNoRank + part.process : uint64_t(part.rank), part.process, touch.thread};
  }

  void add(const Part &part) {
    std::vector<uint32_t> phases, dataSets;
    for (const PartDataSet &set : part.dataSets) dataSets.push_back(numberOf(set));
    std::map<std::string, uint32_t> same;
    for (const PartPhase &phase : part.phases) phases.push_back(numberOf(part, phase, &same));
    for (const PartTouch &touch : part.touches) {
      const uint32_t member = members_.at(keyOf(part, touch));
      add(part, touch, phases[touch.phase], member, dataSets[touch.dataSet]);
    }
  }

  uint32_t numberOf(const PartDataSet &set) {
    for (uint32_t i = 0; i < out_.dataSets.size(); ++i)
      if (out_.dataSets[i].path == set.path) {
        out_.dataSets[i].bytes = std::max(out_.dataSets[i].bytes, set.bytes);
        return i;
      }
    out_.dataSets.push_back({set.path, set.bytes});
    return uint32_t(out_.dataSets.size() - 1);
  }

  /// `same`: how many nests of that name the process has had so far, as it has several where lines are not known.
  uint32_t numberOf(const Part &part, const PartPhase &from, std::map<std::string, uint32_t> *same) {
    ProfilePhase phase;
    phase.isNest = from.isNest;
    phase.file = from.isNest ? from.file : std::filesystem::path(from.file).filename().string();
    phase.line = from.line;
    phase.function = from.isNest ? from.function : functionOf(part, from);
    phase.references = from.references;
    phase.unseen = from.unseen;
    phase.name = phase.function + (from.isNest ? "" : " reads") + (from.line ? ":" + std::to_string(from.line) : "");
    if (const uint32_t before = from.isNest ? (*same)[phase.file + phase.name]++ : 0)
      phase.name += "#" + std::to_string(before + 1);
    for (uint32_t i = 0; i < out_.phases.size(); ++i)
      if (out_.phases[i].name == phase.name && out_.phases[i].file == phase.file) return i;
    phase.firstEpoch = ~0u;
    out_.phases.push_back(phase);
    return uint32_t(out_.phases.size() - 1);
  }

  std::string functionOf(const Part &part, const PartPhase &phase) {
    std::string &name = functions_[{part.program, phase.offset}];
    if (name.empty()) name = functionAt(part.program, phase.offset);
    if (name.empty()) name = "unknown";
    return name;
  }

  uint32_t epochAt(uint64_t time) const {
    const uint64_t at = std::min(time > begin_ ? time - begin_ : 0, length_ - 1);
    return uint32_t(static_cast<unsigned __int128>(at) * out_.epochs / length_);
  }

  double secondsAt(uint64_t time) const { return double(time > begin_ ? time - begin_ : 0) * 1e-9; }

  void add(const Part &part, const PartTouch &touch, uint32_t phase, uint32_t member, uint32_t dataSet) {
    if (withEntries_)
      out_.entries.push_back({member, phase, dataSet, secondsAt(touch.begin), secondsAt(touch.end ? touch.end : part.end),
                              touch.stored, touch.reference});
    const ProfileDataSet &set = out_.dataSets[dataSet];
    Collected &into = collected_[{phase, member, dataSet}];
    into.blocks.resize(core::block_set_words(set.blocks()));
    const core::Reference &r = touch.reference;
    core::insert_touched(r, core::interval_of(r, 0, 1), core::kStorageBlock, into.blocks.data(), into.blocks.size());
    const uint32_t first = epochAt(touch.begin), last = epochAt(touch.end ? touch.end : part.end), count = last - first + 1;
    for (uint32_t e = first; e <= last; ++e) {
      Set &epoch = into.epochs[e];
      epoch.resize(core::block_set_words((set.blocks() + set.grain() - 1) / set.grain()));
      insertShare(r, e - first, count, core::kStorageBlock * set.grain(), &epoch);
    }
    out_.phases[phase].firstEpoch = std::min(out_.phases[phase].firstEpoch, first);
    out_.phases[phase].lastEpoch = std::max(out_.phases[phase].lastEpoch, last);
  }

  void finish() {
    for (auto &[key, collected] : collected_) {
      const auto [phase, member, dataSet] = key;
      Touched touched{member, dataSet, runsOf(collected.blocks), {}};
      for (const auto &[epoch, set] : collected.epochs)
        for (const BlockRange &run : runsOf(set)) touched.epochs.push_back({epoch, run.first, run.count});
      out_.phases[phase].touched.push_back(std::move(touched));
    }
    for (uint32_t i = 0; i < out_.phases.size(); ++i) out_.phases[i].number = i;
    std::erase_if(out_.phases, [](const ProfilePhase &phase) { return phase.touched.empty() && phase.unseen == 0; });
    for (ProfilePhase &phase : out_.phases)
      if (phase.touched.empty()) phase.firstEpoch = 0; // it is not known when it was
    std::stable_sort(out_.phases.begin(), out_.phases.end(),
                     [](const ProfilePhase &a, const ProfilePhase &b) { return a.firstEpoch < b.firstEpoch; });
    std::map<uint32_t, uint32_t> now; // the index of each phase, by its number
    for (uint32_t i = 0; i < out_.phases.size(); ++i) now[out_.phases[i].number] = i;
    for (ProfileEntry &entry : out_.entries) entry.phase = now.at(entry.phase);
    std::stable_sort(out_.entries.begin(), out_.entries.end(),
                     [](const ProfileEntry &a, const ProfileEntry &b) { return a.begin < b.begin; });
  }

  const std::vector<Part> &parts_;
  const bool withEntries_;
  Profile out_;
  uint64_t begin_ = 0, length_ = 1;
  std::map<Key, uint32_t> members_;
  std::map<std::pair<std::string, uint64_t>, std::string> functions_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Collected> collected_; ///< by phase, member and data set
};

} // namespace

Profile join(const std::vector<Part> &parts, uint32_t epochs, bool withEntries) {
  return Joining(parts, epochs, withEntries).go();
}

} // namespace pagecast::cli
