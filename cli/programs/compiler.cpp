// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/compiler.h"
#include "cli/programs/paths.h"
#include "cli/programs/process.h"
#include "cli/text/message.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace pagecast::cli {
namespace {

/// What is said of, and searched for, one family of compilers.
struct Family {
  const char *name;     ///< also of its Debian package, with the version
  const char *variable; ///< by which the user chooses
  std::vector<std::string> drivers;
};

Family familyOf(Language language) {
  switch (language) {
  case Language::kC: return {"clang", "PAGECAST_CLANG", {"clang"}};
  case Language::kCxx: return {"clang", "PAGECAST_CLANG", {"clang++"}};
  case Language::kFortran: return {"flang", "PAGECAST_FLANG", {"flang-new", "flang"}};
  }
  return {};
}

const std::string kMajor = std::to_string(kLlvmMajor);

int majorOf(const std::string &version) { return std::atoi(version.c_str()); }

bool isRightMajor(const std::string &version) { return majorOf(version) == kLlvmMajor; }

bool hasPlugin(const std::string &version) {
  return isRightMajor(version) || (majorOf(version) > 0 && access(passPlugin(majorOf(version)).c_str(), R_OK) == 0);
}

/// A clang answers -dumpversion as a flang does, but does not compile Fortran.
bool compilesFortran(const std::string &path) {
  return runProgram({path, "--version"}, Keep::kOutput).text.find("flang") != std::string::npos;
}

/// The user's own choice: taken as it is, but never with a plugin that would crash in it.
Compiler chosenCompiler(const std::string &chosen, const Family &family, Language language) {
  const std::string is = std::string(family.variable) + " is '" + chosen + "', which is ";
  const std::string remedy = "; set it to a " + std::string(family.name) + " " + kMajor;
  const auto path = findProgram(chosen);
  if (!path) throw Failure{is + "not an executable" + remedy};
  const std::string version = compilerVersion(path->string());
  if (!hasPlugin(version))
    throw Failure{is + (version.empty() ? "no " + std::string(family.name) : "version " + version) +
                  ", but the pass plugin can be loaded into LLVM " + kMajor + " only" + remedy};
  if (language == Language::kFortran && !compilesFortran(path->string())) throw Failure{is + "no Fortran compiler" + remedy};
  return {path->string(), language == Language::kCxx, majorOf(version)};
}

/// The first driver with the version in its name, or in the directory of that version.
std::optional<std::string> versionedDriver(const Family &family) {
  for (const std::string &driver : family.drivers)
    for (const std::string &name : {driver + "-" + kMajor, "/usr/lib/llvm-" + kMajor + "/bin/" + driver})
      if (const auto path = findProgram(name)) return path->string();
  return std::nullopt;
}

} // namespace

std::optional<Language> languageOf(const std::string &file) {
  // Objective-C and LLVM's own forms go through clang's optimizer as C does.
  static const std::set<std::string_view> c = {".c", ".i", ".m", ".mi", ".bc", ".ll"};
  static const std::set<std::string_view> cxx = {".cc", ".cp", ".cpp", ".cxx", ".C",    ".c++", ".CPP",  ".CC",   ".CXX",
                                                 ".ii", ".mm", ".mii", ".M",   ".cppm", ".ccm", ".cxxm", ".c++m", ".ixx"};
  static const std::set<std::string_view> fortran = {".f",   ".F",   ".for", ".FOR", ".fpp", ".FPP", ".f90",
                                                     ".F90", ".f95", ".F95", ".f03", ".F03", ".f08", ".F08"};
  const std::string extension = std::filesystem::path(file).extension().string();
  if (c.count(extension)) return Language::kC;
  if (cxx.count(extension)) return Language::kCxx;
  if (fortran.count(extension)) return Language::kFortran;
  return std::nullopt;
}

std::string compilerVersion(const std::string &path) {
  const Finished done = runProgram({path, "-dumpversion"}, Keep::kOutput);
  return done.status == 0 ? done.text.substr(0, done.text.find('\n')) : "";
}

Compiler findCompiler(Language language) {
  const Family family = familyOf(language);
  if (const auto chosen = environment(family.variable)) return chosenCompiler(*chosen, family, language);
  if (const auto path = versionedDriver(family)) return {*path, false};
  std::string others;
  for (const std::string &driver : family.drivers) {
    const auto unversioned = findProgram(driver);
    const std::string version = unversioned ? compilerVersion(unversioned->string()) : "";
    if (isRightMajor(version)) return {unversioned->string(), false};
    if (!version.empty())
      others = " (the " + driver + " in PATH is version " + version + ", and the pass plugin can be loaded into LLVM " + kMajor +
               " only)";
  }
  const std::string wanted = std::string(family.name) + " " + kMajor;
  throw Failure{wanted + " was not found" + others + "; install the package " + family.name + "-" + kMajor + " or set " +
                family.variable + " to a " + wanted};
}

std::vector<std::string> quietly(std::vector<std::string> options, Language language) {
  if (language == Language::kFortran) return options;
  options.insert(options.begin(), "--start-no-unused-arguments");
  options.push_back("--end-no-unused-arguments");
  return options;
}

std::vector<std::string> pluginFlags(const Compiler &compiler, Language language) {
  const auto plugin = passPlugin(compiler.llvmMajor);
  if (access(plugin.c_str(), R_OK) != 0)
    throw Failure{"the pass plugin is not at " + plugin.string() + "; build or install Pagecast again"};
  return quietly({"-fpass-plugin=" + plugin.string()}, language);
}

} // namespace pagecast::cli
