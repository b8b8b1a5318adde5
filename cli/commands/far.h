// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace pagecast::cli {

/// Who asks servers of mapped exports ahead: `pagecast run --far SCHEME[,threshold=80][,smallest=3][,interval=10][,profile=P.JSON]`.
/// Starts the helper of the job, if the scheme has one and no `pagecast run` around has started it. `command`: the program's.
void applyFar(const std::string &given, const std::vector<std::string> &command);

} // namespace pagecast::cli
