// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/program_kind.h"
#include "cli/programs/process.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <link.h>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace pagecast::cli {

namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Entry = ElfW(Dyn);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

constexpr size_t kMaxSegments = 1024;
constexpr size_t kMaxEntries = 65536;
constexpr size_t kMaxSymbols = 1u << 20;

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

/// The header of a native ELF file.
std::optional<Header> headerOf(std::ifstream &file) {
  const auto header = readAt<Header>(file, 0, 1);
  return header && isNative(header->front()) ? std::optional(header->front()) : std::nullopt;
}

/// The loader that the program names.
std::string loaderOf(const std::filesystem::path &program) {
  std::ifstream file(program, std::ios::binary);
  const auto header = headerOf(file);
  const auto segments = header ? readAt<Segment>(file, header->e_phoff, header->e_phnum) : std::nullopt;
  for (const Segment &s : segments.value_or(std::vector<Segment>()))
    if (s.p_type == PT_INTERP) return stringAt(file, s.p_offset);
  return "";
}

/// Whether programs that are linked with the library have their malloc from it.
bool definesMalloc(const std::filesystem::path &library) {
  std::ifstream file(library, std::ios::binary);
  const auto header = headerOf(file);
  if (!header || header->e_shentsize != sizeof(Section)) return false;
  const auto sections = readAt<Section>(file, header->e_shoff, header->e_shnum);
  for (const Section &s : sections.value_or(std::vector<Section>())) {
    if (s.sh_type != SHT_DYNSYM || s.sh_link >= sections->size() || s.sh_size / sizeof(Symbol) > kMaxSymbols) continue;
    const auto symbols = readAt<Symbol>(file, s.sh_offset, s.sh_size / sizeof(Symbol));
    const auto names = readAt<char>(file, (*sections)[s.sh_link].sh_offset, (*sections)[s.sh_link].sh_size);
    if (!symbols || !names || names->empty() || names->back() != 0) return false;
    for (const Symbol &symbol : *symbols)
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_name < names->size() &&
          std::strcmp(names->data() + symbol.st_name, "malloc") == 0)
        return true;
  }
  return false;
}

} // namespace

std::optional<std::filesystem::path> linkedAllocator(const std::filesystem::path &program) {
  const std::string loader = loaderOf(program);
  if (loader.empty() || definesMalloc(program)) return std::nullopt;
  // Without what is preloaded, which is listed like what the program is linked with.
  std::istringstream listed(runProgram({"env", "-u", "LD_PRELOAD", loader, "--list", program.string()}, Keep::kOutput).text);
  for (std::string line; std::getline(listed, line);) {
    const size_t slash = line.find('/'), end = line.rfind(" (0x");
    if (slash == std::string::npos || end == std::string::npos || end < slash) continue;
    const std::filesystem::path library = line.substr(slash, end - slash);
    if (!definesMalloc(library)) continue;
    return library.filename().string().rfind("libc.so", 0) == 0 ? std::nullopt : std::optional(library);
  }
  return std::nullopt;
}

ProgramKind programKind(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  const auto magic = readAt<char>(file, 0, 2);
  if (magic && (*magic)[0] == '#' && (*magic)[1] == '!') return ProgramKind::kScript;
  const auto elf = readAt<char>(file, 0, SELFMAG);
  if (!elf || std::memcmp(elf->data(), ELFMAG, SELFMAG) != 0) return ProgramKind::kNone;
  const auto header = headerOf(file);
  if (!header) return ProgramKind::kUnknown;
  const auto segments = readAt<Segment>(file, header->e_phoff, header->e_phnum);
  if (!segments) return ProgramKind::kUnknown;
  for (const Segment &s : *segments) {
    const size_t count = s.p_filesz / sizeof(Entry);
    if (s.p_type != PT_DYNAMIC || count > kMaxEntries) continue;
    const auto entries = readAt<Entry>(file, s.p_offset, count);
    return entries && needsRuntime(file, *segments, *entries) ? ProgramKind::kWithRuntime : ProgramKind::kWithoutRuntime;
  }
  return ProgramKind::kStatic;
}

namespace {

/// Where packages of systems put programs. /usr/local is the administrator's, whose programs have been compiled here.
constexpr const char *kPackageFolders[] = {"/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/", "/usr/games/",
                                           "/bin/",     "/sbin/",     "/lib/",     "/opt/",       "/nix/store/",   "/snap/"};

/// The file that a script names in its first line; empty where the program is none.
std::string interpreterOf(const fs::path &program) {
  std::ifstream file(program);
  std::string line;
  if (file.get() != '#' || file.get() != '!') return {};
  std::getline(file, line);
  return line;
}

bool isPython(const std::string &name) { return name.rfind("python", 0) == 0 || name.rfind("pypy", 0) == 0; }

} // namespace

Author authorOf(const fs::path &program) {
  std::error_code error;
  const fs::path target = fs::canonical(program, error);
  const std::string text = target.string(), interpreter = interpreterOf(target);
  if (isPython(target.filename().string()) || interpreter.find("python") != std::string::npos) return Author::kPython;
  const bool packaged = std::any_of(std::begin(kPackageFolders), std::end(kPackageFolders),
                                    [&](const char *folder) { return text.rfind(folder, 0) == 0; });
  return packaged || !interpreter.empty() ? Author::kPackage : Author::kUser;
}

} // namespace pagecast::cli
