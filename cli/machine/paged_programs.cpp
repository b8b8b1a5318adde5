// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/machine/paged_programs.h"
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

/// The pager has a thread of this name from when paging begins (runtime/process/runtime.cpp).
constexpr const char *kPagerThread = "pagecast-pager";
constexpr const char *kRuntime = "/libpagecast.so";
constexpr size_t kLongestName = 60;

/// All of a file of /proc, whose size is not known before; empty when it cannot be read. A process may end between the opening and the
/// reading: the stream that is written to takes that error, which an iterator over the buffer would throw.
std::string contents(const fs::path &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool hasRuntime(const fs::path &process) { return contents(process / "maps").find(kRuntime) != std::string::npos; }

bool hasPager(const fs::path &process) {
  std::error_code gone;
  for (fs::directory_iterator at(process / "task", gone), end; !gone && at != end; at.increment(gone))
    if (contents(at->path() / "comm").rfind(kPagerThread, 0) == 0) return true;
  return false;
}

/// The number after `key` in a file of lines such as "VmRSS:  123 kB".
std::optional<uint64_t> field(const std::string &text, const std::string &key) {
  const size_t at = text.find(key);
  if (at == std::string::npos) return std::nullopt;
  const size_t digits = text.find_first_of("0123456789", at + key.size());
  uint64_t value = 0;
  if (digits == std::string::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + digits, text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// The value of a variable in an environment, whose variables end in zeros.
std::string variable(const std::string &environment, const std::string &name) {
  std::istringstream all(environment);
  for (std::string each; std::getline(all, each, '\0');)
    if (each.rfind(name + "=", 0) == 0) return each.substr(name.size() + 1);
  return "";
}

std::string nameOf(const std::string &commandLine) {
  std::istringstream all(commandLine);
  std::string out;
  for (std::string word; out.size() < kLongestName && std::getline(all, word, '\0');)
    out += out.empty() ? fs::path(word).filename().string() : " " + word;
  return out.substr(0, kLongestName);
}

/// The 22nd field of stat; names of programs may have spaces and parentheses.
uint64_t bornAt(const fs::path &process) {
  const std::string stat = contents(process / "stat");
  std::istringstream rest(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  std::string each;
  for (int i = 3; i <= 22; ++i) rest >> each;
  uint64_t ticks = 0;
  std::from_chars(each.data(), each.data() + each.size(), ticks);
  return ticks;
}

/// A name that is not absolute is below the program's own directory. "%p" stands for the process number.
std::string statisticsOf(const fs::path &process, std::string named, int pid) {
  if (named.empty()) return "";
  for (size_t at; (at = named.find("%p")) != std::string::npos;) named.replace(at, 2, std::to_string(pid));
  std::error_code gone;
  const fs::path directory = fs::read_symlink(process / "cwd", gone);
  return (directory / named).string();
}

PagedProgram look(const fs::path &process, int pid) {
  PagedProgram out;
  out.pid = pid;
  out.born = bornAt(process);
  out.name = nameOf(contents(process / "cmdline"));
  out.paged = hasPager(process);
  out.heldBytes = field(contents(process / "status"), "VmRSS:").value_or(0) * 1024;
  const std::string environment = contents(process / "environ"), io = contents(process / "io");
  out.memory = variable(environment, "PAGECAST_MEMORY");
  if (out.memory.empty()) out.memory = "auto";
  out.statistics = statisticsOf(process, variable(environment, "PAGECAST_STATS"), pid);
  out.readBytes = field(io, "\nread_bytes:");
  out.writtenBytes = field(io, "\nwrite_bytes:");
  return out;
}

} // namespace

std::vector<PagedProgram> pagedPrograms() {
  std::vector<PagedProgram> out;
  std::error_code gone; // who ends meanwhile is none any more
  for (fs::directory_iterator at("/proc", gone), end; !gone && at != end; at.increment(gone)) {
    const std::string number = at->path().filename().string();
    int pid = 0;
    const auto [rest, error] = std::from_chars(number.data(), number.data() + number.size(), pid);
    if (error == std::errc() && rest == number.data() + number.size() && hasRuntime(at->path()))
      out.push_back(look(at->path(), pid));
  }
  std::sort(out.begin(), out.end(), [](const PagedProgram &a, const PagedProgram &b) { return a.pid < b.pid; });
  return out;
}

} // namespace pagecast::cli
