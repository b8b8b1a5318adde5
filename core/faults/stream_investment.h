// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether fetching ahead of faults pays. A page that a stream brings in saves a wait if the program comes to it, and
// takes the place of another page in any case. Places of several threads, or the few pages that a slice was late for, may look
// like streams and lead nowhere: what they bring pushes out what is in use, whose faults look like streams again.
//
//   pays     pages are fetched; each is found to have been used, or to have gone without
//   rests    more than one in three was wasted until the credit was used up: nothing is fetched, for a number of faults
//   watches  nothing is fetched, either, but each stream says which page it would have asked for next: does a fault come there?
//            A page that a slice brings meanwhile, or that nobody wants, is not missed
//
//   pays --- wasted() ---> rests --- faults ---> watches --- most were missed ---> pays
//                            ^------ few were -----'
//
// A rest is twice as long each time, and short again after a time in which it paid.
//
// A stream that ends wastes up to two windows at once, which says nothing of others. Hence the credit: some windows at first, and
// as much again, and more, as pages are used.
//
// Example: of 512 pages apart 300 went unused. Nothing is fetched for 1,024 faults; then 50 of 64 pages that streams would have
// asked for are faulted on, and fetching begins again.
//
// One such object for each region and kind of stream; O(1); the pager's thread.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

class StreamInvestment {
public:
  static constexpr int32_t kFirstCredit = 4, kMostCredit = 16; ///< windows
  static constexpr int32_t kWaste = 2; ///< a wasted page costs what so many used ones bring
  static constexpr uint32_t kJudged = 64; ///< pages that a judgement takes while nothing is fetched
  static constexpr uint32_t kFirstRest = 1024, kMostRest = 1u << 20; ///< faults
  /// Pages that would have been asked for are worth it if this part of them is missed: three in four.
  static constexpr uint32_t kMissed = 3, kOf = 4;

  /// `window`: pages that a stream asks for at a time, at most.
  explicit StreamInvestment(uint32_t window) : window_(static_cast<int32_t>(window)) {}
  bool pays() const { return pays_; }
  /// The program came to a page that was fetched.
  void used() {
    if (!pays_) return; // it was asked for before
    credit_ = std::min(credit_ + 1, kMostCredit * window_);
    if (credit_ == kMostCredit * window_) next_rest_ = kFirstRest;
  }
  /// A page that was fetched went before. True: nothing is fetched any more.
  bool wasted() {
    if (!pays_ || (credit_ -= kWaste) > 0) return false;
    pays_ = false;
    rest();
    return true;
  }
  /// The program faulted on a page that had to be read.
  void fault() { rest_ -= !pays_ && rest_ > 0; }
  /// A stream would have asked for a page, while nothing is fetched.
  void forgone() {
    if (!watches() || ++forgone_ <= kJudged) return; // of the last one it is not known yet
    if (missed_ * kOf >= kJudged * kMissed) begin();
    else rest();
  }
  /// The program faulted on the page that its stream would have asked for.
  void missed() { missed_ += watches() && missed_ < forgone_; }

private:
  bool watches() const { return !pays_ && rest_ == 0; }
  void begin() { pays_ = true, credit_ = kFirstCredit * window_; }
  void rest() {
    rest_ = next_rest_;
    next_rest_ = std::min(next_rest_ * 2, kMostRest);
    forgone_ = missed_ = 0;
  }

  int32_t window_, credit_ = kFirstCredit * window_; ///< pages
  uint32_t rest_ = 0, next_rest_ = kFirstRest;
  uint32_t forgone_ = 0, missed_ = 0;
  bool pays_ = true;
};

} // namespace pagecast::core
