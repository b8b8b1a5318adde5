// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/profile/parts.h"
#include "cli/text/contents.h"
#include "cli/text/message.h"
#include "core/sharing/touch_records.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <map>
#include <vector>

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
    PartTouch touch{r.thread, phase->second,         uint32_t(dataSet->second), wall(r.begin_ns), r.end_ns ? wall(r.end_ns) : 0,
                    {},       core::Stored(r.stored)};
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

namespace {

/// A file of sections that may be anything: nothing is read beyond its end.
class Sections {
public:
  explicit Sections(const std::string &path) {
    try {
      bytes_ = contentsOf(path, path, "");
    } catch (const Failure &) { return; } // it has gone, or is something else by now
    Elf64_Ehdr head;
    if (!copy(&head, 0) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64) return;
    for (unsigned i = 0; i < head.e_shnum; ++i) {
      Elf64_Shdr section;
      if (!copy(&section, head.e_shoff + i * sizeof section)) return;
      sections_.push_back(section);
    }
  }

  /// The function there, by the first table of this type.
  std::string find(uint32_t type, uint64_t address) const {
    for (const Elf64_Shdr &table : sections_) {
      if (table.sh_type != type || table.sh_link >= sections_.size()) continue;
      Elf64_Sym symbol;
      for (uint64_t at = 0; at + sizeof symbol <= table.sh_size && copy(&symbol, table.sh_offset + at); at += sizeof symbol)
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && address - symbol.st_value < symbol.st_size)
          return text(sections_[table.sh_link].sh_offset + symbol.st_name);
    }
    return {};
  }

private:
  template <class T> bool copy(T *out, uint64_t at) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof *out) return false;
    std::memcpy(out, bytes_.data() + at, sizeof *out);
    return true;
  }
  std::string text(uint64_t at) const {
    return at < bytes_.size() ? std::string(bytes_.data() + at, strnlen(bytes_.data() + at, bytes_.size() - at)) : std::string();
  }

  std::string bytes_;
  std::vector<Elf64_Shdr> sections_;
};

} // namespace

std::string functionAt(const std::string &program, uint64_t offset) {
  const Sections sections(program);
  const std::string found = sections.find(SHT_SYMTAB, offset);
  return found.empty() ? sections.find(SHT_DYNSYM, offset) : found;
}

} // namespace pagecast::cli
