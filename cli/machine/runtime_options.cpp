// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/machine/runtime_options.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include <vector>

namespace pagecast::cli {

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
    if (kind == "size" && value != "auto") parseSize(value, "--option " + name);
    if (kind == "count" && value.find_first_not_of("0123456789") != std::string::npos)
      throw Failure{what + " is not a number; write digits alone, such as --option " + name + "=64"};
    return;
  }
  throw Failure{"there is no option " + name + "; the nearest is " + nearest(name, names) +
                ", and pagecast run --help lists them all"};
}

} // namespace pagecast::cli
