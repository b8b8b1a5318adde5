// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which compiler to run: a plugin works in one major version of LLVM only, in clang as in flang. There is one for 19, and another
// one where it was built (make plugin16).
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace pagecast::cli {

inline constexpr int kLlvmMajor = 19; ///< of the compiler that is looked for

enum class Language { kC, kCxx, kFortran };

/// The language that the compilers take a file of this name for; nothing when it is not compiled
/// (objects, assembly, libraries).
std::optional<Language> languageOf(const std::string &file);

struct Compiler {
  std::string path;
  bool needsDriverMode = false; ///< it is the C driver and C++ was wanted
  int llvmMajor = kLlvmMajor;
};

/// For C and C++ $PAGECAST_CLANG, of any version that there is a plugin for, clang-19, /usr/lib/llvm-19/bin/clang, or clang if it is
/// version 19; for Fortran the same with PAGECAST_FLANG and flang-new (its name in LLVM 19), then flang. Throws Failure.
Compiler findCompiler(Language language);

/// What `path -dumpversion` says, such as "19.1.7"; empty when it is no compiler.
std::string compilerVersion(const std::string &path);

/// Options of ours that a mode of clang may leave unused must not make it say so. (Flang knows no such
/// option, and leaves none of ours unused in the modes in which it gets them.)
std::vector<std::string> quietly(std::vector<std::string> options, Language language);

/// What loads its pass plugin into a compiler for `language`. Throws Failure when it is not there.
std::vector<std::string> pluginFlags(const Compiler &compiler, Language language);

// What clang's or flang's driver will do with a command line, as far as it matters for the plugin and the
// runtime.

/// What the compiler will do with a command line.
struct Compilation {
  bool compiles = false; ///< some input goes through the optimizer
  bool links = false;
  bool shared = false;
  bool isStatic = false;
};

/// Reads the arguments of the compiler for `language`, the response files among them too.
Compilation compilationOf(const std::vector<std::string> &arguments, Language language);

} // namespace pagecast::cli
