// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams: page faults that go on from one another, as of a program that was not compiled with hints and passes over
// its data in order. A sequence of faults on pages p, p + s, p + 2s is a stream of stride s; what lies ahead of it is
// worth fetching.
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
// The window doubles each time, up to what its owner's memory allows.
//
// Random faults must not be taken for streams: three in a row make one of stride 1 or -1, four one of another stride.
// What is looked through is a short memory of faults, so several streams side by side, or of several threads, are
// told apart. Of R pages at random, one fault in R / kRemembered looks like the next of any two before it.
//
// Pages are numbers (address / page size). Cost of a fault: O(kMost + kRemembered^2 / 2) compares, below 1 us.
// Not thread-safe: the caller holds its own lock.
#pragma once
#include <cstdint>

namespace pagecast::core {

struct Stream {
  static constexpr int64_t kNoMark = -1;
  int64_t stride = 0;     ///< pages from one to the next; 0: the entry is free
  int64_t low = 0, high = 0; ///< it stays in [low, high)
  int64_t passed = 0;     ///< the last page at which the program was seen
  int64_t settled = 0;    ///< its owner's: the first page that it has not done with
  int64_t next = 0;       ///< the first page that was not asked for
  int64_t mark = kNoMark; ///< the page that tells, or kNoMark
  uint32_t left = 0;      ///< how many are to be asked for, from next on
  uint32_t unmarked = 0;  ///< how many of these are too near for the mark
  uint32_t window = 0;    ///< pages, see above
  bool stores = false;    ///< the program stores to its pages
  int64_t probe = kNoMark; ///< its owner's: the page that shows whether the program still stores
  uint64_t blocked = 0;   ///< its owner's: what it waits for
  uint64_t used = 0;      ///< when the program was last seen in it, in faults

  bool free() const { return stride == 0; }
  bool sequential() const { return stride == 1 || stride == -1; }
  /// `page` is one of its pages, so many strides from `from`: 0 or more. Else -1.
  int64_t steps(int64_t from, int64_t page) const {
    const int64_t d = page - from;
    return d % stride == 0 && d / stride >= 0 ? d / stride : -1;
  }
};

class Streams {
public:
  static constexpr unsigned kMost = 32;
  static constexpr unsigned kRemembered = 32; ///< faults
  static constexpr unsigned kNone = ~0u;
  static constexpr uint32_t kFirstWindow = 8;
  static constexpr uint32_t kMostWindow = 512;       ///< of stride 1 or -1: 2 MiB; at a GB/s, a fault in 2 ms
  static constexpr uint32_t kMostWindowApart = 64;   ///< of other strides: each page is a request of its own
  static constexpr int64_t kMostStride = 1 << 14;

  struct Found {
    unsigned stream = kNone; ///< that the fault belongs to, moved on
    bool started = false;    ///< it is new
    Stream replaced;         ///< what was in its place, perhaps a free entry
  };
  /// The program faulted on `page`, which was not there. `low`, `high`: the bounds of its region. `pages`: memory that
  /// all streams together may have ahead of the program.
  Found fault(int64_t page, int64_t low, int64_t high, uint64_t pages);
  /// The stream whose pages from `settled` to `next` have `page` among them, or kNone.
  unsigned around(int64_t page) const;
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
  unsigned find(int64_t page) const;
  unsigned victim() const;
  int64_t recognise(int64_t page, int64_t low, int64_t high) const;
  bool remembered(int64_t page, unsigned newer) const;
  void remember(int64_t page);
  void start(Stream &, int64_t page, int64_t stride, int64_t low, int64_t high);
  void advance(Stream &, int64_t page, uint64_t pages);
  uint32_t most_window(const Stream &, uint64_t pages) const;
  static void clip(Stream &);

  /// A stream is live for so many faults of others.
  static constexpr uint64_t kLively = 8 * kMost;
  Stream stream_[kMost];
  int64_t recent_[kRemembered] = {}; ///< a ring
  unsigned recent_count_ = 0, recent_next_ = 0;
  uint64_t clock_ = 0; ///< counts faults
};

} // namespace pagecast::core
