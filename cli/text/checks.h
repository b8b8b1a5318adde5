// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is wrong with the value of an option, in words; nothing where it is as it should be.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace pagecast::cli {

using WordCheck = std::function<std::string(const std::string &)>;

/// A number from `least` to `most`.
WordCheck between(double least, double most);
/// The same, of digits alone.
WordCheck wholeBetween(double least, double most);
WordCheck oneOf(const std::vector<std::string> &words);

} // namespace pagecast::cli
