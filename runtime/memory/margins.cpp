// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/margins.h"

#include "runtime/kernel/os.h"

#include <algorithm>
#include <cstring>

namespace pagecast {
namespace {

bool within(core::Extent e, core::Extent all) { return all.begin <= e.begin && e.end <= all.end; }

uint64_t pages_in(core::Extent e) { return e.size() >> os::page_shift(); }

/// Where the part of a margin behind the row at `row` is kept.
uint64_t offset_of(const core::RowMargins &rows, core::Extent part, uint64_t row) {
  return (row - rows.begin) / rows.stride * rows.margin() + (part.begin - (row + rows.span));
}

} // namespace

bool Margins::Kept::is_in_vain() const { return in_vain > patience * pages_in(range); }

Margins::Kept *Margins::find(const core::RowMargins &rows, core::Extent range) {
  for (Kept *k = kept_; k < kept_ + count_; ++k)
    if (k->rows.stride == rows.stride && k->rows.span == rows.span && within(range, k->region) && k->rows.offset(rows.begin) == 0)
      return k;
  return nullptr;
}

uint64_t Margins::cost(const core::RowMargins &rows, core::Extent e) {
  return e.empty() ? 0 : (e.size() / rows.stride + 2) * rows.margin() + pages_in(e) / 8;
}

void Margins::expect(const core::RowMargins &rows, core::Extent range, core::Extent region, uint64_t most) {
  range = {core::round_down(range.begin, os::page_size()), core::round_up(range.end, os::page_size())};
  if (!within(range, region)) return;
  ++now_;
  Kept *k = find(rows, range);
  if (!k) {
    if (count_ == kMost)
      drop(*std::min_element(kept_, kept_ + count_, [](const Kept &a, const Kept &b) { return a.heard < b.heard; }));
    k = &kept_[count_++];
    *k = {rows, region, range, now_, now_, 0, 0, kPatience, 0, nullptr, nullptr};
    k->rows.begin = region.begin - rows.offset(region.begin);
  } else if (!within(range, k->range)) {
    widen(*k, range, most);
  } else if (++k->rounds == 2) {
    for (Kept *other = kept_; other < kept_ + count_; ++other)
      if (other->rounds == 0 && other->heard < k->born) let_go(*other);
  }
  k->heard = now_;
  if (k->is_in_vain()) k->patience = std::min(2 * k->patience, kMostPatience);
  k->in_vain = 0;
  if (!k->saved) reserve(*k, most);
}

void Margins::widen(Kept &k, core::Extent range, uint64_t most) {
  const core::Extent all{std::min(range.begin, k.range.begin), std::max(range.end, k.range.end)};
  const uint64_t more = k.saved ? cost(k.rows, all) - cost(k.rows, k.range) : 0;
  if (bytes_ + more > most) return;
  k.range = all;
  bytes_ += more;
}

void Margins::reserve(Kept &k, uint64_t most) {
  const uint64_t bits = (pages_in(k.region) / 64 + 1) * sizeof(uint64_t), now = cost(k.rows, k.range);
  if (bytes_ + now > most) return;
  k.reserved = bits + cost(k.rows, k.region);
  auto *saved = static_cast<char *>(os::reserve(k.reserved));
  if (!saved) return;
  k.saved = reinterpret_cast<uint64_t *>(saved);
  k.margins = saved + bits;
  bytes_ += now;
}

/// Its memory.
void Margins::let_go(Kept &k) {
  if (!k.saved) return;
  bytes_ -= cost(k.rows, k.range);
  os::unmap(k.saved, k.reserved);
  k.saved = nullptr;
}

void Margins::drop(Kept &k) {
  let_go(k);
  k = kept_[--count_];
}

void Margins::save(core::Extent pages) {
  for (Kept *k = kept_; k < kept_ + count_; ++k) {
    const core::Extent part = core::common(pages, k->range);
    if (!k->saved || part.empty()) continue;
    k->in_vain += pages_in(part);
    if (k->is_in_vain()) let_go(*k);
    else save(*k, part);
  }
}

void Margins::save(Kept &k, core::Extent pages) {
  const uint64_t page = os::page_size();
  iovec to[os::kCopied], from[os::kCopied];
  unsigned parts = 0;
  core::Extent now{pages.begin, pages.begin}; // the pages that the parts are in
  auto flush = [&] {
    const bool saved = parts == 0 || os::copy_parts(to, from, parts);
    for (uint64_t a = now.begin; a < now.end; a += page) {
      const uint64_t i = (a - k.region.begin) >> os::page_shift(), bit = 1ull << (i % 64);
      k.saved[i / 64] = saved ? k.saved[i / 64] | bit : k.saved[i / 64] & ~bit;
    }
    now.begin = now.end;
    parts = 0;
  };
  const uint64_t most = page / k.rows.stride + 2; // parts of a page
  for (uint64_t a = pages.begin; a < pages.end; a += page) {
    if (parts + most > os::kCopied) flush();
    now.end = a + page;
    k.rows.for_each_margin({a, a + page}, [&](core::Extent part, uint64_t row) {
      to[parts] = {k.margins + offset_of(k.rows, part, row), part.size()};
      from[parts++] = {reinterpret_cast<void *>(part.begin), part.size()};
    });
  }
  flush();
}

bool Margins::has(const core::RowMargins &rows, uint64_t page) const {
  const Kept *k = find(rows, {page, page + os::page_size()});
  const uint64_t i = k ? (page - k->region.begin) >> os::page_shift() : 0;
  return k && k->saved && k->saved[i / 64] >> (i % 64) & 1;
}

void Margins::fill(const core::RowMargins &rows, core::Extent pages, char *to) const {
  const Kept &k = *find(rows, pages);
  k.rows.for_each_margin(pages, [&](core::Extent part, uint64_t row) {
    memcpy(to + (part.begin - pages.begin), k.margins + offset_of(k.rows, part, row), part.size());
  });
}

void Margins::forget(core::Extent e) {
  for (unsigned i = count_; i-- > 0;)
    if (!core::common(e, kept_[i].region).empty()) drop(kept_[i]);
}

void Margins::forget_all() { forget({0, core::kUnbounded}); }

} // namespace pagecast
