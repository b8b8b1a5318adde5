// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pagecast profile: each process notes in a file of its own what it touches, in a directory that goes with the command.
#include "cli/commands/commands.h"
#include "cli/profile/join.h"
#include "cli/programs/process.h"
#include "cli/programs/launch.h"
#include "cli/programs/scratch.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

/// Better before the program has run than after it.
void requireWritable(const std::string &file) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) throw Failure{"the profile " + file + " cannot be written: " + errorText(errno) + "; name another file with -o"};
  close(fd);
}

void say(const Profile &made, const std::string &file) {
  if (made.phases.empty()) {
    warn("nothing was noted: no loop of a program compiled with pagecast cc touched a mapped file, and none was read, of "
         "1 MiB or more (PAGECAST_LARGE)");
    return;
  }
  std::fprintf(stderr, "pagecast: %s, %s and %s are in %s; pagecast profile show %s says who shares what\n",
               counted(made.members.size(), "member").c_str(), counted(made.phases.size(), "phase").c_str(),
               counted(made.dataSets.size(), "data set").c_str(), file.c_str(), file.c_str());
  for (const Member &member : made.members)
    if (!member.isFinished)
      warn("member " + member.name + " ended in the middle of a nest; what it was to touch there counts as touched");
  if (made.dropped) warn(std::to_string(made.dropped) + " touches found no room in the files of their processes and are missing");
}

} // namespace

void profile(const ProfileOptions &options) {
  const fs::path program = requireProgram(options.command, "pagecast profile -o p.json -- mpirun -n 8 PROGRAM ARGUMENTS");
  const std::string file = fs::absolute(options.file.empty() ? "profile.json" : options.file).string();
  requireWritable(file);
  auto folder = std::make_unique<ScratchFolder>("profile");
  const fs::path parts = fs::absolute(*folder / "parts");
  fs::create_directory(parts);
  setenv("PAGECAST_PROFILE", parts.c_str(), 1);
  if (options.withEntries) setenv("PAGECAST_PROFILE_ENTRIES", "1", 1);
  const SignalsPassedOn signals;
  const Ended ended = runChild(signals, [&] { preloadAndBecome(program, options.command); });
  const Profile made = join(readParts(parts), options.epochs, options.withEntries);
  folder.reset();
  writeProfile(made, file);
  say(made, options.file.empty() ? "profile.json" : options.file);
  endAs(ended);
}

} // namespace pagecast::cli
