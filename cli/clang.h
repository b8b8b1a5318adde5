// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which clang to run: the plugin works in one major version of LLVM only.
#pragma once
#include <string>

namespace pagecast::cli {

inline constexpr int kLlvmMajor = 19;

enum class Language { kC, kCxx };

struct Clang {
  std::string path;
  bool needsDriverMode = false; ///< it is the C driver and C++ was wanted
};

/// $PAGECAST_CLANG, clang-19, /usr/lib/llvm-19/bin/clang, or clang if it is version 19. Throws Failure.
Clang findClang(Language language);

/// What `path -dumpversion` says, such as "19.1.7"; empty when it is no compiler.
std::string clangVersion(const std::string &path);

} // namespace pagecast::cli
