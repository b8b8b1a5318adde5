// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

namespace pagecast::cli {

struct ServeOptions {
  std::string directory;
  std::string cache = "150M", block = "64K", policy = "aging";
  std::string listen;  ///< empty: a socket in a private directory
  std::string tls;     ///< a directory of certificates or a file of keys; empty: none
  bool writable = false;
  double latency = 0;  ///< of the disk, in milliseconds
  bool json = false;
};

/// Serves the files of a directory through a storage cache until a signal ends it; then says what clients did. Returns the
/// exit status.
int serve(const ServeOptions &options);

} // namespace pagecast::cli
