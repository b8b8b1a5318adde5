// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what a compiler says back to the source: the text of a line, as far as its file can be found, and the name that a
// symbol of the linker has there.
#pragma once
#include "cli/programs/compiler.h"
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace pagecast::cli {

class SourceLines {
public:
  /// Relative names are looked for in the current directory, then in `directory`.
  explicit SourceLines(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Line `number`, counted from 1, without the white space around it; empty when unknown.
  std::string line(const std::string &file, unsigned number);

private:
  const std::vector<std::string> &lines(const std::string &file);

  std::filesystem::path directory_;
  std::map<std::string, std::vector<std::string>> files_;
};

/// "ns::f(int)" for _ZN2ns1fEi; "m::p" for flang's _QMmPp; "a" for the variable _QFEa.0; the symbol itself
/// when it is none of these. What the compiler appended (".omp_outlined") stays.
std::string readableName(const std::string &symbol, Language language);

} // namespace pagecast::cli
