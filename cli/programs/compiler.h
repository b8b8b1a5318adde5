// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which compiler to run: the plugin works in one major version of LLVM only, in clang as in flang.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace pagecast::cli {

inline constexpr int kLlvmMajor = 19;

enum class Language { kC, kCxx, kFortran };

/// The language that the compilers take a file of this name for; nothing when it is not compiled
/// (objects, assembly, libraries).
std::optional<Language> languageOf(const std::string &file);

struct Compiler {
  std::string path;
  bool needsDriverMode = false; ///< it is the C driver and C++ was wanted
};

/// For C and C++ $PAGECAST_CLANG, clang-19, /usr/lib/llvm-19/bin/clang, or clang if it is version 19; for
/// Fortran the same with PAGECAST_FLANG and flang-new (its name in LLVM 19), then flang. Throws Failure.
Compiler findCompiler(Language language);

/// What `path -dumpversion` says, such as "19.1.7"; empty when it is no compiler.
std::string compilerVersion(const std::string &path);

/// Options of ours that a mode of clang may leave unused must not make it say so. (Flang knows no such
/// option, and leaves none of ours unused in the modes in which it gets them.)
std::vector<std::string> quietly(std::vector<std::string> options, Language language);

/// What loads the pass plugin into a compiler for `language`. Throws Failure when it is not there.
std::vector<std::string> pluginFlags(Language language);

} // namespace pagecast::cli
