// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/faults/fault_streams.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace pagecast::core {

FaultStreams::Found FaultStreams::fault(int64_t place, int64_t low, int64_t high, uint64_t pages) {
  ++clock_;
  Found found;
  found.stream = find(place);
  if (found.stream == kNone) {
    doubt(place);
    const int64_t exact = recognise(place, low, high, /*pages=*/false), whole = recognise(place, low, high, /*pages=*/true);
    if (exact == 0 && whole == 0) {
      remember(place);
      return found;
    }
    // Pages some rows apart may look even for a while, at a distance that is the rows' but for the rest of a page.
    const bool by_pages = exact == 0 || (whole != 0 && std::abs(whole) <= std::abs(exact) - (int64_t(1) << shift_));
    if (looks_even(by_pages ? whole : exact, low)) {
      remember(place);
      return found;
    }
    found.stream = victim();
    found.started = true;
    found.replaced = stream_[found.stream];
    start(stream_[found.stream], by_pages ? page_of(place) : place, by_pages ? whole : exact, low, high);
  }
  advance(stream_[found.stream], place, pages);
  return found;
}

/// The stream that goes on at `place`: at its mark, or from what it has not asked for yet. The nearest, since streams of the
/// same stride may follow each other.
unsigned FaultStreams::find(int64_t place) const {
  unsigned best = kNone;
  int64_t nearest = 0;
  for (unsigned i = 0; i < kMost; ++i) {
    const Stream &s = stream_[i];
    if (s.free() || place < s.low || place >= s.high) continue;
    const int64_t n = s.steps(s.passed, place), beyond = s.steps(s.passed, s.next);
    if (n <= 0 || n > beyond + s.left || (n < beyond && !s.at_mark(place))) continue;
    if (best == kNone || n < nearest) best = i, nearest = n;
  }
  return best;
}

/// What a stream asked for is there, but for its mark, until it is evicted. So a fault there says that the stream runs too
/// far ahead, or that the program has left it and faults at random: then each such fault would move it on.
void FaultStreams::doubt(int64_t place) {
  for (Stream &s : stream_) {
    if (s.free() || place < s.low || place >= s.high) continue;
    const int64_t n = s.steps(s.passed, place);
    if (n <= 0 || n >= s.steps(s.passed, s.next)) continue;
    s.window = std::max(s.window / 2, 1u);
    s.left = 0;
  }
}

unsigned FaultStreams::around(int64_t place) const {
  for (unsigned i = 0; i < kMost; ++i) {
    const Stream &s = stream_[i];
    if (s.free()) continue;
    const int64_t n = s.steps(s.settled, place);
    if (n >= 0 && n < s.steps(s.settled, s.next)) return i;
  }
  return kNone;
}

/// Whether `place`, or its page, is among the remembered faults that are older than number `newer` (0 = the newest).
bool FaultStreams::remembered(int64_t place, unsigned newer, bool pages) const {
  if (!hashed_[hash(place)]) return false; // as nearly all that are looked for
  for (unsigned age = newer + 1; age < recent_count_; ++age) {
    const int64_t before = recent_[(recent_next_ + 2 * kRemembered - 1 - age) % kRemembered];
    if ((pages ? page_of(before) : before) == place) return true;
  }
  return false;
}

/// The stride at which this fault goes on from earlier ones, or 0: that of places, or that of their pages. The shortest,
/// since a row's pages have many. Places less than a page apart are pages next to each other.
int64_t FaultStreams::recognise(int64_t place, int64_t low, int64_t high, bool pages) const {
  int64_t best = 0;
  const int64_t page = int64_t(1) << shift_;
  if (pages) place = page_of(place);
  for (unsigned age = 0; age < recent_count_; ++age) {
    int64_t before = recent_[(recent_next_ + 2 * kRemembered - 1 - age) % kRemembered];
    if (pages) before = page_of(before);
    const int64_t stride = place - before, size = std::abs(stride);
    if (before < low || before >= high || size < page || size > kMostStride * page || (size == page && !pages)) continue;
    if (best != 0 && size >= std::abs(best)) continue;
    if (!remembered(before - stride, age, pages)) continue;
    if (size == page || remembered(before - 2 * stride, age, pages)) best = stride;
  }
  return best;
}

/// Whether pages at such a distance may be those of rows, or of each so many rows, that a stream goes through, whose places are not
/// as far apart.
bool FaultStreams::looks_even(int64_t stride, int64_t low) const {
  const int64_t page = int64_t(1) << shift_;
  if (stride % page != 0) return false;
  return std::any_of(stream_, stream_ + kMost, [=, this](const Stream &s) {
    if (s.free() || s.low != low || s.stride % page == 0 || clock_ - s.used >= kLively) return false;
    const int64_t row = std::abs(s.stride), beyond = std::abs(stride) % row;
    return std::abs(s.stride - stride) < page || (row >= 4 * page && std::min(beyond, row - beyond) < page);
  });
}

void FaultStreams::remember(int64_t place) {
  if (recent_count_ == kRemembered) --hashed_[hash(recent_[recent_next_])];
  recent_[recent_next_] = place;
  ++hashed_[hash(place)];
  recent_next_ = (recent_next_ + 1) % kRemembered;
  if (recent_count_ < kRemembered) ++recent_count_;
}

unsigned FaultStreams::victim() const {
  unsigned oldest = 0;
  for (unsigned i = 0; i < kMost; ++i) {
    if (stream_[i].free()) return i;
    if (stream_[i].used < stream_[oldest].used) oldest = i;
  }
  return oldest;
}

void FaultStreams::start(Stream &s, int64_t place, int64_t stride, int64_t low, int64_t high) {
  s = {};
  s.shift = shift_;
  s.stride = stride;
  s.low = low;
  s.high = high;
  s.passed = place - stride;
  s.settled = place - stride;
  s.next = place + stride;
  s.window = kFirstWindow / 2; // advancing doubles it
}

/// The program is in the page of `place`.
void FaultStreams::advance(Stream &s, int64_t place, uint64_t pages) {
  s.used = clock_;
  s.passed += s.stride * s.steps(s.passed, place);
  s.mark = Stream::kNoMark;
  s.window = std::min(s.window * 2, most_window(s, pages));
  const int64_t beyond = s.steps(s.passed, s.next);
  if (beyond <= 0) s.next = s.passed + s.stride;
  const auto ahead = static_cast<uint32_t>(std::max<int64_t>(beyond, 1) - 1); // asked for, not passed
  s.left = 2 * s.window > ahead ? 2 * s.window - ahead : 0;
  s.unmarked = s.window - 1 > ahead ? s.window - 1 - ahead : 0;
  clip(s);
}

uint32_t FaultStreams::most_window(const Stream &s, uint64_t pages) const {
  const uint64_t share = pages / (2 * std::max(live(), 1u));
  const uint64_t most = s.sequential() ? kMostWindow : kMostWindowApart;
  return static_cast<uint32_t>(std::clamp<uint64_t>(share, 1, most));
}

/// Nothing is asked for beyond the bounds.
void FaultStreams::clip(Stream &s) {
  const int64_t beyond = s.stride > 0 ? s.high - s.next : s.next - s.low + 1;
  const int64_t size = s.stride > 0 ? s.stride : -s.stride;
  const int64_t most = beyond > 0 ? (beyond + size - 1) / size : 0;
  if (s.left > most) s.left = static_cast<uint32_t>(most);
}

void FaultStreams::asked(unsigned stream, uint32_t n) {
  Stream &s = stream_[stream];
  s.next += s.stride * n;
  s.left -= n;
  s.unmarked -= std::min(s.unmarked, n);
}

void FaultStreams::look_further(unsigned stream, uint32_t n) {
  stream_[stream].left += n;
  clip(stream_[stream]);
}

void FaultStreams::forget(int64_t low, int64_t high) {
  for (Stream &s : stream_)
    if (!s.free() && s.low < high && s.high > low) s = {};
  unsigned kept = 0;
  int64_t recent[kRemembered];
  for (unsigned age = recent_count_; age-- > 0;) {
    const int64_t place = recent_[(recent_next_ + 2 * kRemembered - 1 - age) % kRemembered];
    if (place < low || place >= high) recent[kept++] = place;
  }
  std::fill(std::begin(hashed_), std::end(hashed_), uint8_t{0});
  for (unsigned i = 0; i < kept; ++i) ++hashed_[hash(recent[i])];
  std::copy_n(recent, kept, recent_);
  recent_count_ = kept;
  recent_next_ = kept % kRemembered;
}

unsigned FaultStreams::live() const {
  unsigned n = 0;
  for (const Stream &s : stream_) n += !s.free() && clock_ - s.used < kLively;
  return n;
}

bool FaultStreams::is_valid() const {
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
