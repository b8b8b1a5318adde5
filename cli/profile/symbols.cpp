// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/profile/symbols.h"
#include "cli/text/contents.h"
#include "cli/text/message.h"
#include <cstring>
#include <elf.h>
#include <vector>

namespace pagecast::cli {
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
