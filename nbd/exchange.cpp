// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nbd/exchange.h"

#include "nbd/clock.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <sys/eventfd.h>
#include <unistd.h>

namespace pagecast::nbd {
namespace {

constexpr int kConnectMs = 5000, kRetryMs = 200;

/// That the server is about to go, or has gone.
bool means_loss(int error) { return error == ESHUTDOWN || error == ENOTCONN || error == EPIPE || error == ECONNRESET; }

} // namespace

Exchange::Exchange(NbdChannel &channel, char *staging, int abandoned)
    : channel_(channel), staging_(staging), abandoned_(abandoned), connections_(channel.uri, abandoned) {
  for (uint32_t i = 0; i < NbdChannel::kPieces; ++i) flights_.push_back({this, i, 0, Step::kNone});
}

/// Why the export will not do; NULL: it will.
const char *Exchange::unfit() const {
  const Export &e = connections_.facts();
  if (e.read_only && channel_.writes) return "the server does not let it be written";
  if (e.smallest_request > channel_.page_bytes) return "the server takes only requests that are larger than a page";
  if (e.bytes < channel_.bytes || e.bytes == 0) return "the export is smaller than it was";
  return nullptr;
}

bool Exchange::begin() {
  if (channel_.bytes) return true; // it is known: whether it is there now is another question
  const bool open = connections_.open(kConnectMs);
  const char *why = open ? unfit() : connections_.error().c_str();
  if (why) snprintf(channel_.why, sizeof channel_.why, "%s", why);
  else {
    channel_.bytes = connections_.facts().bytes;
    channel_.block = connections_.facts().block;
    channel_.read_only = connections_.facts().read_only;
  }
  channel_.state.store(why ? NbdChannel::kRefused : NbdChannel::kReady, std::memory_order_release);
  const char byte = 0;
  return write(NbdChannel::kControl, &byte, 1) == 1 && !why;
}

bool Exchange::is_abandoned() const {
  pollfd p{abandoned_, POLLIN, 0};
  return poll(&p, 1, 0) != 0;
}

// --- pieces ----------------------------------------------------------------------------------------

void Exchange::take_pieces() {
  for (uint32_t piece; channel_.asked.take(&piece);) {
    flights_[piece].step = Step::kWaits;
    waiting_.push_back(piece);
  }
}

/// NULL: it is in none of the memories.
char *Exchange::memory_of(const NbdPiece &p) {
  if (p.kind >= NbdPiece::kCache) return reinterpret_cast<char *>(&channel_); // it uses none
  const uint64_t bytes = p.staged ? channel_.staging_bytes : channel_.channel_bytes;
  if (p.memory > bytes || p.bytes > bytes - p.memory) return nullptr;
  return (p.staged ? staging_ : reinterpret_cast<char *>(&channel_)) + p.memory;
}

/// Libnbd calls this while it holds the handle's lock.
int Exchange::piece_done(void *data, int *error) {
  auto &f = *static_cast<Flight *>(data);
  if (f.step != Step::kSent) return 1; // of a connection that is given up
  f.error = *error;
  f.step = Step::kDone;
  f.of->done_.push_back(f.piece);
  return 1;
}

void Exchange::send(Flight &f) {
  const NbdPiece &p = channel_.piece[f.piece];
  char *memory = memory_of(p);
  f.step = Step::kSent;
  int error = EFAULT;
  switch (memory ? p.kind : NbdPiece::kFlush + 1) {
  case NbdPiece::kRead: error = connections_.read(memory, p.bytes, p.offset, piece_done, &f); break;
  case NbdPiece::kWrite: error = connections_.write(memory, p.bytes, p.offset, piece_done, &f); break;
  case NbdPiece::kCache: error = connections_.cache(p.bytes, p.offset, piece_done, &f); break;
  case NbdPiece::kFlush: error = connections_.flush(piece_done, &f); break;
  default: break;
  }
  if (!error) return;
  f.error = error;
  f.step = Step::kDone;
  done_.push_back(f.piece);
}

void Exchange::answer(Flight &f) {
  f.step = Step::kNone;
  channel_.answered.put({f.piece, -f.error});
  answered_ = true;
}

/// Answers what is done. What failed since the server is going will be sent again.
void Exchange::settle() {
  bool lost = connections_.lost();
  for (const uint32_t piece : done_) lost |= means_loss(flights_[piece].error);
  for (const uint32_t piece : done_) {
    Flight &f = flights_[piece];
    if (f.error && (connections_.lost() || means_loss(f.error))) f.step = Step::kSent;
    else answer(f);
  }
  done_.clear();
  if (lost) lose();
}

// --- loss ------------------------------------------------------------------------------------------

void Exchange::lose() {
  for (Flight &f : flights_) {
    if (f.step != Step::kSent) continue;
    f.step = Step::kWaits;
    waiting_.push_back(f.piece);
  }
  connections_.close();
  note_loss();
}

void Exchange::note_loss() {
  if (lost_since_ns_) return;
  lost_since_ns_ = now_ns();
  channel_.losses.fetch_add(1);
  tell();
}

/// Has the runtime look.
void Exchange::tell() {
  eventfd_write(NbdChannel::kAnswers, 1);
  answered_ = false;
}

void Exchange::give_up_waiting() {
  for (const uint32_t piece : waiting_) {
    flights_[piece].error = ENOTCONN;
    answer(flights_[piece]);
  }
  waiting_.clear();
}

/// Also for the first time, where the runtime does not wait for it.
void Exchange::reconnect() {
  if (connections_.open(kConnectMs)) {
    if (!unfit()) {
      if (lost_since_ns_) channel_.returns.fetch_add(1);
      lost_since_ns_ = 0;
      return tell();
    }
    connections_.close(); // not ours
  }
  note_loss();
  if (now_ns() - lost_since_ns_ > channel_.patience_s * uint64_t{1'000'000'000}) give_up_waiting();
}

// --- the loop --------------------------------------------------------------------------------------

/// Sleeps until there is something to do: an answer, a piece, or room to send.
void Exchange::wait() {
  if (answered_) tell();
  pollfd p[Connections::kMost + 2];
  const unsigned n = connections_.count();
  connections_.wants(p);
  p[n] = {NbdChannel::kWork, POLLIN, 0};
  p[n + 1] = {abandoned_, POLLIN, 0};
  channel_.asleep.store(1, std::memory_order_seq_cst);
  const bool idle = channel_.asked.is_empty() && !connections_.lost();
  poll(p, n + 2, !idle ? 0 : connections_.any() ? -1 : kRetryMs);
  channel_.asleep.store(0, std::memory_order_seq_cst);
  eventfd_t ignored;
  if (p[n].revents) eventfd_read(NbdChannel::kWork, &ignored);
  connections_.go_on(p);
}

void Exchange::run() {
  while (!is_abandoned()) {
    take_pieces();
    if (!connections_.any()) reconnect();
    if (connections_.any()) {
      std::vector<uint32_t> now;
      now.swap(waiting_);
      for (const uint32_t piece : now) send(flights_[piece]);
    }
    settle();
    wait();
    settle();
  }
}

} // namespace pagecast::nbd
