// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/streams.h"

#include <algorithm>

namespace pagecast::core {

Streams::Found Streams::fault(int64_t page, int64_t low, int64_t high, uint64_t pages) {
  ++clock_;
  Found found;
  found.stream = find(page);
  if (found.stream == kNone) {
    const int64_t stride = recognise(page, low, high);
    if (stride == 0) {
      remember(page);
      return found;
    }
    found.stream = victim();
    found.started = true;
    found.replaced = stream_[found.stream];
    start(stream_[found.stream], page, stride, low, high);
  }
  advance(stream_[found.stream], page, pages);
  return found;
}

/// The stream that goes on at `page`: where it has its mark, or anywhere before what it was going to ask for. The
/// nearest, since streams of the same stride may follow each other.
unsigned Streams::find(int64_t page) const {
  unsigned best = kNone;
  int64_t nearest = 0;
  for (unsigned i = 0; i < kMost; ++i) {
    const Stream &s = stream_[i];
    if (s.free() || page < s.low || page >= s.high) continue;
    const int64_t n = s.steps(s.passed, page);
    if (n <= 0 || n > s.steps(s.passed, s.next) + s.left) continue;
    if (best == kNone || n < nearest) best = i, nearest = n;
  }
  return best;
}

unsigned Streams::around(int64_t page) const {
  for (unsigned i = 0; i < kMost; ++i) {
    const Stream &s = stream_[i];
    if (s.free()) continue;
    const int64_t n = s.steps(s.settled, page);
    if (n >= 0 && n < s.steps(s.settled, s.next)) return i;
  }
  return kNone;
}

/// Whether `page` is among the remembered faults that are older than number `newer` (0 = the newest).
bool Streams::remembered(int64_t page, unsigned newer) const {
  for (unsigned age = newer + 1; age < recent_count_; ++age)
    if (recent_[(recent_next_ + 2 * kRemembered - 1 - age) % kRemembered] == page) return true;
  return false;
}

/// The stride at which this fault goes on from earlier ones, or 0. The shortest, since a row's pages have many.
int64_t Streams::recognise(int64_t page, int64_t low, int64_t high) const {
  int64_t best = 0;
  for (unsigned age = 0; age < recent_count_; ++age) {
    const int64_t before = recent_[(recent_next_ + 2 * kRemembered - 1 - age) % kRemembered];
    const int64_t stride = page - before, size = stride < 0 ? -stride : stride;
    if (before < low || before >= high || size == 0 || size > kMostStride) continue;
    if (best != 0 && size >= (best < 0 ? -best : best)) continue;
    if (!remembered(before - stride, age)) continue;
    if (size == 1 || remembered(before - 2 * stride, age)) best = stride;
  }
  return best;
}

void Streams::remember(int64_t page) {
  recent_[recent_next_] = page;
  recent_next_ = (recent_next_ + 1) % kRemembered;
  if (recent_count_ < kRemembered) ++recent_count_;
}

unsigned Streams::victim() const {
  unsigned oldest = 0;
  for (unsigned i = 0; i < kMost; ++i) {
    if (stream_[i].free()) return i;
    if (stream_[i].used < stream_[oldest].used) oldest = i;
  }
  return oldest;
}

void Streams::start(Stream &s, int64_t page, int64_t stride, int64_t low, int64_t high) {
  s = {};
  s.stride = stride;
  s.low = low;
  s.high = high;
  s.passed = page - stride;
  s.settled = page - stride;
  s.next = page + stride;
  s.window = kFirstWindow / 2; // advancing doubles it
}

/// The program is at `page`.
void Streams::advance(Stream &s, int64_t page, uint64_t pages) {
  s.used = clock_;
  s.passed = page;
  s.mark = Stream::kNoMark;
  s.window = std::min(s.window * 2, most_window(s, pages));
  const int64_t beyond = s.steps(page, s.next);
  if (beyond <= 0) s.next = page + s.stride;
  const auto ahead = static_cast<uint32_t>(std::max<int64_t>(beyond, 1) - 1); // asked for, not passed
  s.left = 2 * s.window > ahead ? 2 * s.window - ahead : 0;
  s.unmarked = s.window - 1 > ahead ? s.window - 1 - ahead : 0;
  clip(s);
}

uint32_t Streams::most_window(const Stream &s, uint64_t pages) const {
  const uint64_t share = pages / (2 * std::max(live(), 1u));
  const uint64_t most = s.sequential() ? kMostWindow : kMostWindowApart;
  return static_cast<uint32_t>(std::clamp<uint64_t>(share, 1, most));
}

/// Nothing is asked for beyond the bounds.
void Streams::clip(Stream &s) {
  const int64_t room = s.stride > 0 ? s.high - s.next : s.next - s.low + 1;
  const int64_t size = s.stride > 0 ? s.stride : -s.stride;
  const int64_t most = room > 0 ? (room + size - 1) / size : 0;
  if (s.left > most) s.left = static_cast<uint32_t>(most);
}

void Streams::asked(unsigned stream, uint32_t n) {
  Stream &s = stream_[stream];
  s.next += s.stride * n;
  s.left -= n;
  s.unmarked -= std::min(s.unmarked, n);
}

void Streams::look_further(unsigned stream, uint32_t n) {
  stream_[stream].left += n;
  clip(stream_[stream]);
}

void Streams::forget(int64_t low, int64_t high) {
  for (Stream &s : stream_)
    if (!s.free() && s.low < high && s.high > low) s = {};
  unsigned kept = 0;
  int64_t recent[kRemembered];
  for (unsigned age = recent_count_; age-- > 0;) {
    const int64_t page = recent_[(recent_next_ + 2 * kRemembered - 1 - age) % kRemembered];
    if (page < low || page >= high) recent[kept++] = page;
  }
  std::copy_n(recent, kept, recent_);
  recent_count_ = kept;
  recent_next_ = kept % kRemembered;
}

unsigned Streams::live() const {
  unsigned n = 0;
  for (const Stream &s : stream_) n += !s.free() && clock_ - s.used < kLively;
  return n;
}

bool Streams::is_valid() const {
  for (const Stream &s : stream_) {
    if (s.free()) continue;
    if (s.passed < s.low || s.passed >= s.high) return false;
    if (s.steps(s.passed, s.next) <= 0 || s.steps(s.settled, s.passed) < 0) return false;
    if (s.mark != Stream::kNoMark && (s.steps(s.passed, s.mark) <= 0 || s.steps(s.mark, s.next) < 0)) return false;
    if (s.left && (s.next + s.stride * (s.left - 1) < s.low || s.next + s.stride * (s.left - 1) >= s.high)) return false;
  }
  return recent_count_ <= kRemembered && recent_next_ < kRemembered;
}

} // namespace pagecast::core
