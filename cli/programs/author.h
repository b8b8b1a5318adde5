// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whose work a program is: advice to compile it is of use only to who has its source at hand.
#pragma once
#include <filesystem>

namespace pagecast::cli {

enum class Author {
  kUser,    ///< as far as can be told
  kPackage, ///< it came with the system, as R's and Octave's interpreters do
  kPython,  ///< Python's interpreter, wherever it came from: the user's work is a script, which can give hints
};

Author authorOf(const std::filesystem::path &program);

} // namespace pagecast::cli
