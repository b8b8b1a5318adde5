// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a server of ours listens: a socket in the file system, or a port of an address.
#pragma once
#include <cstdint>
#include <string>

namespace pagecast::cli {

struct Address {
  std::string socket; ///< a path; empty: a port
  std::string host;
  uint16_t port = 0;

  /// What clients of NBD call the server's file `name`; `isEncrypted`: by TLS.
  std::string uri(const std::string &name, bool isEncrypted) const;
  /// Only programs of this machine can reach it.
  bool isLocal() const;
};

/// Reads "PATH", which has a slash, or "HOST:PORT". Throws Failure when `text` is neither, or nothing can listen there.
Address parseAddress(const std::string &text);

} // namespace pagecast::cli
