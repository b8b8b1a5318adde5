// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a directory can serve as: the place of the backing file.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pagecast::cli {

/// Below this much free space there is a warning.
inline constexpr uint64_t kLittleSpace = 64u << 20;

struct DirectoryInfo {
  std::string type; ///< of the file system
  uint64_t freeBytes = 0;
  bool inMemory = false;
};

/// Throws Failure when `directory` cannot hold a backing file: missing, not a directory, in memory,
/// read-only, not writable, full.
DirectoryInfo checkBackingDirectory(const std::string &directory);

/// Whether it names an NBD server's export, not a directory.
bool isAddress(const std::string &backing);

/// The parts of a list DIR,DIR,... which is one part where a directory has that name.
std::vector<std::string> backingParts(const std::string &list);

/// A nameless file in `directory`, opened for reading and writing with `flags`; -errno on failure.
int openNameless(const std::string &directory, int flags);

} // namespace pagecast::cli
