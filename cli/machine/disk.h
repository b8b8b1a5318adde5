// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast the disk behind a directory is, measured with direct I/O through io_uring.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace pagecast::cli {

struct DiskRates {
  std::optional<double> sequentialWrite; ///< bytes a second; nothing: not measured
  double sequentialRead = 0;  ///< bytes a second
  double randomRead = 0;      ///< reads of 4 KiB a second
};

/// Takes about `seconds` in all; `progress` is told what happens. Throws Failure.
DiskRates measureDisk(const std::string &directory, double seconds, const std::function<void(const char *)> &progress);

// How large and how fast an NBD server's export is, as the helper for servers finds it. It is only read: what it holds may be
// somebody's.

struct ExportRates {
  uint64_t bytes = 0;
  unsigned connections = 0;
  double sequentialRead = 0; ///< bytes a second
  double randomRead = 0; ///< reads of 4 KiB a second
};

/// Takes about `seconds`; 0: whether it can be used at all. Throws Failure.
ExportRates measureExport(const std::string &address, double seconds);

} // namespace pagecast::cli
