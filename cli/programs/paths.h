// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where things are. The plugin and the runtime are found relative to the real path of the command proper, so
// the same binary works in the build tree and installed.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace pagecast::cli {

/// The directory of libpagecast.so.
std::filesystem::path libraryDirectory();
/// The runtime library and the pass plugin; they may not exist.
std::filesystem::path runtimeLibrary();
std::filesystem::path passPlugin(int llvmMajor);

/// What the shell would run for `name`: itself if it has a slash, else searched for in PATH.
std::optional<std::filesystem::path> findProgram(const std::string &name);

/// The value of an environment variable; nothing when unset or empty.
std::optional<std::string> environment(const char *name);

} // namespace pagecast::cli
