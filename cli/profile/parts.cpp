// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/profile/parts.h"
#include "cli/text/contents.h"
#include "core/sharing/touch_records.h"
#include <algorithm>
#include <cstring>
#include <map>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

/// Reads records one after the other. What does not hold together ends the reading: a process may be killed in mid-record.
class Reader {
public:
  Reader(std::string bytes, Part *part) : bytes_(std::move(bytes)), part_(*part) {}

  bool readHead() {
    if (bytes_.size() < sizeof head_) return false;
    std::memcpy(&head_, bytes_.data(), sizeof head_);
    if (std::memcmp(head_.magic, core::kProfileMagic, sizeof head_.magic) || head_.version != core::kProfileVersion) return false;
    part_.program.assign(head_.program, strnlen(head_.program, sizeof head_.program));
    part_.process = head_.process;
    part_.rank = head_.rank;
    part_.begin = head_.started_real_ns;
    part_.end = wall(head_.last_ns);
    part_.dropped = head_.dropped;
    return true;
  }

  void readRecords() {
    const uint64_t end = std::min<uint64_t>(head_.bytes, bytes_.size());
    for (uint64_t at = sizeof head_; at + sizeof(core::RecordHead) <= end;) {
      core::RecordHead head;
      std::memcpy(&head, bytes_.data() + at, sizeof head);
      if (head.bytes < sizeof head || head.bytes % 8 || head.bytes > end - at || !readRecord(head, at)) return;
      at += head.bytes;
    }
  }

private:
  uint64_t wall(uint64_t ns) const { return head_.started_real_ns + (ns - head_.started_ns); }

  template <class Record> bool copy(Record *out, const core::RecordHead &head, uint64_t at) const {
    if (head.bytes < sizeof *out) return false;
    std::memcpy(static_cast<void *>(out), bytes_.data() + at, sizeof *out);
    return true;
  }
  /// Up to a zero byte, or the end of the record.
  std::string text(uint64_t from, uint64_t end) const {
    return from < end ? std::string(bytes_.data() + from, strnlen(bytes_.data() + from, end - from)) : std::string();
  }

  bool readRecord(const core::RecordHead &head, uint64_t at) {
    switch (head.kind) {
    case core::RecordKind::kEnd: return true;
    case core::RecordKind::kDataSet: return readDataSet(head, at);
    case core::RecordKind::kNest: return readNest(head, at);
    case core::RecordKind::kCaller: return readCaller(head, at);
    case core::RecordKind::kTouch: return readTouch(head, at);
    }
    return false;
  }

  bool readDataSet(const core::RecordHead &head, uint64_t at) {
    core::DataSetRecord r;
    if (!copy(&r, head, at)) return false;
    dataSets_[r.number] = part_.dataSets.size();
    part_.dataSets.push_back({text(at + sizeof r, at + head.bytes), r.bytes});
    return true;
  }

  bool readNest(const core::RecordHead &head, uint64_t at) {
    core::NestRecord r;
    if (!copy(&r, head, at)) return false;
    PartPhase phase;
    phase.isNest = true;
    const uint64_t names = at + offsetof(core::NestRecord, text);
    phase.file = text(names, at + head.bytes);
    phase.function = text(names + phase.file.size() + 1, at + head.bytes);
    phase.line = r.line;
    phase.references = r.references;
    phase.unseen = r.unseen;
    addPhase(r.number, phase);
    return true;
  }

  bool readCaller(const core::RecordHead &head, uint64_t at) {
    core::CallerRecord r;
    if (!copy(&r, head, at)) return false;
    PartPhase phase;
    phase.file = text(at + sizeof r, at + head.bytes);
    phase.offset = r.offset;
    addPhase(r.number, phase);
    return true;
  }

  void addPhase(uint32_t number, const PartPhase &phase) {
    phases_[number] = uint32_t(part_.phases.size());
    part_.phases.push_back(phase);
  }

  bool readTouch(const core::RecordHead &head, uint64_t at) {
    core::TouchRecord r;
    if (!copy(&r, head, at) || r.loops > core::kMaxLoops || head.bytes < sizeof r + 16 * r.loops) return false;
    const auto phase = phases_.find(r.phase);
    const auto dataSet = dataSets_.find(r.data_set);
    if (phase == phases_.end() || dataSet == dataSets_.end()) return false;
    PartTouch touch{r.thread, phase->second, uint32_t(dataSet->second), wall(r.begin_ns), r.end_ns ? wall(r.end_ns) : 0, {}};
    touch.reference.first = r.first;
    touch.reference.span = r.span;
    touch.reference.loops = r.loops;
    for (uint32_t k = 0; k < r.loops; ++k) {
      uint64_t pair[2];
      std::memcpy(pair, bytes_.data() + at + sizeof r + 16 * k, sizeof pair);
      touch.reference.trips[k] = pair[0];
      touch.reference.stride[k] = int64_t(pair[1]);
    }
    part_.touches.push_back(touch);
    return true;
  }

  const std::string bytes_;
  Part &part_;
  core::ProfileHead head_{};
  std::map<uint64_t, size_t> dataSets_;
  std::map<uint32_t, uint32_t> phases_;
};

} // namespace

std::vector<Part> readParts(const fs::path &directory) {
  std::vector<Part> out;
  for (const auto &entry : fs::directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue; // the program may know the directory
    Part part;
    Reader reader(contentsOf(entry.path(), "the part of a profile " + entry.path().string(), ""), &part);
    if (!reader.readHead()) continue;
    reader.readRecords();
    if (!part.phases.empty()) out.push_back(std::move(part));
  }
  std::sort(out.begin(), out.end(),
            [](const Part &a, const Part &b) { return std::pair(a.rank, a.process) < std::pair(b.rank, b.process); });
  return out;
}

} // namespace pagecast::cli
