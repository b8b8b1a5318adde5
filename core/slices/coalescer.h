// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The requests to come: what a slice has found and not asked for yet. Pieces of different references and of several steps
// that lie next to each other become one request: the disk and the pager pay by the request, not by the page.
//
// Example: the first blocks of all lines of a plane, a page each and three pages apart, then the lines themselves. The
// lines fill the gaps, and the plane is asked for in pieces of 256 KiB.
//
// Kept in the order of addresses. No clock, no allocation; not thread-safe.
#pragma once
#include "core/types.h"

#include <cstdint>

namespace pagecast::core {

class Coalescer {
public:
  struct Request {
    Extent extent; ///< whole pages
    uint64_t since = 0; ///< the first step that touches it
    unsigned group = 0; ///< of its largest part
    bool write = false; ///< will be stored to: only pieces alike become one
  };
  static constexpr unsigned kMost = 512;

  /// `enough`: bytes from which a request is asked for at once.
  void start(uint64_t enough) {
    count_ = 0;
    enough_ = enough;
  }
  bool empty() const { return count_ == 0; }

  /// Adds a piece. True: `out` is to be asked for now, because it is large enough or there must be room for others.
  /// Cost: log2 of the requests, and a move of those behind it.
  bool add(const Request &piece, Request *out);
  /// Takes the requests that step `by` or an earlier one touches, the lowest first, and calls ask(request) for each until it
  /// returns false. Those that were not asked for are forgotten.
  template <class Ask> bool take(uint64_t by, Ask ask) {
    bool wanted = true;
    unsigned kept = 0;
    for (unsigned i = 0; i < count_; ++i) {
      if (request_[i].since > by) request_[kept++] = request_[i];
      else if (wanted) wanted = ask(request_[i]);
    }
    count_ = kept;
    return wanted;
  }
  /// The first step that touches any; ~0: there are none. Cost: all requests.
  uint64_t oldest() const;

private:
  unsigned index_of(Addr) const;
  bool join(unsigned at, const Request &piece);
  void remove(unsigned at, Request *out);
  unsigned oldest_request() const;

  Request request_[kMost];
  unsigned count_ = 0;
  uint64_t enough_ = 1;
};

} // namespace pagecast::core
