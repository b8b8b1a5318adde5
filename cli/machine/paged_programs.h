// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The running programs of this host that have the runtime in them, and what the kernel counts of them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pagecast::cli {

struct PagedProgram {
  int pid = 0;
  uint64_t born = 0;      ///< clock ticks since the machine's start, which tell it from a later one of the same number
  std::string name;       ///< the program's file, without its directory, and its first arguments
  bool paged = false;     ///< some of its data are paged
  uint64_t heldBytes = 0; ///< of memory
  std::string memory;     ///< what was said with --memory; "auto"
  std::string statistics; ///< the file of --stats; empty: none
  std::optional<uint64_t> readBytes, writtenBytes; ///< from and to disks since it began; none: the kernel does not say
};

/// Those that may be looked at: one's own, or as root everybody's. By process number. Cost: some 50 us a process of the host.
std::vector<PagedProgram> pagedPrograms();

} // namespace pagecast::cli
