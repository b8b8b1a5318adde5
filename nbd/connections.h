// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Connections to one export: as many as are useful, where the server allows several. They are good, or all of them are lost.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <libnbd.h>
#include <poll.h>

namespace pagecast::nbd {

/// What the export is.
struct Export {
  uint64_t bytes = 0;
  uint64_t smallest_request = 1; ///< bytes
  uint64_t block = 0; ///< bytes of the requests that it likes best; 0: it does not say
  bool read_only = false;
  bool caches = false, flushes = false; ///< it knows the request
};

class Connections {
public:
  static constexpr unsigned kMost = 4;
  /// `abandoned`: a descriptor; when it is readable, waits end at once.
  Connections(std::string uri, int abandoned) : uri_(std::move(uri)), abandoned_(abandoned) {}
  ~Connections() { close(); }
  Connections(const Connections &) = delete;
  Connections &operator=(const Connections &) = delete;

  /// Makes them, within so many ms each. False, with a reason in error().
  bool open(int timeout_ms, unsigned most = kMost);
  void close();
  bool any() const { return !handles_.empty(); }
  unsigned count() const { return static_cast<unsigned>(handles_.size()); }
  const Export &facts() const { return facts_; }
  const std::string &error() const { return error_; }

  /// Called when it is done, with 0 or an errno. It must not call anything here.
  using Done = int (*)(void *, int *error);
  /// Sends a request, to each connection in its turn. 0 or an errno.
  int read(void *to, uint64_t bytes, uint64_t offset, Done, void *);
  int write(const void *from, uint64_t bytes, uint64_t offset, Done, void *);
  /// Asks the server to have the bytes at hand soon. ENOTSUP: it does not know how.
  int cache(uint64_t bytes, uint64_t offset, Done, void *);
  /// What has been written is to outlast a loss of power. ENOTSUP: it does not know how.
  int flush(Done, void *);

  /// What poll() should look at, a place each.
  void wants(pollfd *) const;
  /// Does what can be done, after poll().
  void go_on(const pollfd *);
  /// One of them is.
  bool lost() const;

private:
  nbd_handle *connect(int timeout_ms);
  bool finish(nbd_handle *, int timeout_ms);
  nbd_handle *next() { return handles_[turn_++ % handles_.size()]; }

  std::string uri_, error_;
  int abandoned_;
  std::vector<nbd_handle *> handles_;
  unsigned turn_ = 0;
  Export facts_;
};

} // namespace pagecast::nbd
