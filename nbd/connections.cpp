// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nbd/connections.h"

#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace pagecast::nbd {
namespace {

using Clock = std::chrono::steady_clock;

pollfd wanted(nbd_handle *h) {
  const unsigned direction = nbd_aio_get_direction(h);
  const short events = static_cast<short>((direction & LIBNBD_AIO_DIRECTION_READ ? POLLIN : 0) |
                                          (direction & LIBNBD_AIO_DIRECTION_WRITE ? POLLOUT : 0));
  return {nbd_aio_get_fd(h), events, 0};
}

int go_on_with(nbd_handle *h, short happened) {
  const unsigned direction = nbd_aio_get_direction(h);
  if (happened & (POLLIN | POLLHUP | POLLERR) && direction & LIBNBD_AIO_DIRECTION_READ) return nbd_aio_notify_read(h);
  if (happened & (POLLOUT | POLLHUP | POLLERR) && direction & LIBNBD_AIO_DIRECTION_WRITE) return nbd_aio_notify_write(h);
  return 0;
}

bool is_over(nbd_handle *h) { return nbd_aio_is_dead(h) || nbd_aio_is_closed(h); }

/// A machine that vanishes without a word is found out within half a minute. Sockets on this machine know no such thing.
void notice_silence(int fd) {
  const int on = 1, idle_s = 10, between_s = 5, probes = 3, unanswered_ms = 30'000;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
}

std::string last_error() {
  const char *error = nbd_get_error();
  return error ? error : "no connection";
}

int last_errno() { return nbd_get_errno() ? nbd_get_errno() : EIO; }

} // namespace

/// Waits until the handle is connected. False, with a reason.
bool Connections::finish(nbd_handle *h, int timeout_ms) {
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!nbd_aio_is_ready(h)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return error_ = "the server does not answer", false;
    pollfd p[2] = {wanted(h), {abandoned_, POLLIN, 0}};
    if (poll(p, 2, static_cast<int>(left)) > 0 && p[1].revents) return error_ = "abandoned", false;
    const int result = go_on_with(h, p[0].revents);
    if (result < 0 || is_over(h)) return error_ = last_error(), false;
  }
  return true;
}

nbd_handle *Connections::connect(int timeout_ms) {
  nbd_handle *h = nbd_create();
  if (!h) return error_ = last_error(), nullptr;
  nbd_set_pread_initialize(h, false); // what is not read is never looked at
  if (nbd_set_uri_allow_local_file(h, true) || nbd_aio_connect_uri(h, uri_.c_str())) error_ = last_error();
  else if (finish(h, timeout_ms)) {
    notice_silence(nbd_aio_get_fd(h));
    return h;
  }
  nbd_close(h);
  return nullptr;
}

bool Connections::open(int timeout_ms, unsigned most) {
  nbd_handle *first = connect(timeout_ms);
  if (!first) return false;
  handles_.push_back(first);
  const auto or_else = [](int64_t value, uint64_t other) { return value > 0 ? static_cast<uint64_t>(value) : other; };
  facts_ = {or_else(nbd_get_size(first), 0),
            or_else(nbd_get_block_size(first, LIBNBD_SIZE_MINIMUM), 1),
            or_else(nbd_get_block_size(first, LIBNBD_SIZE_PREFERRED), 0),
            nbd_is_read_only(first) == 1,
            nbd_can_cache(first) == 1,
            nbd_can_flush(first) == 1};
  if (nbd_can_multi_conn(first) != 1) return true;
  while (count() < most) {
    nbd_handle *more = connect(timeout_ms);
    if (!more) break; // fewer will do
    handles_.push_back(more);
  }
  return true;
}

void Connections::close() {
  for (nbd_handle *h : handles_) nbd_close(h);
  handles_.clear();
}

int Connections::read(void *to, uint64_t bytes, uint64_t offset, Done done, void *data) {
  const nbd_completion_callback then = {done, data, nullptr};
  return nbd_aio_pread(next(), to, bytes, offset, then, 0) < 0 ? last_errno() : 0;
}

int Connections::cache(uint64_t bytes, uint64_t offset, Done done, void *data) {
  if (!facts_.caches) return ENOTSUP;
  const nbd_completion_callback then = {done, data, nullptr};
  return nbd_aio_cache(next(), bytes, offset, then, 0) < 0 ? last_errno() : 0;
}

int Connections::flush(Done done, void *data) {
  if (!facts_.flushes) return ENOTSUP;
  const nbd_completion_callback then = {done, data, nullptr};
  return nbd_aio_flush(next(), then, 0) < 0 ? last_errno() : 0;
}

int Connections::write(const void *from, uint64_t bytes, uint64_t offset, Done done, void *data) {
  const nbd_completion_callback then = {done, data, nullptr};
  return nbd_aio_pwrite(next(), from, bytes, offset, then, 0) < 0 ? last_errno() : 0;
}

void Connections::wants(pollfd *p) const {
  for (nbd_handle *h : handles_) *p++ = wanted(h);
}

void Connections::go_on(const pollfd *p) {
  for (nbd_handle *h : handles_) go_on_with(h, p++->revents);
}

bool Connections::lost() const {
  for (nbd_handle *h : handles_)
    if (is_over(h)) return true;
  return false;
}

} // namespace pagecast::nbd
