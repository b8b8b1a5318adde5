// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/stripes.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/own_files.h"
#include "runtime/state/pages.h"

#include <cerrno>
#include <cstring>

namespace pagecast {

namespace {
constexpr double kTooMuch = 1.125; ///< so much more than the emptiest has, for its rate
}

int Stripes::start(unsigned stores) {
  stores_ = stores;
  chosen_ = static_cast<uint8_t *>(os::reserve(PageTable::kSlots / kPages + 1));
  return chosen_ ? 0 : -ENOMEM;
}

/// How full a store would be with so many stripes, for its rate.
double Stripes::fill(unsigned store, uint64_t stripes) const {
  uint64_t known = 0, sum = 0;
  for (unsigned i = 0; i < stores_; ++i) known += store_[i].rate != 0, sum += store_[i].rate;
  const uint64_t mean = known ? sum / known : 1;
  return static_cast<double>(stripes) / static_cast<double>(store_[store].rate ? store_[store].rate : mean ? mean : 1);
}

unsigned Stripes::choose(uint32_t slot, uint32_t pages, uint32_t usable) {
  uint8_t &chosen = chosen_[slot / kPages];
  const bool placed = chosen != 0;
  unsigned best = kMost;
  for (unsigned i = 0; i < stores_; ++i) {
    if (!(usable >> i & 1) || (placed && i == chosen - 1u)) continue;
    if (best == kMost || fill(i, store_[i].stripes + 1) < fill(best, store_[best].stripes + 1)) best = i;
  }
  if (placed && (usable >> (chosen - 1) & 1)) {
    const unsigned here = chosen - 1u;
    const bool whole = slot % kPages == 0 && pages >= kPages;
    if (best == kMost || !whole || fill(here, store_[here].stripes) <= kTooMuch * fill(best, store_[best].stripes + 1))
      return here;
  }
  if (placed) --store_[chosen - 1].stripes;
  ++store_[best].stripes;
  chosen = static_cast<uint8_t>(best + 1);
  return best;
}

void Stripes::began(unsigned store, uint64_t now) {
  Of &s = store_[store];
  if (s.under_way++ == 0) s.busy_since = now;
}

void Stripes::ended(unsigned store, uint64_t bytes, uint64_t now) {
  Of &s = store_[store];
  s.bytes += bytes;
  s.busy_ns += now - s.busy_since;
  s.busy_since = now;
  if (s.under_way) --s.under_way;
  if (s.busy_ns < kMeasured || s.bytes == 0) return;
  const auto rate = static_cast<uint64_t>(static_cast<double>(s.bytes) * 1e9 / static_cast<double>(s.busy_ns));
  s.rate = (s.rate ? (3 * s.rate + rate) / 4 : rate) + 1;
  s.bytes = s.busy_ns = 0;
}

void Stripes::forget_requests() {
  for (Of &s : store_) s.under_way = 0;
}

bool StoreList::read(const char *option) {
  count_ = 1;
  part_[0] = nullptr;
  if (!option) return true;
  const size_t length = strlen(option);
  if (length >= sizeof text_) return false;
  memcpy(text_, option, length + 1);
  part_[0] = text_;
  os::DirectoryFacts facts;
  if (!strchr(text_, ',') || os::directory_facts(option, &facts) == 0) return true;
  count_ = 0;
  for (char *rest = text_, *part; (part = strsep(&rest, ","));) {
    if (!*part) continue;
    if (count_ == Stripes::kMost) return false;
    part_[count_++] = part;
  }
  return count_ != 0;
}

void StoreList::drop(unsigned i) {
  for (--count_; i < count_; ++i) part_[i] = part_[i + 1];
}

} // namespace pagecast
