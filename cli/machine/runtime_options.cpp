// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/machine/runtime_options.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include "runtime/state/options.h"
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <vector>

namespace pagecast::cli {
namespace {

/// What an option of a kind may be, where that is a few words.
std::vector<std::string> wordsOf(const std::string &kind) {
  if (kind == "schedule") return {std::begin(kScheduleWords), std::end(kScheduleWords)};
  if (kind == "far") return farSchemes();
  if (kind == "backend") return {std::begin(kBackEndWords), std::end(kBackEndWords)};
  std::vector<std::string> out;
  for (size_t i = 0; kind == "flag" && i < std::size(kYesWords); ++i) out.insert(out.end(), {kYesWords[i], kNoWords[i]});
  return out;
}

void requireOneOf(const std::vector<std::string> &words, const std::string &value, const std::string &what) {
  std::string all;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == value) return;
    all += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  if (!words.empty()) throw Failure{what + " is none of its values; write " + all};
}

/// Digits, and no more than 64 bits hold.
bool isCount(const std::string &value) {
  errno = 0;
  std::strtoull(value.c_str(), nullptr, 10);
  return errno == 0 && value.find_first_not_of("0123456789") == std::string::npos;
}

/// A size, and one that has a meaning. Of memory, which has an option of its own, that option's check says more.
void requireSize(const std::string &name, const std::string &value) {
  const uint64_t bytes = parseSize(value, "--option " + name);
  for (const auto &known : kLeastSizes)
    if (name == known.name && name != "MEMORY" && bytes < known.least)
      throw Failure{"--option " + name + "=" + value + " is less than the least of " + known.text + "; write " + known.text +
                    " or more"};
}

} // namespace

uint64_t leastMemory() { return kLeastMemory; }

std::vector<std::string> farSchemes() { return {std::begin(kFarWords), std::end(kFarWords)}; }
std::vector<std::string> releasePolicies() { return {std::begin(kReleaseWords), std::end(kReleaseWords)}; }

void requireRuntimeOption(const std::string &name, const std::string &value) {
  struct Known {
    const char *name, *kind;
  };
  static constexpr Known table[] = {
#define PAGECAST_OPTION(field, NAME, type, initial, kind, text) {NAME, #kind},
#include "runtime/state/options.def"
#undef PAGECAST_OPTION
  };
  std::vector<std::string> names;
  for (const Known &known : table) {
    names.push_back(known.name);
    if (name != known.name) continue;
    const std::string kind = known.kind, what = "--option " + name + "=" + value;
    if (value.empty()) throw Failure{what + " has no value"};
    if (kind == "size" && value != "auto") requireSize(name, value);
    if (kind == "count" && !isCount(value))
      throw Failure{what + " is not a number; write digits alone, such as --option " + name + "=64"};
    requireOneOf(wordsOf(kind), value, what);
    return;
  }
  throw Failure{"there is no option " + name + suggestion(name, names, "pagecast run --help")};
}

} // namespace pagecast::cli
