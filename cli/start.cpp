// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file that `pagecast` is, under all of its names: small, and without a library that would have to be loaded. `pagecast speculate`
// begins its program from here, or even before (entry.cpp), since all that comes before the program is time that it takes longer. For everything else
// it becomes the command proper (main.cpp), which lies beside the plugin, with the same arguments.
#include "cli/entry.h"
#include "cli/text/message.h"
#include "speculate/control/options.h"
#include <cerrno>
#include <climits>
#include <optional>
#include <unistd.h>

namespace pagecast::cli {
namespace {

/// The options in `words`, which follow "speculate", where they are so plain that no parser is needed.
std::optional<speculate::Options> plainOptions(const std::vector<std::string> &words) {
  speculate::Options options;
  size_t at = 0;
  for (; at < words.size() && words[at][0] == '-' && words[at] != "--"; at++) {
    if (words[at] == "--summary") options.summary = true;
    else if (words[at] == "--account") options.account = true;
    else if (words[at] == "--eager") options.eager = true;
    else if (words[at] == "--stats" && at + 1 < words.size() && !words[at + 1].empty() && words[at + 1][0] != '-')
      options.stats = words[++at];
    else return std::nullopt;
  }
  if (at < words.size() && words[at] == "--") at++;
  options.command.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  if (options.command.empty() || options.command[0].empty()) return std::nullopt;
  return options;
}

/// The command proper, which lies at lib/pagecast/pagecast beside the directory of this file. Empty: nobody tells where this file is.
std::string commandProper() {
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  if (length <= 0 || static_cast<size_t>(length) == sizeof self) return "";
  const std::string path(self, static_cast<size_t>(length));
  const size_t file = path.rfind('/');
  const size_t directory = file ? path.rfind('/', file - 1) : std::string::npos;
  return path.substr(0, directory == std::string::npos ? 0 : directory) + "/lib/pagecast/pagecast";
}

} // namespace
} // namespace pagecast::cli

int main(int argc, char **argv) {
  using namespace pagecast::cli;
#ifdef PAGECAST_OWN_ENTRY
  if (pagecast_begun_program) pagecast::speculate::watch(pagecast_begun_program);
#endif
  if (argc > 2 && std::string(argv[1]) == "speculate" && std::string(program_invocation_short_name) == "pagecast") {
    // It returns where there is no such program, which the command proper finds out once more, and says.
    if (const auto options = plainOptions({argv + 2, argv + argc})) pagecast::speculate::start(*options);
  }
  const std::string command = commandProper();
  if (command.empty()) return reportFailure({"/proc/self/exe cannot be read, so the runtime cannot be found; mount /proc"});
  execv(command.c_str(), argv);
  return reportFailure({command + ", a part of this command, cannot be run: " + errorText(errno) + "; install Pagecast again"});
}
