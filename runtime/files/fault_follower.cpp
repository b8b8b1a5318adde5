// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/fault_follower.h"

#include <algorithm>
#include <cstdlib>

namespace pagecast {
namespace {

constexpr uint64_t kNever = ~uint64_t{0};
constexpr uint64_t kRestNs = 200000000, kFirstRestNs = 1000000000, kLongestRestNs = 64000000000;
constexpr uint64_t kLookNs = 200000, kLongestLookNs = 5000000; ///< between looks at faults, and where there are none
constexpr uint64_t kTryNs = 500000000;    ///< until faults at even distances must have been seen
constexpr uint64_t kUselessNs = 1000000000; ///< without a region that is worth it
constexpr uint64_t kThreadsNs = 250000000;
constexpr uint64_t kAheadShare = 8;       ///< of the memory, the part that streams may be ahead
constexpr unsigned kTaken = 512;          ///< faults at a time
constexpr int64_t kBack = 32;             ///< places that a stream's other pages may come after

} // namespace

uint64_t FaultFollower::look(bool waits) {
  const uint64_t now = os::now_ns();
  if (now >= next_look_) {
    if (state_ != State::kResting) go_on(now);
    else if (waits) begin(now);
  }
  return state_ == State::kResting ? kNever : next_look_ - now;
}

void FaultFollower::go_on(uint64_t now) {
  if (now >= next_threads_) {
    next_threads_ = now + kThreadsNs;
    if (events_.follow() <= 0) return rest(now);
  }
  const bool any = take_faults(now);
  judge(now);
  if (now - std::max(since_, useful_at_) > (state_ == State::kLooking ? kTryNs : kUselessNs)) return rest(now);
  pause_ns_ = any ? kLookNs : std::min(2 * pause_ns_, kLongestLookNs);
  next_look_ = now + pause_ns_;
}

void FaultFollower::begin(uint64_t now) {
  if (events_.follow() <= 0) return rest(now);
  state_ = State::kLooking;
  since_ = useful_at_ = now;
  next_threads_ = now + kThreadsNs;
  next_look_ = now + (pause_ns_ = kLookNs);
}

/// Until there is a reason again. What was of use for longer than it is looked for may be so again soon.
void FaultFollower::rest(uint64_t now) {
  const bool was_of_use = state_ == State::kHelping && now - since_ > 2 * kUselessNs;
  rest_ns_ = was_of_use ? kRestNs : std::clamp(2 * rest_ns_, kFirstRestNs, kLongestRestNs);
  next_look_ = now + rest_ns_;
  let_go();
}

void FaultFollower::forked() {
  next_look_ = 0;
  let_go();
}

/// Follows nothing any more, and has the kernel read as it did.
void FaultFollower::let_go() {
  for (Watched &w : watched_) {
    if (w.apart) read_apart(w, false);
    w = {};
  }
  events_.stop();
  streams_.forget(0, INT64_MAX);
  state_ = State::kResting;
  width_.forget();
}

/// False: there were none in files.
bool FaultFollower::take_faults(uint64_t now) {
  uint64_t places[kTaken];
  bool any = false;
  ++looks_;
  for (unsigned n; (n = events_.take(places, kTaken)) != 0;) {
    for (unsigned i = 0; i < n; ++i)
      if (Watched *w = watched(places[i], now)) follow(*w, static_cast<int64_t>(places[i])), any = true;
    if (n < kTaken) break;
  }
  return any;
}

/// The region of a fault: one that is watched already, or in the place of the one without faults for longest. NULL: it lies in none,
/// or hints speak of it.
FaultFollower::Watched *FaultFollower::watched(uint64_t place, uint64_t now) {
  Watched *oldest = nullptr;
  for (Watched &w : watched_) {
    if (place >= w.region.base && place < w.region.end()) return w.used = looks_, &w;
    if (!w.apart && (!oldest || w.used < oldest->used)) oldest = &w;
  }
  const FileRegion r = table_.look_up(place);
  if (!oldest || !r.bytes || r.kind != Region::kFile || r.hinted || r.scattered || r.opaque) return nullptr;
  *oldest = {};
  oldest->region = r;
  oldest->since = now;
  oldest->read_bytes = os::read_from_disks();
  oldest->used = looks_;
  oldest->apart = r.alone;
  return oldest;
}

/// Every fault tells how far the program has come: so the page that was expected next is a mark (fault_streams.h) wherever it is.
void FaultFollower::follow(Watched &w, int64_t place) {
  const unsigned ahead = streams_.around(place);
  if (ahead == core::FaultStreams::kNone && is_beyond(place)) return;
  int64_t before = 0;
  if (ahead != core::FaultStreams::kNone) {
    core::Stream &s = streams_[ahead];
    before = s.steps(s.passed, place);
    if (before == 0) return; // once more where it is: the page has gone, or another thread came
    s.mark = s.passed + s.stride * before;
  }
  const int64_t low = static_cast<int64_t>(w.region.base), high = static_cast<int64_t>(w.region.end());
  const auto found = streams_.fault(place, low, high, table_.memory_bytes / kAheadShare >> table_.shift);
  if (found.stream == core::FaultStreams::kNone) return w.mix.fault(static_cast<uint64_t>(place), 0, false);
  core::Stream &s = streams_[found.stream];
  const auto moved = static_cast<uint64_t>(std::abs(s.passed - s.settled));
  s.settled = s.passed;
  const bool forward = !s.sequential();
  w.mix.fault(static_cast<uint64_t>(place), forward ? moved / siblings(s) : 0, ahead != core::FaultStreams::kNone && w.apart);
  if (forward) width_.came();
}

/// The streams that go through the same rows side by side, one row of some or one page of a row each, with this one among them.
uint64_t FaultFollower::siblings(const core::Stream &s) const {
  uint64_t n = 0;
  for (unsigned i = 0; i < core::FaultStreams::kMost; ++i)
    n += streams_[i].stride == s.stride && std::abs(streams_[i].passed - s.passed) < std::abs(s.stride);
  return n;
}

/// Whether it lies some pages behind a place that a stream came to of late, or has asked for, and is no place of its own. Of pages
/// that were asked for, the kernel maps those near a fault with it, so that the first one of a place need not be seen.
bool FaultFollower::is_beyond(int64_t place) {
  if (static_cast<uint64_t>(place) % os::page_size() >= core::FaultMix::kEdge)
    return false; // it did not come from the page before
  const core::Stream *latest = nullptr;
  int64_t bytes = 0;
  for (unsigned i = 0; i < core::FaultStreams::kMost; ++i) {
    const core::Stream &s = streams_[i];
    if (s.free() || place < s.low || place >= s.high || (latest && s.used < latest->used)) continue;
    const int64_t begin = place & -s.page(), first = s.passed - kBack * s.stride, last = kBack + s.steps(s.passed, s.next);
    for (int64_t back = s.page(); back < static_cast<int64_t>(core::PlaceBytes::kMost) && back < std::abs(s.stride);
         back += s.page()) {
      const int64_t n = s.steps(first, begin - back);
      if (n < 0 || n > last) continue;
      latest = &s;
      bytes = begin - (first + n * s.stride);
      break;
    }
  }
  if (latest) width_.behind(static_cast<uint64_t>(bytes));
  return latest != nullptr;
}

void FaultFollower::judge(uint64_t now) {
  const uint64_t read = os::read_from_disks();
  for (Watched &w : watched_) {
    if (!w.region.bytes) continue;
    const auto verdict = w.mix.verdict(w.apart, now - w.since, read - w.read_bytes);
    if (verdict == core::FaultMix::Verdict::kGoOn) continue;
    w.since = now;
    w.read_bytes = read;
    const bool apart = verdict == core::FaultMix::Verdict::kApart;
    if (apart != w.apart && !read_apart(w, apart)) {
      w = {};
      continue;
    }
    if (!apart) continue;
    useful_at_ = now;
    if (state_ == State::kLooking) state_ = State::kHelping, since_ = now;
  }
}

/// False: the region has gone.
bool FaultFollower::read_apart(Watched &w, bool apart) {
  w.apart = apart;
  // What was taken for streams while the kernel read around was every third place or so: what it reads around hides the others.
  streams_.forget(static_cast<int64_t>(w.region.base), static_cast<int64_t>(w.region.end()));
  bool as_it_was = false;
  {
    Guard guard(table_.lock);
    FileRegion *r = table_.regions.find(w.region.base);
    if (!r || r->base != w.region.base || r->bytes != w.region.bytes) return false;
    r->strided = apart;
    as_it_was = r->alone || r->scattered;
  }
  if (as_it_was) return true;
  table_.expect_scattered(w.region.base, w.region.bytes, apart);
  return true;
}

unsigned FaultFollower::next(core::Extent *parts, unsigned most) {
  unsigned n = 0;
  for (; stream_ < core::FaultStreams::kMost; ++stream_) {
    core::Stream &s = streams_[stream_];
    if (s.free() || !s.left) continue;
    const auto low = static_cast<uint64_t>(s.low);
    const Watched *w = std::find_if(watched_, watched_ + kWatched, [low](const Watched &of) { return of.region.base == low; });
    if (w == watched_ + kWatched || !w->apart) continue;
    const uint64_t bytes = s.sequential() ? 1 : width_.bytes();
    while (s.left) {
      const auto begin = static_cast<uint64_t>(s.next & -s.page());
      const uint64_t end = std::min(os::page_up(static_cast<uint64_t>(s.next) + bytes), w->region.end());
      if (n && parts[n - 1].end == begin) {
        parts[n - 1].end = end;
      } else {
        if (n == most) return n;
        parts[n++] = {begin, end};
      }
      streams_.asked(stream_, 1);
    }
  }
  stream_ = 0;
  return n;
}

} // namespace pagecast
