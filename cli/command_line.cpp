// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/command_line.h"
#include "cli/text/spelling.h"
#include <functional>

namespace pagecast::cli {
namespace {

constexpr const char *kExamples = R"(
Examples:
  pagecast cc -O2 sort.c -o sort               compile with hints: clang 19 with a plugin
  CC=pagecast-cc ./configure && make           the same for a whole project
  pagecast fc -O2 heat.f90 -o heat             the same for Fortran: flang 19 with the plugin
  pagecast run --memory 256M -- ./sort big     run in 256 MiB, whatever the size of its data
  pagecast run --stats s.json -- ./sort big    write what happened to s.json
  pagecast report s.json                       what that run did, as a table
  pagecast top                                 what paged programs do now
  pagecast speculate -- grep -r needle /data   hints for any program that reads files
  pagecast explain sort.c                      which references get hints, and why others do not
  pagecast profile -- mpirun -n 8 ./solve      which ranks share the files that they read
  pagecast serve /data                         its files for many, through one cache
  pagecast doctor                              what this machine allows

`pagecast COMMAND --help` says more. Arguments of cc and c++ are clang's, of
fc flang's.
)";

constexpr const char *kRunNotes = R"(
SIZE is a number of bytes, or one with a unit: 512k, 256M, 1.5G, 4GiB. Units are binary: K and KiB are
both 1024 bytes. Without --memory the budget is the memory limit of the cgroup, or what is free.

Examples:
  pagecast run --memory 1G --backing /var/tmp -- ./simulate input.dat
  pagecast run --release none --option distance=64 --stats out.json -- ./simulate input.dat
)";

constexpr const char *kSpeculateNotes = R"(
While the program waits for a disk, a copy of it runs ahead and finds out what it will read. The copy can change
nothing. Programs whose files are in memory, or on a fast disk, run as they would; docs/speculate.md says more.

Examples:
  pagecast speculate -- grep -r needle /data
  pagecast speculate --summary -- tar cf - /net/project | zstd >project.tar.zst
)";

constexpr const char *kProfileNotes = R"(
Each process notes which blocks of 64 KiB its nests and reads touch, of files of 1 MiB or more that it maps or reads. A
phase is a nest of a program compiled with pagecast cc, or a function that reads. Nothing is paged meanwhile, so take a
small input: the profile serves others. docs/profile.md says what is not seen.

pagecast profile show P.JSON says for each phase how much each pair of ranks shares, and which of them should have one
helper that prefetches for all; and it draws all of it.

Examples:
  pagecast profile -o p.json -- mpirun -n 8 ./solve small.dat
  pagecast profile show p.json
  pagecast profile show p.json --threshold 70 --by function --svg figure.svg
  pagecast profile show p.json --run q.json       would it serve the run that q.json was made from?
)";

constexpr const char *kServeNotes = R"(
Clients are those of NBD, such as libnbd, nbdcopy or qemu; a file's name is the export's. NBD's cache request is a
prefetch into the cache. Clients may give a name: FILE?client=NAME. An interruption ends it, and says what each client
did; meanwhile the export pagecast:counts is that as JSON. docs/serve.md says more.

Examples:
  pagecast serve /data --cache 1G
  pagecast serve /data --listen 127.0.0.1:10809 --policy 2q
  pagecast serve /data --listen /run/data.socket --json >counts.json
)";

constexpr const char *kExplainNotes = R"(
A source is compiled to nothing, with -O2 unless the options say otherwise. Of your own compiler line you may
give all options as they are. A record comes from any compilation with -fsave-optimization-record.
For --run, the program must have been compiled with -g or -gline-tables-only.

Examples:
  pagecast explain solve.c
  pagecast explain heat.f90 -- -O3 -march=native -Imodules
  pagecast cc -O2 -g -fsave-optimization-record -c solve.c && pagecast explain solve.opt.yaml
  pagecast run --memory 256M --stats s.json -- ./solve && pagecast explain --run s.json solve.c
)";

constexpr const char *kReportNotes = R"(
Foreseen is the share of the pages read that were asked for before the program came to them. Of these, late ones were
still on their way. Missed pages were read because the program touched them. Times are seconds, and waits are summed
over threads.

Examples:
  pagecast run --stats s.json -- ./sort big; pagecast report s.json
  pagecast report --json *.json | jq '.[].foreseen_share'
)";

constexpr const char *kTopNotes = R"(
Of each program that has the runtime in it: whether its data are paged, the memory that it holds, what it may take,
and what it reads and writes each second, on all disks. Programs that run with --stats tell more: how many threads
wait for pages on average, and the share of pages that was foreseen. You see your own programs, and as root all.

Examples:
  pagecast top
  pagecast top --json --count 1
)";

/// A variable of the user's script that was never set must not pass for a default.
std::string refuseEmpty(const std::string &value) { return value.empty() ? "what follows it is empty" : ""; }

/// May be given again and again, with one value each time: what follows may be the program.
void repeat(CLI::Option *option) {
  option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void addRun(CLI::App &app, RunOptions &options) {
  CLI::App *run =
      app.add_subcommand("run", "run a program within a budget of memory: pagecast run [OPTIONS] [--] PROGRAM [ARGUMENTS]");
  run->add_option("--memory", options.memory, "memory that the program's large data may take, or auto (default): what is left")
      ->type_name("SIZE")
      ->check(refuseEmpty);
  run->add_option("--backing", options.backing,
                  "directories for data that is not in memory, on disks, or servers (nbd://...); several are used at once")
      ->type_name("DIR")
      ->check(refuseEmpty);
  repeat(
      run->add_option("--map", options.maps,
                      "a program that opens PATH gets the export of an NBD server, as memory where it maps it; may be repeated")
          ->type_name("PATH=URI"));
  run->add_option("--far", options.far,
                  "who asks servers of maps ahead: none, independent, reserved, adaptive or live, and rules behind commas")
      ->type_name("SCHEME")
      ->check(refuseEmpty);
  run->add_option("--stats", options.stats,
                  "write statistics there as JSON, once a second while something is paged and when the program ends by exit")
      ->type_name("FILE")
      ->check(refuseEmpty);
  run->add_option("--release", options.release, "what to do with pages that are finished with: none, aggressive, buffered")
      ->type_name("POLICY")
      ->check(refuseEmpty);
  run->add_flag("--summary", options.summary, "say in one line at the end what the run did: time, waits, bytes, pages foreseen");
  repeat(
      run->add_option("--option", options.others, "any other option of the runtime; may be repeated")->type_name("NAME=VALUE"));
  run->prefix_command();
  run->footer([] {
    const std::string help = runtimeOptionsHelp();
    return kRunNotes + (help.empty() ? "" : "\nOptions of the runtime, for --option or as environment variables:\n" + help);
  });
}

void addSpeculate(CLI::App &app, SpeculateOptions &options) {
  CLI::App *speculate = app.add_subcommand(
      "speculate", "run any program, with a copy of it that runs ahead: pagecast speculate [OPTIONS] [--] PROGRAM [ARGUMENTS]");
  speculate->add_option("--stats", options.stats, "write what happened there as JSON")->type_name("FILE")->check(refuseEmpty);
  speculate->add_flag("--summary", options.summary, "say what happened, on standard error");
  speculate->add_flag("--account", options.account, "trace the program, which is slow, to count which reads were hinted");
  speculate->add_flag("--eager", options.eager,
                      "for tests: make a copy whenever one can be, whether it is worth its price or not");
  speculate->prefix_command();
  speculate->footer(kSpeculateNotes);
}

void addExplain(CLI::App &app, ExplainOptions &options) {
  CLI::App *explain =
      app.add_subcommand("explain", "say what the compiler did for each reference to large data: pagecast explain [OPTIONS] FILE "
                                    "[-- COMPILER OPTIONS]");
  explain->add_option("FILE", options.file, "a source of C, C++ or Fortran, or a record of remarks (.opt.yaml)")->required();
  explain->add_flag("--all", options.libraries, "show the lines of libraries, too; --json always has them");
  explain->add_flag("--json", options.json, "machine-readable; docs/explain.md lists the fields");
  explain
      ->add_option("--run", options.statistics, "statistics that a run wrote with --stats: adds what was measured to each line")
      ->type_name("STATS.JSON");
  explain->footer(kExplainNotes);
}

void addReport(CLI::App &app, ReportOptions &options) {
  CLI::App *report = app.add_subcommand("report", "say what runs did, a row each: pagecast report [OPTIONS] STATS.JSON...");
  report->add_option("STATS.JSON", options.files, "what runs wrote with --stats")->required();
  report->add_flag("--json", options.json, "machine-readable: a list of objects");
  report->footer(kReportNotes);
}

void addTop(CLI::App &app, TopOptions &options) {
  CLI::App *top = app.add_subcommand("top", "show what paged programs of this host do, time after time");
  top->add_flag("--json", options.json, "one line of JSON each time");
  top->add_option("--interval", options.interval, "seconds between two views; default 1")
      ->type_name("S")
      ->check(between(0.05, 3600));
  top->add_option("--count", options.count, "end after so many views; default when it is interrupted")
      ->type_name("N")
      ->check(wholeBetween(1, 1e9));
  top->footer(kTopNotes);
}

void addProfile(CLI::App &app, ProfileOptions &options, ShowProfileOptions &show) {
  CLI::App *profile = app.add_subcommand(
      "profile", "note which ranks touch which blocks of files: pagecast profile [-o FILE] [--] PROGRAM [ARGUMENTS]");
  profile->add_option("-o,--output", options.file, "the profile to be written; default profile.json")
      ->type_name("FILE")
      ->check(refuseEmpty);
  profile->add_option("--epochs", options.epochs, "parts that the time is divided into; default 500")
      ->type_name("N")
      ->check(wholeBetween(1, 10000));
  profile->add_flag("--entries", options.withEntries,
                    "also each entry of each loop, with its times: what a simulation of the run takes");
  profile->prefix_command();
  profile->footer(kProfileNotes);
  CLI::App *shown = profile->add_subcommand("show", "say who shares what in each phase: pagecast profile show [OPTIONS] P.JSON");
  shown->add_option("P.JSON", show.file, "a profile")->required()->check(refuseEmpty);
  shown
      ->add_option("--threshold", show.threshold,
                   "what each pair of a cluster shares at least, of what either touches; default 80")
      ->type_name("PERCENT")
      ->check(between(0, 100));
  shown->add_option("--smallest", show.smallest, "members that a cluster has at least to get a helper; default 3")
      ->type_name("N")
      ->check(wholeBetween(1, 100000));
  shown->add_option("--by", show.by, "what a phase is: nest (default), or function: all nests of one")
      ->type_name("WHAT")
      ->check(oneOf({"nest", "function"}));
  shown->add_option("--run", show.run, "a profile of another run: says what these clusters are worth for it")
      ->type_name("Q.JSON");
  shown->add_option("--svg", show.svg, "where the picture goes; default beside the profile")
      ->type_name("FILE")
      ->check(refuseEmpty);
  shown->add_flag("--json", show.json, "machine-readable");
}

void addServe(CLI::App &app, ServeOptions &options) {
  CLI::App *serve = app.add_subcommand("serve", "serve the files of a directory through one cache that all clients share");
  serve->add_option("DIR", options.directory, "the directory; what is below it is served, too")->required()->check(refuseEmpty);
  serve->add_option("--cache", options.cache, "memory of the cache; default 150M")->type_name("SIZE")->check(refuseEmpty);
  serve->add_option("--block", options.block, "what is cached in one piece; default 64K")->type_name("SIZE")->check(refuseEmpty);
  serve->add_option("--policy", options.policy, "what stays: aging (default; least recently used, with a history) or 2q")
      ->type_name("POLICY")
      ->check(oneOf({"aging", "2q"}));
  serve->add_option("--listen", options.listen, "a path for a socket, or HOST:PORT; default a socket that only you can use")
      ->type_name("ADDRESS")
      ->check(refuseEmpty);
  serve->add_option("--tls", options.tls, "a directory of certificates, or a file of pre-shared keys, as nbdkit has them")
      ->type_name("PATH")
      ->check(refuseEmpty);
  serve->add_flag("--writable", options.writable, "clients may write to the files, which keep their sizes");
  serve
      ->add_option("--latency", options.latency,
                   "for measurements: the disk takes one request at a time, and so many milliseconds for each")
      ->type_name("MS")
      ->check(between(0, 10000));
  serve->add_option("--rate", options.rate, "for measurements: ... and moves so many bytes in a second")
      ->type_name("SIZE")
      ->check(refuseEmpty);
  serve->add_flag("--json", options.json, "print the address, and at the end the counts, as one line of JSON each");
  serve->footer(kServeNotes);
}

void addDoctor(CLI::App &app, DoctorOptions &options) {
  CLI::App *doctor = app.add_subcommand("doctor", "say what this machine allows, and what to do about what it does not");
  doctor->add_flag("--json", options.json, "machine-readable");
  doctor->add_option("--backing", options.backing, "directories and servers to look at, as run is given them")
      ->type_name("DIR")
      ->check(refuseEmpty);
  doctor->add_flag("--no-disk", options.noDisk, "do not measure the disk");
  doctor->add_option("--disk-seconds", options.diskSeconds, "how long to measure the disk; default 1")
      ->type_name("S")
      ->check(between(0.1, 60));
}

constexpr const char *kCompletionsNotes = R"(
Examples:
  pagecast completions bash >~/.local/share/bash-completion/completions/pagecast
  pagecast completions zsh >"${fpath[1]}/_pagecast"
  pagecast completions fish >~/.config/fish/completions/pagecast.fish
)";

void addCompletions(CLI::App &app, std::string &shell) {
  CLI::App *completions = app.add_subcommand("completions", "print the script by which a shell completes this command");
  completions->add_option("SHELL", shell, "bash, zsh or fish")->required()->check(oneOf(kShells));
  completions->footer(kCompletionsNotes);
}

void addMan(CLI::App &app, std::string &page) {
  CLI::App *man = app.add_subcommand("man", "print a man page in roff: pagecast man [COMMAND] | man -l -");
  man->add_option("COMMAND", page, "a subcommand; without, the page of pagecast itself");
}

/// What the parser knows of a subcommand. A description may end in ": " and the usage.
ManualCommand manualOf(const CLI::App &command) {
  ManualCommand out;
  out.name = command.get_name();
  out.description = command.get_description();
  if (const size_t at = out.description.find(": pagecast "); at != std::string::npos) {
    out.usage = out.description.substr(at + 2);
    out.description.erase(at);
  }
  out.notes = command.get_footer();
  out.startsProgram = command.get_prefix_command();
  if (out.name == "completions") out.values = kShells;
  for (const CLI::Option *o : command.get_options())
    if (!o->get_lnames().empty())
      out.options.push_back(
          {"--" + o->get_lnames()[0], o->get_items_expected_max() ? o->get_type_name() : "", o->get_description()});
  return out;
}

} // namespace

void describe(CLI::App &app, CommandLine &line) {
  app.add_subcommand("cc", "compile C with hints; a drop-in for clang, as is pagecast-cc");
  app.add_subcommand("c++", "compile C++ with hints; a drop-in for clang++, as is pagecast-c++");
  app.add_subcommand("fc", "compile Fortran with hints; a drop-in for flang, as is pagecast-fc");
  addRun(app, line.run);
  addSpeculate(app, line.speculate);
  addExplain(app, line.explain);
  addReport(app, line.report);
  addTop(app, line.top);
  addProfile(app, line.profile, line.showProfile);
  addServe(app, line.serve);
  addDoctor(app, line.doctor);
  addCompletions(app, line.shell);
  addMan(app, line.page);
  app.footer(kExamples);
}

Manual manualOf(const CLI::App &app, const std::string &version) {
  Manual out{version, "runs programs on more data than memory, at the speed of the disk", kExamples, {}};
  for (const CLI::App *command : app.get_subcommands(std::function<bool(const CLI::App *)>{}))
    out.commands.push_back(manualOf(*command));
  for (ManualCommand &command : out.commands)
    if (command.name == "man")
      for (const ManualCommand &other : out.commands) command.values.push_back(other.name);
  return out;
}

} // namespace pagecast::cli
