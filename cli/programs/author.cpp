// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/author.h"
#include <algorithm>
#include <fstream>
#include <string>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

/// Where packages of systems put programs. /usr/local is the administrator's, whose programs have been compiled here.
constexpr const char *kPackageFolders[] = {"/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/", "/usr/games/",
                                           "/bin/",     "/sbin/",     "/lib/",     "/opt/",       "/nix/store/",   "/snap/"};

/// The file that a script names in its first line; empty where the program is none.
std::string interpreterOf(const fs::path &program) {
  std::ifstream file(program);
  std::string line;
  if (file.get() != '#' || file.get() != '!') return {};
  std::getline(file, line);
  return line;
}

bool isPython(const std::string &name) { return name.rfind("python", 0) == 0 || name.rfind("pypy", 0) == 0; }

} // namespace

Author authorOf(const fs::path &program) {
  std::error_code error;
  const fs::path target = fs::canonical(program, error);
  const std::string text = target.string(), interpreter = interpreterOf(target);
  if (isPython(target.filename().string()) || interpreter.find("python") != std::string::npos) return Author::kPython;
  const bool packaged = std::any_of(std::begin(kPackageFolders), std::end(kPackageFolders),
                                    [&](const char *folder) { return text.rfind(folder, 0) == 0; });
  return packaged || !interpreter.empty() ? Author::kPackage : Author::kUser;
}

} // namespace pagecast::cli
