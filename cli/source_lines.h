// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of lines of source files, as far as the files can be found.
#pragma once
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

} // namespace pagecast::cli
