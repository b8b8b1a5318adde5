// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast the disk behind a directory is, measured with direct I/O through io_uring.
#pragma once
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

} // namespace pagecast::cli
