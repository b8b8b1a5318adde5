// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/compiler.h"
#include "cli/programs/paths.h"
#include "cli/programs/process.h"
#include "cli/text/message.h"
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <unistd.h>
#include <utility>
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
  const std::string remedy =
      "; set it to a " + std::string(family.name) + " " + kMajor + ", of the package " + family.name + "-" + kMajor;
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
    // Also one of another version whose plugin was built; flang has none but the first.
    if (isRightMajor(version) || (language != Language::kFortran && hasPlugin(version)))
      return {unversioned->string(), false, majorOf(version)};
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

namespace {

using Arguments = std::vector<std::string>;

bool startsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

/// Options whose value is the next argument; the value must not be taken for an input.
const std::set<std::string_view> kTakesValue = {
    "-o", "-I", "-D", "-U", "-L", "-l", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-iprefix", "-isysroot",
    "--sysroot", "-MF", "-MT", "-MQ", "-MJ", "-Xclang", "-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xanalyzer", "-mllvm",
    "-target", "-arch", "-T", "-u", "-z", "-e", "-F", "-framework", "--param", "-B", "-rpath", "-iwithprefix",
    "-iwithprefixbefore", "-include-pch", "-dumpbase", "-dumpdir", "-G", "-V", "-b", "-aux-info", "--serialize-diagnostics",
    "-serialize-diagnostics", "-current_version", "-install_name", "--config",
                                                // of flang only
    "-J", "-module-dir", "-fintrinsic-modules-path", "-mmlir", "-Xflang"};

/// Modes that end before the optimizer runs.
const std::set<std::string_view> kNoCompilation = {"-E",   "-M",     "-MM",  "-fsyntax-only", "--analyze",
                                                   "-cc1", "-cc1as", "-fc1", "--precompile",  "--preprocess"};
/// Modes that end before linking.
const std::set<std::string_view> kNoLinking = {"-c",         "-S",
                                               "-r",         "--compile",
                                               "--assemble", "-emit-ast",
                                               "-nostdlib",  "-nodefaultlibs",
                                               "-nolibc",    "--no-standard-libraries"};

/// Whether `language`, of -x, goes through the optimizer.
bool isCompiledLanguage(std::string_view language) {
  return language != "assembler" && language != "assembler-with-cpp" && language.find("header") == std::string_view::npos;
}

/// Whether a driver compiles a file of this name when no -x says what it is. Flang hands C on to clang;
/// clang hands Fortran on to another compiler, which would not know the plugin.
bool isSource(const std::string &name, Language driver) {
  const auto language = languageOf(name);
  return language && (*language != Language::kFortran || driver == Language::kFortran);
}

/// The arguments in a response file: separated by white space, with quotes and backslashes.
Arguments splitResponse(std::istream &file) {
  Arguments out;
  std::string word;
  bool inWord = false;
  char quote = 0;
  for (char c; file.get(c);) {
    if (c == '\\' && file.get(c)) {
      word += c, inWord = true;
    } else if (quote) {
      if (c == quote) quote = 0;
      else word += c;
    } else if (c == '"' || c == '\'') {
      quote = c, inWord = true;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      if (inWord) out.push_back(std::exchange(word, {}));
      inWord = false;
    } else {
      word += c, inWord = true;
    }
  }
  if (inWord) out.push_back(word);
  return out;
}

/// `arguments` with the response files in them (@FILE) opened, for reading what they ask for.
Arguments expanded(const Arguments &arguments, int depth = 0) {
  Arguments out;
  for (const std::string &argument : arguments) {
    std::ifstream file;
    if (argument.size() > 1 && argument[0] == '@' && depth < 8) file.open(argument.substr(1));
    if (!file.is_open()) {
      out.push_back(argument);
      continue;
    }
    const Arguments inner = expanded(splitResponse(file), depth + 1);
    out.insert(out.end(), inner.begin(), inner.end());
  }
  return out;
}

/// The runtime exists for this machine only: code for another is compiled without hints.
bool isForeignTarget(std::string_view option, std::string_view next) {
  std::string_view triple;
  if (startsWith(option, "--target=")) triple = option.substr(9);
  else if (option == "-target") triple = next;
#if defined(__x86_64__)
  const bool foreignWidth = option == "-m32" || option == "-mx32" || option == "-m16";
  const std::string_view here = "x86_64";
#elif defined(__aarch64__)
  const bool foreignWidth = false;
  const std::string_view here = "aarch64";
#else
  const bool foreignWidth = option == "-m32";
  const std::string_view here = "";
#endif
  const bool foreignTriple = !triple.empty() && (!startsWith(triple, here) || triple.find("linux") == triple.npos);
  return foreignWidth || foreignTriple;
}

/// Reads a command line as the driver for a language would, as far as it matters here.
class Reader {
public:
  explicit Reader(Language driver) : driver_(driver) {}

  Compilation read(const Arguments &arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string &next = i + 1 < arguments.size() ? arguments[i + 1] : none_;
      if (takeArgument(arguments[i], next)) ++i;
    }
    Compilation compilation;
    compilation.compiles = sources_ && mayCompile_ && !foreign_;
    compilation.links = inputs_ && mayCompile_ && mayLink_ && !foreign_;
    compilation.shared = shared_;
    compilation.isStatic = static_;
    return compilation;
  }

private:
  /// True if `next` was used up as the value of `argument`.
  bool takeArgument(const std::string &argument, const std::string &next) {
    if (onlyInputs_ || argument == "-" || argument.empty() || argument[0] != '-') {
      takeInput(argument);
      return false;
    }
    if (argument == "--") {
      onlyInputs_ = true;
      return false;
    }
    foreign_ |= isForeignTarget(argument, next);
    if (argument == "-x") {
      language_ = next;
      return true;
    }
    takeOption(argument);
    return kTakesValue.count(argument) != 0 || startsWith(argument, "-Xarch_");
  }

  void takeOption(const std::string &option) {
    if (startsWith(option, "-x")) language_ = option.substr(2);
    if (startsWith(option, "--language=")) language_ = option.substr(11);
    if (kNoCompilation.count(option)) mayCompile_ = false;
    if (kNoLinking.count(option)) mayLink_ = false;
    shared_ |= option == "-shared" || option == "--shared";
    static_ |= option == "-static" || option == "-static-pie" || option == "--static";
    // Questions to the driver are answered without doing anything.
    if (startsWith(option, "-print-") || startsWith(option, "--print-") || option == "--version" || option == "--help")
      mayCompile_ = false;
    if (option == "-dumpmachine" || option == "-dumpversion") mayCompile_ = false;
  }

  void takeInput(const std::string &name) {
    inputs_ = true;
    sources_ |= language_.empty() || language_ == "none" ? isSource(name, driver_) : isCompiledLanguage(language_);
  }

  const Language driver_;
  const std::string none_;
  std::string language_; ///< of -x; empty = by the name of the file
  bool onlyInputs_ = false, inputs_ = false, sources_ = false, foreign_ = false;
  bool mayCompile_ = true, mayLink_ = true, shared_ = false, static_ = false;
};

} // namespace

Compilation compilationOf(const Arguments &arguments, Language language) { return Reader(language).read(expanded(arguments)); }

} // namespace pagecast::cli
