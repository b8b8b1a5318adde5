// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/read_around_watch.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"

#include <algorithm>
#include <utility>

namespace pagecast {
namespace {

constexpr uint64_t kWatchNs = 200000000, kLongestWatchNs = 8 * kWatchNs;
constexpr uint64_t kMajors = 4; ///< faults that read, between two looks, that make them worth while
constexpr uint8_t kQuiet = 4; ///< looks since hints came: slices that find what they want in memory pause
constexpr unsigned kWatchedFor = 16; ///< looks without a verdict, until it is another region's turn

/// The flags of `pages` pages as bits, the first one as bit 0; a sample's at most.
uint64_t bits(const uint8_t *told, uint64_t pages) {
  uint64_t word = 0;
  for (uint64_t i = 0; i < pages && i < core::ReadAround::kSamplePages; ++i) word |= static_cast<uint64_t>(told[i] != 0) << i;
  return word;
}

/// Where a sample is: evenly apart, but not at one distance, which could be the program's, too.
uint64_t sample_at(const FileRegion &r, unsigned i, unsigned of, unsigned shift) {
  const uint64_t pages = r.bytes >> shift, each = pages / of, size = core::ReadAround::kSamplePages;
  const uint64_t within = each > size ? (i * 0x9e3779b97f4a7c15ull >> 32) % (each - size) : 0;
  return r.base + ((i * each + within) << shift);
}

} // namespace

uint64_t ReadAroundWatch::watch() {
  const uint64_t now = os::now_ns();
  if (now < next_watch_) return next_watch_ - now;
  const uint64_t majors = os::major_faults();
  waits_ = majors - majors_ >= kMajors;
  majors_ = majors;
  watch_ns_ = waits_ ? kWatchNs : std::clamp(2 * watch_ns_, kWatchNs, kLongestWatchNs);
  next_watch_ = now + watch_ns_;
  looked_ = waits_ && choose_watched() && look_around(looked_);
  return watch_ns_;
}

/// The region that is watched already, if it is still as it was and its turn, or the next. False: there is none.
bool ReadAroundWatch::choose_watched() {
  Guard guard(table_.lock);
  auto fits = [](FileRegion *r) {
    if (!r || r->opaque || r->strided) return false;
    r->quiet = std::exchange(r->hinted, false) ? 0 : static_cast<uint8_t>(std::min(r->quiet + 1, int(kQuiet)));
    return r->quiet == kQuiet;
  };
  FileRegion *r = watched_for_ < kWatchedFor ? table_.regions.find(watched_.base) : nullptr;
  if (fits(r) && r->base == watched_.base && r->bytes == watched_.bytes) return watched_ = *r, true;
  looked_ = false;
  watched_for_ = 0;
  read_around_.forget();
  r = table_.regions.at_or_after(watched_.end());
  if (!r && table_.regions.count()) r = &table_.regions[0];
  for (unsigned left = table_.regions.count(); left; --left) {
    if (fits(r)) return watched_ = *r, true;
    r = r == &table_.regions[table_.regions.count() - 1] ? &table_.regions[0] : r + 1;
  }
  return watched_ = {}, false;
}

/// `count`: the last look was at the same samples, and not long ago. False: the region has gone meanwhile, or hints came.
bool ReadAroundWatch::look_around(bool count) {
  constexpr uint64_t kSize = core::ReadAround::kSamplePages;
  const uint64_t pages = std::min(watched_.bytes >> table_.shift, kSize);
  for (unsigned i = 0; i < kWatched; ++i) {
    const uint64_t at = std::min(sample_at(watched_, i, kWatched, table_.shift), watched_.end() - (pages << table_.shift));
    uint8_t there[kSize], touched[kSize];
    if (os::in_core(at, pages, there) || os::in_page_table(at, pages, touched)) return false;
    const uint64_t now = bits(there, pages);
    if (count) read_around_.look(was_there_[i], now, bits(touched, pages));
    was_there_[i] = now;
  }
  ++watched_for_;
  bool alone = false;
  {
    Guard guard(table_.lock);
    FileRegion *r = table_.regions.find(watched_.base);
    if (!r || r->base != watched_.base || r->bytes != watched_.bytes || r->hinted || r->strided)
      return read_around_.forget(), false;
    const core::ReadAround::Verdict verdict = read_around_.verdict(r->alone);
    if (verdict == core::ReadAround::Verdict::kGoOn) return true;
    alone = r->alone = verdict == core::ReadAround::Verdict::kAlone;
  }
  watched_for_ = 0;
  table_.expect_scattered(watched_.base, watched_.bytes, alone);
  return true;
}

} // namespace pagecast
