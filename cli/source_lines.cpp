// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "source_lines.h"
#include <fstream>

namespace fs = std::filesystem;

namespace pagecast::cli {

static std::string trimmed(const std::string &text) {
  const char *space = " \t\r\f\v";
  const size_t first = text.find_first_not_of(space);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(space) - first + 1);
}

const std::vector<std::string> &SourceLines::lines(const std::string &file) {
  const auto [entry, isNew] = files_.try_emplace(file);
  if (!isNew) return entry->second;
  // Clang writes names relative to what the file and the directory have in common, flang drops the first slash.
  std::vector<fs::path> candidates = {fs::path(file)};
  std::error_code unknown;
  for (fs::path above = fs::absolute(directory_, unknown); !above.empty(); above = above.parent_path()) {
    candidates.push_back(above / file);
    if (above == above.parent_path()) break;
  }
  for (const fs::path &path : candidates) {
    std::ifstream stream(path);
    std::error_code ignored;
    if (!stream || !fs::is_regular_file(path, ignored)) continue;
    for (std::string text; std::getline(stream, text);) entry->second.push_back(text);
    break;
  }
  return entry->second;
}

std::string SourceLines::line(const std::string &file, unsigned number) {
  if (file.empty() || number == 0) return "";
  const auto &known = lines(file);
  return number <= known.size() ? trimmed(known[number - 1]) : "";
}

} // namespace pagecast::cli
