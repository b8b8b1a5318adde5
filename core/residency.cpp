// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/residency.h"
#include "core/arithmetic.h"

namespace pagecast::core {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words and bytes of the map must agree");

namespace {

constexpr uint64_t kAll = ~uint64_t{0};

/// The bits of word `word` that belong to [begin, end).
uint64_t mask_of(uint64_t word, uint64_t begin, uint64_t end) {
  uint64_t mask = kAll;
  if (begin / 64 == word) mask &= kAll << (begin % 64);
  if (end / 64 == word) mask &= ~(kAll << (end % 64));
  return mask;
}

} // namespace

void ResidencyMap::attach(uint8_t *bits, unsigned page_shift, uint64_t first_page, uint64_t pages) {
  words_ = reinterpret_cast<uint64_t *>(bits);
  shift_ = page_shift;
  first_ = first_page;
  pages_ = pages;
}

const uint8_t *ResidencyMap::origin() const {
  return reinterpret_cast<const uint8_t *>(reinterpret_cast<uintptr_t>(words_) - first_ / 8);
}

ResidencyMap::PageRange ResidencyMap::clip(Extent e) const {
  if (e.empty()) return {0, 0};
  const uint64_t begin = most(e.begin >> shift_, first_);
  const uint64_t end = least(((e.end - 1) >> shift_) + 1, first_ + pages_);
  return begin < end ? PageRange{begin - first_, end - first_} : PageRange{0, 0};
}

void ResidencyMap::set(Extent e) {
  const PageRange r = clip(e);
  for (uint64_t w = r.begin / 64; w * 64 < r.end; ++w)
    __atomic_fetch_or(&words_[w], mask_of(w, r.begin, r.end), __ATOMIC_RELAXED);
}

void ResidencyMap::clear(Extent e) {
  const PageRange r = clip(e);
  for (uint64_t w = r.begin / 64; w * 64 < r.end; ++w)
    __atomic_fetch_and(&words_[w], ~mask_of(w, r.begin, r.end), __ATOMIC_RELAXED);
}

uint64_t ResidencyMap::find(PageRange r, bool value) const {
  const uint64_t flip = value ? 0 : kAll;
  for (uint64_t w = r.begin / 64; w * 64 < r.end; ++w) {
    const uint64_t hits = (load(w) ^ flip) & mask_of(w, r.begin, r.end);
    if (hits) return w * 64 + unsigned(__builtin_ctzll(hits));
  }
  return r.end;
}

Extent ResidencyMap::find_absent(Extent within, uint64_t max_bytes) const {
  const PageRange r = clip(within);
  const uint64_t begin = find(r, false);
  if (begin >= r.end) return {};
  const uint64_t most_pages = most(max_bytes >> shift_, 1);
  const uint64_t end = find({begin, begin + least(r.end - begin, most_pages)}, true);
  return {(first_ + begin) << shift_, (first_ + end) << shift_};
}

uint64_t ResidencyMap::count(Extent e) const {
  const PageRange r = clip(e);
  uint64_t n = 0;
  for (uint64_t w = r.begin / 64; w * 64 < r.end; ++w) n += unsigned(__builtin_popcountll(load(w) & mask_of(w, r.begin, r.end)));
  return n;
}

} // namespace pagecast::core
