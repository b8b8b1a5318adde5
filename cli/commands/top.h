// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace pagecast::cli {

struct TopOptions {
  bool json = false;      ///< one line of JSON an interval
  double interval = 1;    ///< seconds
  unsigned count = 0;     ///< views until it ends; 0: until it is interrupted
};

/// Shows what the paged programs of this host do, time after time. An interruption ends it, with success.
int top(const TopOptions &options);

} // namespace pagecast::cli
