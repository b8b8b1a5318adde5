// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/explain/recompile.h"
#include "cli/programs/compiler.h"
#include "cli/programs/process.h"
#include "cli/programs/scratch.h"
#include "cli/text/message.h"
#include <cstdio>
#include <filesystem>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

using Arguments = std::vector<std::string>;

/// The user's options without those that say where something is written. A directory for Fortran modules
/// is still one to read them from.
Arguments withoutOutputs(const Arguments &options, const std::string &source) {
  Arguments out;
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string &option = options[i];
    const bool hasNext = i + 1 < options.size();
    if (option == "-o" || option == "-MF") ++i;
    else if ((option == "-J" || option == "-module-dir") && hasNext) out.push_back("-I" + options[++i]);
    else if (option.rfind("-J", 0) == 0) out.push_back("-I" + option.substr(2));
    else if (option.rfind("-fsave-optimization-record", 0) != 0 && option != source) out.push_back(option);
  }
  return out;
}

std::string levelOf(const Arguments &options) {
  std::string level = "-O2";
  for (const std::string &option : options)
    if (option.rfind("-O", 0) == 0) level = option;
  return level;
}

Arguments commandLine(const std::string &source, Language language, const Arguments &options, const ScratchFolder &scratch) {
  const Compiler compiler = findCompiler(language);
  Arguments line = {compiler.path};
  if (compiler.needsDriverMode) line.push_back("--driver-mode=g++");
  line.push_back("-O2"); // the last one given counts
  const auto add = [&line](const Arguments &more) { line.insert(line.end(), more.begin(), more.end()); };
  add(withoutOutputs(options, source));
  add(pluginFlags(compiler, language));
  add({"-g", "-foptimization-record-file=" + scratch / "record.yaml", "-foptimization-record-passes=^pagecast$"});
  if (language == Language::kFortran) add({"-module-dir", scratch / "."});
  // Beside the object there may be dependencies and the like, so it is not /dev/null.
  add({"-c", source, "-o", scratch / "object.o"});
  return line;
}

} // namespace

std::vector<Remark> remarksOf(const std::string &source, const Arguments &options) {
  const auto language = languageOf(source);
  if (!language) throw Failure{source + " has no suffix of C, C++ or Fortran, nor .yaml; give a source or a record"};
  const EndsAfterwards end; // when the folder is gone
  const ScratchFolder scratch("explain");
  const Finished done = runProgram(commandLine(source, *language, options, scratch), Keep::kErrors);
  if (done.status != 0) {
    std::fputs(done.text.c_str(), stderr);
    throw Failure{source + " does not compile, as said above; give the options that it needs after --"};
  }
  const std::string record = scratch / "record.yaml";
  const auto remarks = fs::exists(record) ? readRecord(record) : std::vector<Remark>{};
  if (!remarks.empty()) return remarks;
  const std::string level = levelOf(options);
  if (level == "-O0") throw Failure{source + " was compiled with -O0, at which the pass does not run; give -O1 or higher"};
  throw Failure{"the pass has nothing to say of " + source + " at " + level +
                ": it found no loop that touches 64 KiB or more; code that should have one may have been "
                "removed as unused, or not compiled (-E, -fsyntax-only, -flto)"};
}

} // namespace pagecast::cli
