// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forward streams among the requests for a file's pages: each request goes on where the stream's last one ended. A stream
// that enters a block will go through all of it, so the block can be asked for as a whole, which the kernel then reads
// into one large folio of the page cache; and one more, since it takes as long to read as several requests.
//
//   requests of a stream     |---|---|---|---|
//   blocks                |.........|.........|.........|
//   asked for                |---|--|=========|=========|      --- as requested, === as a whole
//   counts as asked for      |---|--|=========|                so that the next block's first request comes, and moves it on
//
// A stream is known from its second request on. As many are remembered as there may be blocks in memory for; where there
// are more, the one that was seen longest ago is forgotten, so that streams which take turns are all forgotten before their
// turn comes, and nothing is asked for beyond what was requested. Example: 9 in 228 MB, with three blocks of 2 MiB
// each a quarter of it; the 64 columns of a blocked product are 64 streams, and too many.
//
// Cost: O(streams) compares. Threads: one at a time.
#pragma once
#include "core/types.h"

#include <algorithm>
#include <cstdint>

namespace pagecast::core {

class FileStreams {
public:
  /// [the request's begin, whole) is to be asked for as it is; [whole, end) counts as asked for; and the blocks of `blocks` are to
  /// be asked for, the first of which the request has entered or will enter.
  struct Widened {
    Addr whole, end;
    Extent blocks;
  };
  static constexpr unsigned kMost = 64;
  static constexpr uint64_t kShare = 4; ///< of the memory, the part that streams may have, with three blocks each

  /// `block`: bytes, a power of two; blocks begin at its multiples.
  void start(uint64_t block, uint64_t memory_bytes) {
    block_ = block;
    most_ = static_cast<unsigned>(std::min<uint64_t>(memory_bytes / kShare / (3 * block), kMost));
  }

  /// The request is not empty; nothing is asked for beyond `limit`.
  Widened widen(Extent request, Addr limit) {
    const Widened as_it_is{request.end, request.end, {}};
    Stream *const s = find(request.begin);
    if (!s) return as_it_is;
    if (s->end == 0) s->end = s->ahead = request.end; // new
    const bool again = request.end <= s->end;
    s->begin = request.begin;
    s->seen = ++now_;
    if (again) return as_it_is;
    const Addr whole = up(request.begin);
    if (whole >= request.end) return s->end = s->ahead = request.end, as_it_is;
    s->end = std::min(up(request.end), limit);
    const Addr from = std::max(whole, s->ahead);
    s->ahead = std::max(from, std::min(s->end + block_, limit));
    return {whole, s->end, {from, s->ahead}};
  }

  /// The request goes on where a stream ended.
  bool goes_on(Extent request) const {
    return std::any_of(stream_, stream_ + most_,
                       [request](const Stream &s) { return s.reaches(request.begin) && request.end > s.end; });
  }
  /// Takes notice of a request that somebody else sees to.
  void pass(Extent request) { widen(request, request.end); }
  /// Streams that the last kRecent requests belong to.
  unsigned alive() const {
    return static_cast<unsigned>(
        std::count_if(stream_, stream_ + most_, [this](const Stream &s) { return s.end && s.seen + kRecent > now_; }));
  }
  static constexpr uint64_t kRecent = 2 * kMost;

private:
  struct Stream {
    Addr begin = 0, end = 0; ///< of the last request, as it counts; 0: none yet
    Addr ahead = 0; ///< asked for up to here
    uint64_t seen = 0;
    /// The address lies in the last request, or right behind it.
    bool reaches(Addr address) const { return address > begin && address <= end; }
  };

  /// The stream that reaches the address; else the one that was seen longest ago, made new.
  Stream *find(Addr address) {
    Stream *oldest = nullptr;
    for (unsigned i = 0; i < most_; ++i) {
      Stream &s = stream_[i];
      if (s.reaches(address)) return &s;
      if (!oldest || s.seen < oldest->seen) oldest = &s;
    }
    if (oldest) *oldest = {};
    return oldest;
  }

  Addr up(Addr address) const { return (address + block_ - 1) & ~(block_ - 1); }

  Stream stream_[kMost];
  uint64_t block_ = 0, now_ = 0;
  unsigned most_ = 0;
};

} // namespace pagecast::core
