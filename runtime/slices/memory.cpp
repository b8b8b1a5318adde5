// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slice machine's loads and hints. Most go to the page or the region that the last ones went to and find
// the bit in the residency map set; those take a few instructions a lane, the others are asked for.
#include "runtime/slices/machine.h"

#include <algorithm>
#include <cstring>

namespace pagecast {
namespace {

uint64_t word(const uint8_t *from, unsigned bytes) {
  uint64_t value = 0; // little-endian
  std::memcpy(&value, from, bytes);
  return value;
}

/// The pager changes the residency map while slices run; a bit that is a moment old only costs a hint.
bool is_resident(const uint8_t *residency, uint64_t page) {
  return __atomic_load_n(residency + (page >> 3), __ATOMIC_RELAXED) >> (page & 7) & 1;
}

} // namespace

void SliceMachine::kill(unsigned lane, unsigned number) {
  if (alive_count_ == lanes_) std::memset(alive_, 1, lanes_);
  alive_[lane] = 0;
  ended_[lane] = static_cast<uint16_t>(number);
  --alive_count_;
}

/// Whether lanes are dead or the operation's predicate is false in some: active_ says which are left.
bool SliceMachine::some_do_not(const pagecast_op &op) {
  if (op.c == PAGECAST_NONE) {
    if (alive_count_ == lanes_) return false;
    std::memcpy(active_, alive_, lanes_);
    return true;
  }
  const uint64_t *wanted = lanes(op.c, 2);
  for (unsigned l = 0; l < lanes_; ++l) active_[l] = wanted[l] != 0;
  if (alive_count_ != lanes_)
    for (unsigned l = 0; l < lanes_; ++l) active_[l] &= alive_[l];
  return true;
}

/// Where page number `page` can be read, or NULL. Both are remembered until the run ends.
const uint8_t *SliceMachine::translate(uint64_t page) {
  Translation &t = translation_[page % kTranslations];
  if (t.page != page) t = {page, memory_->readable(page << shift_)};
  return t.bytes;
}

/// Any load. False if the memory is not there.
bool SliceMachine::load_slowly(unsigned number, uint64_t address, unsigned bytes, uint64_t *value) {
  const uint64_t page = address >> shift_, offset = address & (page_ - 1);
  Translation &last = last_[number];
  if (last.page != page) {
    const uint8_t *const found = translate(page);
    if (!found) return ++failed_loads_, false;
    last = {page, found};
  }
  const unsigned here = static_cast<unsigned>(std::min<uint64_t>(bytes, page_ - offset));
  *value = word(last.bytes + offset, here);
  if (here == bytes) return true;
  const uint8_t *const rest = translate((address + here) >> shift_);
  if (!rest) return ++failed_loads_, false;
  *value |= word(rest, bytes - here) << (8 * here);
  return true;
}

SliceMachine::Flow SliceMachine::load_lanes(unsigned number) {
  const pagecast_op &op = op_[number];
  const uint64_t *const address = lanes(op.a, 0);
  uint64_t *const to = v_[op.to - PAGECAST_VECTOR];
  switch (op.width) {
  case 8: load_words<uint8_t>(number, address, to); break;
  case 16: load_words<uint16_t>(number, address, to); break;
  case 32: load_words<uint32_t>(number, address, to); break;
  default: load_words<uint64_t>(number, address, to); break;
  }
  return Flow::kOn;
}

template <class Word> void SliceMachine::load_words(unsigned number, const uint64_t *address, uint64_t *to) {
  if (some_do_not(op_[number])) return load_each<Word, true>(number, address, to);
  // Index arrays are read in order: mostly, all lanes are aligned and in one page.
  uint64_t differ = 0;
  for (unsigned l = 0; l < lanes_; ++l) differ |= address[l] ^ address[0];
  const bool aligned = ((differ | address[0]) & (sizeof(Word) - 1)) == 0;
  const uint8_t *const bytes = differ < page_ && aligned ? translate(address[0] >> shift_) : nullptr;
  if (!bytes) return load_each<Word, false>(number, address, to);
  for (unsigned l = 0; l < lanes_; ++l) {
    Word value;
    std::memcpy(&value, bytes + (address[l] & (page_ - 1)), sizeof value);
    to[l] = value;
  }
}

template <class Word, bool kMasked> void SliceMachine::load_each(unsigned number, const uint64_t *address, uint64_t *to) {
  Translation last = last_[number];
  for (unsigned l = 0; l < lanes_; ++l) {
    if (kMasked && !active_[l]) {
      to[l] = 0;
      continue;
    }
    const uint64_t at = address[l], offset = at & (page_ - 1);
    if (at >> shift_ == last.page && offset + sizeof(Word) <= page_) {
      Word value;
      std::memcpy(&value, last.bytes + offset, sizeof value);
      to[l] = value;
      continue;
    }
    uint64_t value = 0;
    if (!load_slowly(number, at, sizeof(Word), &value)) kill(l, number);
    to[l] = value;
    last = last_[number];
  }
}

/// Whether the address is in a region, which becomes the group's.
bool SliceMachine::locate(unsigned group, uint64_t address) {
  Region &region = region_[group];
  if (address - region.begin < region.size) return true;
  const uint64_t page = address >> shift_;
  if (nowhere_[page % kNowhere] == page) return false;
  uint64_t begin = 0, end = 0;
  if (sink_->region(address, &begin, &end)) {
    region = {begin, end - begin, group_[group].flags & PAGECAST_WRITES ? sink_->look_ahead(address) : 0};
    return true;
  }
  nowhere_[page % kNowhere] = page;
  return false;
}

/// The group's bytes at `address`: each page of them, if in a region (of whole pages). None if they wrap around.
SliceMachine::Flow SliceMachine::touch(unsigned group, uint64_t address) {
  const pagecast_group &g = group_[group];
  if (g.hi <= g.lo) return Flow::kOn;
  const uint64_t begin = address + static_cast<uint64_t>(g.lo), last = address + static_cast<uint64_t>(g.hi) - 1;
  for (uint64_t page = begin >> shift_; page <= last >> shift_; ++page) {
    if (page > (begin >> shift_) + 1 && !spend(1)) return Flow::kTired;
    if (!locate(group, page << shift_) || is_resident(residency_, page)) continue;
    if (!sink_->page(group, page << shift_)) return Flow::kRefused;
  }
  return Flow::kOn;
}

SliceMachine::Flow SliceMachine::touch_lanes(const pagecast_op &op) {
  const uint64_t *const address = lanes(op.a, 0);
  if (watching_) watch(address);
  return some_do_not(op) ? touch_each<true>(op.extra, address) : touch_each<false>(op.extra, address);
}

/// The first lane from `lane` on whose bytes are not simply in one resident page of the region. No calls in it.
template <bool kMasked>
unsigned SliceMachine::next_absent_lane(const uint64_t *address, unsigned lane, uint64_t lo, uint64_t bytes,
                                        Region region) const {
  const uint8_t *const residency = residency_;
  const unsigned shift = shift_, lanes = lanes_;
  const uint64_t offset = page_ - 1;
  const uint64_t size = bytes <= page_ ? region.size : 0; // more bytes are never in one page
  const uint64_t whole = page_ - bytes;                   // highest offset from which they are
  for (; lane < lanes; ++lane) {
    const uint64_t at = address[lane] + lo;
    if (kMasked && !active_[lane]) continue;
    if (at - region.begin >= size || (at & offset) > whole || !is_resident(residency, at >> shift)) break;
  }
  return lane;
}

template <bool kMasked> SliceMachine::Flow SliceMachine::touch_each(unsigned group, const uint64_t *address) {
  const uint64_t lo = static_cast<uint64_t>(group_[group].lo), bytes = static_cast<uint64_t>(group_[group].hi) - lo;
  for (unsigned l = 0; (l = next_absent_lane<kMasked>(address, l, lo, bytes, region_[group])) < lanes_; ++l) {
    const Flow flow = touch(group, address[l]);
    if (flow != Flow::kOn) return flow;
  }
  return region_[group].ahead ? touch_ahead<kMasked>(group, address) : Flow::kOn;
}

/// The pages that lie ahead of what the lanes store to, where that is in one region.
template <bool kMasked> SliceMachine::Flow SliceMachine::touch_ahead(unsigned group, const uint64_t *address) {
  const Region region = region_[group];
  const uint64_t ahead = static_cast<uint64_t>(group_[group].hi) - 1 + region.ahead;
  for (unsigned l = 0; (l = next_absent_lane<kMasked>(address, l, ahead, 1, region)) < lanes_; ++l) {
    const uint64_t page = (address[l] + ahead) >> shift_;
    if ((page << shift_) - region.begin >= region.size || is_resident(residency_, page)) continue;
    if (!sink_->page_ahead(group, page << shift_)) return Flow::kRefused;
  }
  return Flow::kOn;
}

/// The group's bytes at address, address + stride, ...: `times` times.
SliceMachine::Flow SliceMachine::range(unsigned group, uint64_t address, uint64_t stride, uint64_t times) {
  using Wide = __int128; // what leaves the address space is dropped, not wrapped around
  const pagecast_group &g = group_[group];
  if (times == 0 || g.hi <= g.lo) return Flow::kOn;
  const Wide step = static_cast<int64_t>(stride), page = page_;
  const auto sweep = [&](Wide begin, Wide end) {
    if (begin < 0 || end > static_cast<Wide>(~0ull)) return true;
    return sink_->range(group, static_cast<uint64_t>(begin), static_cast<uint64_t>(end));
  };
  const Wide begin = static_cast<Wide>(address) + g.lo, end = static_cast<Wide>(address) + g.hi;
  if (-page <= step && step <= page) {
    const Wide way = step * static_cast<Wide>(times - 1); // below 2^64 pages: fits
    return sweep(begin + std::min<Wide>(way, 0), end + std::max<Wide>(way, 0)) ? Flow::kOn : Flow::kRefused;
  }
  for (uint64_t k = 0; k < times; ++k) {
    if (!spend(1)) return Flow::kTired;
    const Wide way = step * static_cast<Wide>(k);
    if (step > 0 ? begin + way > static_cast<Wide>(~0ull) : end + way < 0) break; // and gone for good
    if (!sweep(begin + way, end + way)) return Flow::kRefused;
  }
  return Flow::kOn;
}

/// Rows that follow each other are told as one.
SliceMachine::Flow SliceMachine::range_lanes(const pagecast_op &op) {
  constexpr uint64_t kMost = 1ull << 56; // of an address, or a length: sums do not overflow
  const bool masked = some_do_not(op);
  const uint64_t *const address = lanes(op.a, 0), *const stride = lanes(op.b, 1), *const times = lanes(op.to, 2);
  const pagecast_group &g = group_[op.extra];
  const uint64_t lo = static_cast<uint64_t>(g.lo), bytes = static_cast<uint64_t>(g.hi) - lo;
  const bool simple = g.lo < g.hi && bytes < kMost;
  uint64_t begin = 0, end = 0; // of the rows since the last one told
  const auto tell = [&] { return begin == end || sink_->range(op.extra, begin, end); };
  for (unsigned l = 0; l < lanes_; ++l) {
    if (masked && !active_[l]) continue;
    const uint64_t from = address[l] + lo;
    if (simple && address[l] < kMost && from < kMost && stride[l] <= page_ && times[l] - 1 < kMost / page_) {
      const uint64_t to = from + (times[l] - 1) * stride[l] + bytes;
      if (from != end) {
        if (!tell()) return Flow::kRefused;
        begin = from;
      }
      end = to;
      continue;
    }
    if (!tell()) return Flow::kRefused;
    begin = end = 0;
    const Flow flow = range(op.extra, address[l], stride[l], times[l]);
    if (flow != Flow::kOn) return flow;
  }
  return tell() ? Flow::kOn : Flow::kRefused;
}

} // namespace pagecast
