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
  kUnknown,        ///< ELF, but not native; the kernel decides what to do with it
  kNone,           ///< neither; the kernel may have been told of its kind
};

ProgramKind programKind(const std::filesystem::path &path);

} // namespace pagecast::cli
