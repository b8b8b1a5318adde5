// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/paths.h"
#include "cli/text/message.h"
#include <cstdlib>
#include <sstream>
#include <unistd.h>

namespace fs = std::filesystem;

namespace pagecast::cli {

fs::path libraryDirectory() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) throw Failure{"/proc/self/exe cannot be read, so the runtime cannot be found; mount /proc"};
  return self.parent_path().parent_path(); // of lib/pagecast/pagecast
}

fs::path runtimeLibrary() { return libraryDirectory() / "libpagecast.so"; }

fs::path passPlugin(int llvmMajor) {
  return libraryDirectory() / "pagecast" / ("pagecast-llvm" + std::to_string(llvmMajor) + ".so");
}

static bool isExecutableFile(const fs::path &path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::optional<fs::path> findProgram(const std::string &name) {
  if (name.find('/') != std::string::npos) return isExecutableFile(name) ? std::optional<fs::path>(name) : std::nullopt;
  std::istringstream directories(environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin"));
  for (std::string directory; std::getline(directories, directory, ':');) {
    const fs::path candidate = fs::path(directory.empty() ? "." : directory) / name;
    if (isExecutableFile(candidate)) return candidate;
  }
  return std::nullopt;
}

std::optional<std::string> environment(const char *name) {
  const char *value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

} // namespace pagecast::cli
