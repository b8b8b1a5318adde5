// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which parts of the list of backings are addresses of servers, and not directories. For the runtime and for the command.
#pragma once
#include <cstring>
#include <initializer_list>

namespace pagecast {

/// Whether the text is the address of an NBD server's export. NULL is none.
inline bool is_server_address(const char *text) {
  for (const char *scheme : {"nbd://", "nbds://", "nbd+unix://", "nbds+unix://"})
    if (text && !strncmp(text, scheme, strlen(scheme))) return true;
  return false;
}

/// How many addresses are in a list, by what only they have. NULL has none.
inline unsigned addresses_in(const char *list) {
  unsigned n = 0;
  for (const char *at = list; at && (at = strstr(at, "://")); at += strlen("://")) ++n;
  return n;
}

} // namespace pagecast
