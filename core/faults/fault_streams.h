// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams of faults: page faults that go on from one another. A program that was not compiled with hints makes them where it
// passes over its data in order. A sequence of faults on pages p, p + s, p + 2s is a stream of stride s; what lies ahead of
// it is worth fetching.
//
// A stream that is fetched in time does not fault any more, so nothing would tell how far the program has come. Hence
// the mark: one page ahead that is kept out of the program's reach until it faults on it. Then half of what was
// fetched is left, which is the time that there is for the next half:
//
//        passed                 mark                   next
//   ......p-------- window ------m------- window -------n
//         the program was        and will be            is asked for next,
//         seen here last         seen here              up to n + left
//
// The window doubles each time, up to what its owner's memory allows. A fault before `next` that is not at the mark is on a page
// that was asked for and has gone again: the window halves.
//
// Random faults must not be taken for streams: three in a row make one of stride 1 or -1, four one of another stride.
// What is looked through is a short memory of faults, so several streams side by side, or of several threads, are
// told apart. Of R pages at random, one fault in R / kRemembered looks like the next of any two before it.
//
// The rows of an image, the records of a file are seldom as long as some pages: a column of them faults on pages an uneven
// distance apart, but at addresses an even one. So a stream is a sequence of places (addresses, where the kernel tells them
// exactly, else those of pages), and what it asks for are the pages in which they lie. Where pages follow each other evenly
// and places do not (records of which now this, now that is read), the pages' addresses are the places.
//
// Cost of a fault: O(kMost) compares and O(kRemembered) look-ups, some 0.2 us.
// Not thread-safe: the caller holds its own lock.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pagecast::core {

struct Stream {
  static constexpr int64_t kNoMark = -1;
  unsigned shift = 0;     ///< a page has 1 << shift bytes
  int64_t stride = 0;     ///< bytes from one place to the next, at least a page; 0: the entry is free
  int64_t low = 0, high = 0; ///< it stays in [low, high)
  int64_t passed = 0;     ///< the last place in whose page the program was seen
  int64_t settled = 0;    ///< its owner's: the first place that it has not done with
  int64_t next = 0;       ///< the first place that was not asked for
  int64_t mark = kNoMark; ///< the place that tells, or kNoMark
  uint32_t left = 0;      ///< how many are to be asked for, from next on
  uint32_t unmarked = 0;  ///< how many of these are too near for the mark
  uint32_t window = 0;    ///< pages, see above
  bool stores = false;    ///< the program stores to its pages
  int64_t probe = kNoMark; ///< its owner's: the place that shows whether the program still stores
  int64_t watched = kNoMark; ///< its owner's: the place that would have been asked for, while nothing is
  uint64_t blocked = 0;   ///< its owner's: what it waits for
  uint64_t used = 0;      ///< when the program was last seen in it, in faults

  bool free() const { return stride == 0; }
  /// Every page, upward or downward. Its places are then the pages' addresses.
  bool sequential() const { return stride == page() || stride == -page(); }
  bool backward() const { return stride == -page(); }
  int64_t page() const { return int64_t(1) << shift; }
  bool at_mark(int64_t place) const { return mark != kNoMark && steps(mark, place) == 0; }
  /// The page of `place` is one of its pages, so many strides from `from`, which is a place of its own: 0 or more. Else -1.
  int64_t steps(int64_t from, int64_t place) const {
    const int64_t begin = (place & -page()) - from, last = begin + page() - 1; // n * stride is to lie between
    const int64_t far = stride > 0 ? last : -begin, near = stride > 0 ? begin : -last, size = stride > 0 ? stride : -stride;
    if (far < 0) return -1;
    const int64_t n = far / size;
    return n * size >= near ? n : -1;
  }
};

class FaultStreams {
public:
  static constexpr unsigned kMost = 32;
  static constexpr unsigned kRemembered = 32; ///< faults
  static constexpr unsigned kNone = ~0u;
  static constexpr uint32_t kFirstWindow = 8;
  static constexpr uint32_t kMostWindow = 512;       ///< of stride 1 or -1: 2 MiB; at a GB/s, a fault in 2 ms
  static constexpr uint32_t kMostWindowApart = 64;   ///< of other strides: each page is a request of its own
  static constexpr int64_t kMostStride = 1 << 14;    ///< pages

  /// `shift`: of the size of pages.
  explicit FaultStreams(unsigned shift) : shift_(shift) {}

  struct Found {
    unsigned stream = kNone; ///< that the fault belongs to, moved on
    bool started = false;    ///< it is new
    Stream replaced;         ///< what was in its place, perhaps a free entry
  };
  /// The program faulted at `place`, whose page was not there. `low`, `high`: the bounds of its region. `pages`: memory that
  /// all streams together may have ahead of the program.
  Found fault(int64_t place, int64_t low, int64_t high, uint64_t pages);
  /// The stream whose pages from `settled` to `next` have that of `place` among them, or kNone.
  unsigned around(int64_t place) const;
  /// `n` pages from next on were asked for, or need not be.
  void asked(unsigned stream, uint32_t n);
  /// All that was to be asked for was passed over without finding a page that can be the mark: `n` more.
  void look_further(unsigned stream, uint32_t n);
  /// Forgets what is known of [low, high): its pages are gone.
  void forget(int64_t low, int64_t high);

  Stream &operator[](unsigned i) { return stream_[i]; }
  const Stream &operator[](unsigned i) const { return stream_[i]; }
  /// Streams in which the program was seen lately.
  unsigned live() const;
  bool is_valid() const;

private:
  unsigned find(int64_t place) const;
  void doubt(int64_t place);
  unsigned victim() const;
  size_t hash(int64_t place) const { return static_cast<uint64_t>(place >> shift_) * 0x9e3779b97f4a7c15u >> (64 - kHashBits); }
  int64_t page_of(int64_t place) const { return place & -(int64_t(1) << shift_); }
  int64_t recognise(int64_t place, int64_t low, int64_t high, bool pages) const;
  bool remembered(int64_t place, unsigned newer, bool pages) const;
  bool looks_even(int64_t stride, int64_t low) const;
  void remember(int64_t place);
  void start(Stream &, int64_t place, int64_t stride, int64_t low, int64_t high);
  void advance(Stream &, int64_t place, uint64_t pages);
  uint32_t most_window(const Stream &, uint64_t pages) const;
  static void clip(Stream &);

  /// A stream is live for so many faults of others.
  static constexpr uint64_t kLively = 8 * kMost;
  static constexpr unsigned kHashBits = 8;
  Stream stream_[kMost];
  const unsigned shift_;
  int64_t recent_[kRemembered] = {}; ///< a ring of places
  unsigned recent_count_ = 0, recent_next_ = 0;
  uint8_t hashed_[1u << kHashBits] = {}; ///< how many of these have a page with this hash
  uint64_t clock_ = 0; ///< counts faults
};

} // namespace pagecast::core
