// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kind of program a file is, read from its ELF headers: will the pagecast runtime be in it, and whose is its heap?
#pragma once
#include <filesystem>
#include <optional>

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

/// The library with the program's malloc, where that is not the C library's: an allocator that it is linked with, itself or
/// through another library. Asks the program's own loader, which does not run it. Cost: some ms.
std::optional<std::filesystem::path> linkedAllocator(const std::filesystem::path &program);

// Whose work a program is: advice to compile it is of use only to who has its source at hand.

enum class Author {
  kUser,    ///< as far as can be told
  kPackage, ///< it came with the system, as R's and Octave's interpreters do
  kPython,  ///< Python's interpreter, wherever it came from: the user's work is a script, which can give hints
};

Author authorOf(const std::filesystem::path &program);

} // namespace pagecast::cli
