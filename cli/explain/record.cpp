// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/explain/record.h"
#include "cli/programs/compiler.h"
#include "cli/programs/process.h"
#include "cli/programs/scratch.h"
#include "cli/text/contents.h"
#include "cli/text/message.h"
#include <cstdio>
#include <filesystem>
#include <optional>
#include <sstream>
#include <yaml-cpp/yaml.h>

namespace fs = std::filesystem;

namespace pagecast::cli {

namespace {

constexpr const char *kPass = "pagecast";

/// Arguments that are mere words of the sentence have this key.
constexpr const char *kWords = "String";

bool startsWith(const std::string &text, const char *prefix) { return text.rfind(prefix, 0) == 0; }

Failure notARecord(const std::string &path, const std::string &why) {
  return Failure{path + " is not an optimization record: " + why +
                 "; give a source, or what a compilation with -fsave-optimization-record wrote"};
}

Remark::Kind kindOf(const std::string &tag) {
  return tag == "!Passed" ? Remark::Kind::kPassed : tag == "!Missed" ? Remark::Kind::kMissed : Remark::Kind::kOther;
}

Remark toRemark(const YAML::Node &node) {
  Remark out;
  out.kind = kindOf(node.Tag());
  out.name = node["Name"].as<std::string>("");
  out.function = node["Function"].as<std::string>("");
  if (const YAML::Node at = node["DebugLoc"])
    out.at = {at["File"].as<std::string>(""), at["Line"].as<unsigned>(0), at["Column"].as<unsigned>(0)};
  for (const YAML::Node &argument : node["Args"])
    for (const auto &pair : argument)
      // A value may come with the place that it was defined at.
      if (pair.second.IsScalar()) out.arguments.emplace_back(pair.first.as<std::string>(), pair.second.as<std::string>());
  return out;
}

/// One document of the record, or nothing if it is of another pass: records of whole compilations are large,
/// and most of them are, so that is seen without parsing.
std::optional<Remark> toRemark(const std::string &document, const std::string &path) {
  const size_t field = document.find("\nPass:");
  if (field == std::string::npos) throw notARecord(path, "an entry in it names no pass");
  const size_t name = document.find_first_not_of(" \t'\"", field + 6);
  if (name == std::string::npos || document.compare(name, std::string(kPass).size(), kPass) != 0) return std::nullopt;
  try {
    const YAML::Node node = YAML::Load(document);
    if (node["Pass"].as<std::string>("") != kPass) return std::nullopt;
    return toRemark(node);
  } catch (const YAML::Exception &error) { throw notARecord(path, error.what()); }
}

} // namespace

std::string Remark::text() const {
  std::string out;
  for (const auto &[key, value] : arguments)
    if (key != kNest) out += value;
  return out;
}

std::string Remark::value(const std::string &key) const {
  for (const auto &[name, value] : arguments)
    if (name == key && key != kWords) return value;
  return "";
}

std::vector<Remark> readRecord(const std::string &path) {
  std::istringstream file(contentsOf(path, path, "; check the name"));
  std::vector<Remark> out;
  std::string line, document;
  const auto finish = [&] {
    if (const auto remark = document.empty() ? std::nullopt : toRemark(document, path)) out.push_back(*remark);
    document.clear();
  };
  while (std::getline(file, line)) {
    if (startsWith(line, "--- ")) finish();
    else if (document.empty())
      throw notARecord(path, startsWith(line, "RMRK")      ? "it is in the bitstream format, not in YAML"
                             : startsWith(line, "REMARKS") ? "it keeps its strings in a table apart"
                                                           : "it does not begin with '--- !'");
    document += line + "\n";
  }
  finish();
  return out;
}

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
