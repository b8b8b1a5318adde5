// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What people write, and what they meant by it. Sizes are 256M, 4GiB, 1.5G, 512k or 1048576; their units are binary, so
// that K, KB and KiB are all 1024 bytes. Of a misspelt word, the nearest one that is known is what was meant.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pagecast::cli {

/// Bytes; throws Failure when `text`, the value of `what`, is not a size.
uint64_t parseSize(const std::string &text, const std::string &what);

/// For people: "256 MiB", "1.5 GiB", "17 B".
std::string showSize(uint64_t bytes);

/// Decimal digits and nothing else, at least one.
bool isDigits(const std::string &text);

/// "1 phase", "2 phases", "1 data set"; for nouns whose plural ends in s.
std::string counted(size_t count, const std::string &noun);

/// "a, b, c".
std::string commaList(const std::vector<std::string> &words);

/// What may have been meant by `word`, and where all are listed, as the end of a sentence: "; the nearest is 'run', and pagecast --help
/// lists them all". Of words of which half the letters would have to change, none was meant. `quote` stands around it.
std::string suggestion(const std::string &word, const std::vector<std::string> &known, const std::string &list,
                       const std::string &quote = "");

// What is wrong with the value of an option, in words; nothing where it is as it should be.

using WordCheck = std::function<std::string(const std::string &)>;

/// A number from `least` to `most`.
WordCheck between(double least, double most);
/// The same, of digits alone.
WordCheck wholeBetween(double least, double most);
WordCheck oneOf(const std::vector<std::string> &words);

} // namespace pagecast::cli
