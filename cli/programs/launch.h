// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Becoming the user's program, with the runtime in it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace pagecast::cli {

/// The user's program, the first word of `command`; throws Failure with the reason why it cannot run. `usage`: how a program is
/// to be given.
std::filesystem::path requireProgram(const std::vector<std::string> &command, const std::string &usage);

/// Loads the runtime into it unless it asks for it itself, and becomes it. Throws Failure if it cannot be.
[[noreturn]] void preloadAndBecome(const std::filesystem::path &program, const std::vector<std::string> &command);

} // namespace pagecast::cli
