// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pagecast explain: the remarks of the pass beside the source, and the statistics of a run beside both.
#include "cli/commands/commands.h"
#include "cli/explain/explanation.h"
#include "cli/explain/record.h"
#include "cli/programs/paths.h"
#include "cli/text/message.h"
#include <cstdio>
#include <filesystem>
#include <unistd.h>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

bool isRecord(const std::string &file) {
  const std::string extension = fs::path(file).extension().string();
  return extension == ".yaml" || extension == ".yml";
}

std::vector<Remark> remarksIn(const ExplainOptions &options) {
  std::error_code error;
  if (!fs::is_regular_file(options.file, error)) {
    const std::string what = fs::exists(options.file, error) ? " is no file" : error ? " cannot be reached" : " does not exist";
    throw Failure{(options.file.empty() ? "''" : options.file) + what + "; give a source or a record of remarks (.opt.yaml)"};
  }
  if (!isRecord(options.file)) return remarksOf(options.file, options.compilerOptions);
  if (!options.compilerOptions.empty())
    throw Failure{options.file + " is a record, which is not compiled: leave out what follows --, or give the source"};
  const auto remarks = readRecord(options.file);
  if (remarks.empty())
    throw Failure{options.file + " holds no remarks of pagecast; compile with pagecast cc, c++ or fc at -O1 or "
                                 "higher and -fsave-optimization-record"};
  return remarks;
}

bool wantsColours() {
  return isatty(STDOUT_FILENO) && !environment("NO_COLOR") && environment("TERM").value_or("dumb") != "dumb";
}

} // namespace

int explain(const ExplainOptions &options) {
  std::optional<MeasuredRun> run;
  if (!options.statistics.empty()) run = readRun(options.statistics);
  const Explanation all = makeExplanation(options.file, remarksIn(options), std::move(run));
  if (isOfAnotherProgram(all))
    throw Failure{options.statistics + " is of " + (all.run->program.empty() ? "another program" : all.run->program) +
                  ", and none of the lines that it measured is in " + options.file +
                  " as that is now; compile it with pagecast cc and -g, and run what you get with pagecast run --stats FILE"};
  const std::string text = options.json ? explanationAsJson(all) : explanationAsText(all, wantsColours(), options.libraries);
  std::fputs(text.c_str(), stdout);
  return 0;
}

} // namespace pagecast::cli
