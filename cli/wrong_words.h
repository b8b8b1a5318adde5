// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is wrong with a command line, in our words instead of the parser's.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace pagecast::cli {

/// What the parser found wrong with the arguments, and what to do about it.
std::string sentenceOf(const CLI::ParseError &error, const CLI::App &app, const std::vector<std::string> &arguments);

} // namespace pagecast::cli
