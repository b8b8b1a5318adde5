// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An optimization record, which clang and flang write with -fsave-optimization-record: the remarks of the
// pass in it. Nothing here knows the names of remarks or of their arguments.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace pagecast::cli {

struct SourceLocation {
  std::string file;
  unsigned line = 0; ///< 0 = unknown
  unsigned column = 0;
};

struct Remark {
  enum class Kind { kPassed, kMissed, kOther };
  Kind kind = Kind::kOther;
  std::string name;
  std::string function; ///< its symbol
  SourceLocation at;
  std::vector<std::pair<std::string, std::string>> arguments; ///< as they make up the text

  /// The key of the argument that tells where the outermost loop is, as "file.c:6:3". It is no part of the sentence.
  static constexpr const char *kNest = "Nest";

  /// The sentence: all other values in a row.
  std::string text() const;
  /// The value of an argument; empty when there is none.
  std::string value(const std::string &key) const;
};

/// The pass's remarks in the order in which it made them. Throws Failure when the file cannot be read or is
/// no record.
std::vector<Remark> readRecord(const std::string &path);

/// The remarks for `source`, compiled with -O2 -g and the user's own `options`. Leaves no file behind. Throws
/// Failure when it does not compile, after printing what the compiler said, and when the pass did not run.
std::vector<Remark> remarksOf(const std::string &source, const std::vector<std::string> &options);

} // namespace pagecast::cli
