// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kind of program a file is, read from its ELF headers: will the pagecast runtime be in it?
#pragma once
#include <filesystem>

namespace pagecast::cli {

enum class ProgramKind {
  kWithRuntime,    ///< dynamic, needs libpagecast.so
  kWithoutRuntime, ///< dynamic, does not
  kStatic,         ///< no dynamic section
  kScript,         ///< starts with #!
  kUnknown,        ///< not a native ELF file; the kernel decides what to do with it
};

ProgramKind programKind(const std::filesystem::path &path);

} // namespace pagecast::cli
