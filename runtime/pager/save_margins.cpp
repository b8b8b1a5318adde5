// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages that nests store over but for the margins of rows: these are kept, so that the pages need not be read.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>
#include <cstring>

namespace pagecast {
namespace {
/// Margins may take this share of what is left for pages. A page less in memory is read and written once more in each
/// round; a page of margins saves eight reads, at least.
constexpr uint64_t kMarginsShare = 8;
} // namespace

/// A nest begins: the margins of what it stores over are wanted when it comes round again.
void Pager::expect_margins(const OpenNest &nest) {
  if (!nest.overwrite.any() || finishing_ || !may_overwrite() || sandboxed()) return;
  const core::Shape &shape = nest.policy.shape();
  const uint64_t before = margins_.bytes(), most = (allowance_.for_pages() + before) / kMarginsShare;
  if (before > 2 * most) margins_.forget_all(); // the budget has fallen
  for (unsigned g = 0; g < shape.groups; ++g) {
    const core::RowMargins rows = nest.overwrite.row_margins(shape, g);
    if (!rows.any()) continue;
    const core::Extent range = core::reach_of(shape, shape.group[g]);
    if (const Region *r = regions_.find(range.begin)) margins_.expect(rows, range, {r->base, r->end()}, most);
  }
  if (margins_.bytes() != before) account();
}

/// Pages are about to leave memory: nobody stores to them any more. A sandbox need not allow the call that copies.
void Pager::save_margins(uint32_t slot, uint32_t pages) {
  if (sandboxed()) margins_.forget_all();
  else margins_.save(extent(slot, pages));
}

/// Whether the page goes unread but for margins that are there; `pages` is cut to the first ones of which the same is true.
bool Pager::has_margins(const Asked &asked, uint32_t slot, uint32_t *pages) const {
  const core::RowMargins rows = asked.unread.row_margins();
  if (!rows.any()) return false;
  auto there = [&](uint32_t s) {
    const uint64_t page = pages_.address(s);
    return margins_.has(rows, page) && asked.unread.but_margins(page);
  };
  const bool first = there(slot);
  uint32_t n = 1;
  while (n < *pages && there(slot + n) == first) ++n;
  *pages = n;
  return first;
}

uint32_t Pager::fill_rows(Region &r, uint32_t slot, uint32_t pages, const Asked &asked) {
  pages = admit(std::min(pages, kZeroPages), asked.demand);
  uint32_t first = 0;
  pages = staging_.take(pages, &first);
  if (pages == 0) return 0;
  char *made = staging_.address(first);
  memset(made, 0, static_cast<size_t>(pages) << shift_);
  margins_.fill(asked.unread.row_margins(), extent(slot, pages), made);
  const uint32_t done = fill(r, slot, pages, made, asked);
  staging_.give(first, pages);
  return done;
}

} // namespace pagecast
