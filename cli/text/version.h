// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which commit this is: the build writes the definition, by cmake/Commit.cmake.
#pragma once

namespace pagecast::cli {
extern const char *const kCommit; ///< "" where the sources came without a repository
} // namespace pagecast::cli
