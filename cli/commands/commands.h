// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The subcommands: for each, what the user can say as a struct, and the function that does it. Each is defined in the file of its
// name. They throw Failure where they cannot do it.
#pragma once
#include "cli/machine/probes.h"
#include "cli/programs/compiler.h"
#include "speculate/control/options.h"
#include <cstdint>
#include <string>
#include <vector>

namespace pagecast::cli {

/// What the user said; empty = not said.
struct RunOptions {
  std::string memory, backing, stats, release;
  std::string far; ///< SCHEME and its rules, as applyFar() takes them
  std::vector<std::string> maps; ///< PATH=URI
  std::vector<std::string> others; ///< NAME=VALUE
  bool summary = false; ///< say in one line what the run did when it has ended
  std::vector<std::string> command;
};

/// Refuses a command that begins with an option: one of ours, misspelt. What stands behind `--` is the program's name.
void requireKnownOptions(const std::vector<std::string> &command);

/// Checks the options, hands them to the runtime by the environment and becomes the program; or, for a summary, waits for it
/// and ends as it did.
[[noreturn]] void run(const RunOptions &options);

/// What the runtime says of its options, one a line; empty when it cannot be asked.
std::string runtimeOptionsHelp();

/// Who asks servers of mapped exports ahead: `pagecast run --far SCHEME[,threshold=80][,smallest=3][,interval=10][,profile=P.JSON]`.
/// Starts the helper of the job, if the scheme has one and no `pagecast run` around has started it. `command`: the program's.
void applyFar(const std::string &given, const std::vector<std::string> &command);

/// Becomes clang or flang with the pass loaded and the runtime linked. Returns only by throwing Failure.
[[noreturn]] void cc(Language language, const std::vector<std::string> &arguments);

using SpeculateOptions = speculate::Options;

/// Refuses a command that begins with an option: one of ours, misspelt.
void requireSpeculateOptions(const std::vector<std::string> &command);

/// Becomes the program, with a controller beside it; with statistics, stays until the program has ended. Returns only when
/// there is no such program: the status that a shell gives then.
int speculate(const SpeculateOptions &options);

/// What this host allows pagecast speculate; a lack is only a warning, since programs run without it.
Check probeSpeculation();

struct ExplainOptions {
  std::string file; ///< a source, or a record of remarks
  std::vector<std::string> compilerOptions;
  std::string statistics; ///< empty = none
  bool json = false;
  bool libraries = false; ///< show the lines of libraries, too
};

/// Prints what the pass did for each reference of `file`, and why not more.
int explain(const ExplainOptions &options);

struct ReportOptions {
  std::vector<std::string> files; ///< that runs wrote with --stats
  bool json = false;
};

/// Prints what the runs did, a row each, in the order of the files. Throws Failure at the first that cannot be read; nothing
/// has been printed then.
int report(const ReportOptions &options);

struct TopOptions {
  bool json = false; ///< one line of JSON an interval
  double interval = 1; ///< seconds
  unsigned count = 0; ///< views until it ends; 0: until it is interrupted
};

/// Shows what the paged programs of this host do, time after time. An interruption ends it, with success.
int top(const TopOptions &options);

struct ProfileOptions {
  std::string file; ///< to be written; empty: profile.json
  uint32_t epochs = 500;
  bool withEntries = false;
  std::vector<std::string> command;
};

/// Runs the program, joins what its processes noted, and ends as it did.
[[noreturn]] void profile(const ProfileOptions &);

struct ShowProfileOptions {
  std::string file;
  std::string run; ///< a profile of another run; empty: none
  std::string svg; ///< to be written; empty: beside the profile
  std::string by = "nest";
  double threshold = 80; ///< percent
  uint32_t smallest = 3;
  bool json = false;
};

/// Prints who shares what in each phase, and draws it.
int showProfile(const ShowProfileOptions &);

struct ServeOptions {
  std::string directory;
  std::string cache = "150M", block = "64K", policy = "aging";
  std::string listen; ///< empty: a socket in a private directory
  std::string tls; ///< a directory of certificates or a file of keys; empty: none
  bool writable = false;
  double latency = 0; ///< of the disk, in milliseconds
  std::string rate; ///< of the disk, bytes in a second; empty: its own
  bool json = false;
};

/// Serves the files of a directory through a storage cache until a signal ends it; then says what clients did. Returns the
/// exit status.
int serve(const ServeOptions &options);

struct DoctorOptions {
  bool json = false;
  bool noDisk = false;
  std::string backing; ///< as of `pagecast run`; empty: what run would take by itself
  double diskSeconds = 1;
};

/// Prints what this host allows; 1 when something necessary is lacking, else 0.
int doctor(const DoctorOptions &options);

} // namespace pagecast::cli
