// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/explain/source.h"
#include <cctype>
#include <cstdlib>
#include <cxxabi.h>
#include <fstream>

namespace fs = std::filesystem;

namespace pagecast::cli {

namespace {

std::string trimmed(const std::string &text) {
  const char *space = " \t\r\f\v";
  const size_t first = text.find_first_not_of(space);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::string demangledCxx(const std::string &symbol) {
  int status = 1;
  char *text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  const std::string out = status == 0 && text ? text : symbol;
  std::free(text);
  return out;
}

/// Flang writes _Q, then for each enclosing scope a capital (Module, Submodule, Function as host, Procedure,
/// Block) and its name in small letters; E begins the name of a variable, C that of a common block.
std::string demangledFortran(const std::string &symbol) {
  if (symbol == "_QQmain") return "main program";
  std::string scopes, name;
  for (size_t i = 2; i < symbol.size();) {
    const char kind = symbol[i++];
    if (!std::isupper(static_cast<unsigned char>(kind))) return symbol;
    name.clear();
    while (i < symbol.size() && !std::isupper(static_cast<unsigned char>(symbol[i]))) name += symbol[i++];
    if (kind == 'E' || kind == 'C') return name;
    if (!name.empty() && kind != 'B') scopes += (scopes.empty() ? "" : "::") + name;
  }
  return scopes.empty() ? symbol : scopes;
}

} // namespace

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

std::string readableName(const std::string &symbol, Language language) {
  const bool isCxx = symbol.rfind("_Z", 0) == 0, isFortran = symbol.rfind("_Q", 0) == 0;
  const size_t dot = isCxx || isFortran ? symbol.find('.') : std::string::npos;
  const std::string stem = symbol.substr(0, dot);
  if (isCxx) return demangledCxx(stem) + (dot == std::string::npos ? "" : symbol.substr(dot));
  if (isFortran) {
    const bool isVariable = stem.find('E', 2) != std::string::npos;
    return demangledFortran(stem) + (dot == std::string::npos || isVariable ? "" : symbol.substr(dot));
  }
  // An external procedure or a common block: flang appends one underscore.
  if (language == Language::kFortran && symbol.size() > 1 && symbol.back() == '_') return symbol.substr(0, symbol.size() - 1);
  return symbol;
}

} // namespace pagecast::cli
