// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace pagecast::cli {

struct DoctorOptions {
  bool json = false;
  bool noDisk = false;
  double diskSeconds = 1;
};

/// Prints what this host allows; 1 when something necessary is lacking, else 0.
int doctor(const DoctorOptions &options);

} // namespace pagecast::cli
