// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/elf.h"
#include <cstring>
#include <elf.h>
#include <fstream>
#include <link.h>
#include <optional>
#include <string>
#include <vector>

namespace pagecast::cli {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Entry = ElfW(Dyn);

constexpr size_t kMaxSegments = 1024;
constexpr size_t kMaxEntries = 65536;

/// `count` objects of type T at a place in a file; nothing if the file is too short.
template <typename T> std::optional<std::vector<T>> readAt(std::ifstream &file, uint64_t offset, size_t count) {
  std::vector<T> out(count);
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char *>(out.data()), static_cast<std::streamsize>(count * sizeof(T)));
  return file ? std::optional(std::move(out)) : std::nullopt;
}

bool isNative(const Header &header) {
#if __SIZEOF_POINTER__ == 8
  const unsigned char width = ELFCLASS64;
#else
  const unsigned char width = ELFCLASS32;
#endif
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == width &&
         header.e_phentsize == sizeof(Segment) && header.e_phnum <= kMaxSegments;
}

/// Where a virtual address of the program lies in its file.
std::optional<uint64_t> fileOffset(const std::vector<Segment> &segments, uint64_t address) {
  for (const Segment &s : segments)
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
      return s.p_offset + (address - s.p_vaddr);
  return std::nullopt;
}

std::string stringAt(std::ifstream &file, uint64_t offset) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  std::string text;
  std::getline(file, text, '\0');
  return text;
}

bool needsRuntime(std::ifstream &file, const std::vector<Segment> &segments, const std::vector<Entry> &entries) {
  std::optional<uint64_t> strings;
  for (const Entry &e : entries)
    if (e.d_tag == DT_STRTAB) strings = fileOffset(segments, e.d_un.d_ptr);
  for (const Entry &e : entries) {
    if (e.d_tag == DT_NULL || !strings) break;
    if (e.d_tag == DT_NEEDED && stringAt(file, *strings + e.d_un.d_val).rfind("libpagecast.so", 0) == 0) return true;
  }
  return false;
}

} // namespace

ProgramKind programKind(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  const auto magic = readAt<char>(file, 0, 2);
  if (magic && (*magic)[0] == '#' && (*magic)[1] == '!') return ProgramKind::kScript;
  const auto mark = readAt<char>(file, 0, SELFMAG);
  if (!mark || std::memcmp(mark->data(), ELFMAG, SELFMAG) != 0) return ProgramKind::kNone;
  const auto header = readAt<Header>(file, 0, 1);
  if (!header || !isNative(header->front())) return ProgramKind::kUnknown;
  const auto segments = readAt<Segment>(file, header->front().e_phoff, header->front().e_phnum);
  if (!segments) return ProgramKind::kUnknown;
  for (const Segment &s : *segments) {
    const size_t count = s.p_filesz / sizeof(Entry);
    if (s.p_type != PT_DYNAMIC || count > kMaxEntries) continue;
    const auto entries = readAt<Entry>(file, s.p_offset, count);
    return entries && needsRuntime(file, *segments, *entries) ? ProgramKind::kWithRuntime : ProgramKind::kWithoutRuntime;
  }
  return ProgramKind::kStatic;
}

} // namespace pagecast::cli
