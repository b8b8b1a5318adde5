// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/limit.h"
#include "core/arithmetic.h"

namespace pagecast::core {
namespace {

constexpr uint64_t kMillisecond = 1000000, kSecond = 1000 * kMillisecond;
constexpr uint64_t kRiseNs = 4 * kSecond; ///< to rise by all of the pool
constexpr uint64_t kFill = 6;             ///< of what is free, the part that may be filled between two looks
constexpr uint64_t kDeadBand = 1024; ///< smaller changes than this part of the budget are noise
constexpr uint64_t kNotable = 128; ///< a fall by more than this part is somebody who takes memory
constexpr uint64_t kWorthwhile = 256u << 10; ///< bytes that make another look worth its cost
constexpr uint64_t kWorthWaiting = 512u << 10; ///< and that a disk does not read while one waits for it
/// The limit was hit: the reserve was too small, and is larger by so much for that long.
constexpr uint64_t kHitStrain = 512, kHitForNs = 10 * kSecond;
/// Somebody stalls for more than this part of the time: a strain. It takes 100 ms to double the reserve and a second
/// to take that back.
constexpr uint64_t kStalledPart = 10, kStrainNs = 100 * kMillisecond, kRelaxNs = kSecond;

/// When no files are read any more, what is kept for them stays for as long as kReadForNs, and is taken back in kReadRelaxNs.
/// After kReadRestNs, all but page cache and a folio is taken back, where it is known how much that is: what is on its way is page
/// cache already, so that nothing is when a file is gone.
constexpr uint64_t kReadForNs = kSecond, kReadRelaxNs = kSecond, kReadRestNs = 100 * kMillisecond;
/// What is kept for them, in read-aheads of the kernel; at most this part of the pool. When a program comes to the first page of
/// one, the kernel begins to read the next one, while all of the rest may still be on its way. Of the one before, the program may
/// be copying from the last folio.
constexpr uint64_t kReadAheads = 2, kReadAheadPart = 2, kLargestFolio = 2u << 20;
/// The kernel reads up to four times as much ahead as the last time, so that no more than that is kept.
constexpr uint64_t kReadGrowth = 4;
/// For so long what is read may be for a wait of the code's: it is counted when the wait begins.
constexpr uint64_t kCodeCreditNs = 100 * kMillisecond;

/// Bytes of page cache, so that 4,096 pages of it are inactive at all times; 20 MiB were not enough.
constexpr uint64_t kTrimmed = 32u << 20;
/// For files that are read, the reserve grows by so many times what there is of their page cache. So little is kept while there
/// is little, which goes and comes again behind whoever reads.
constexpr uint64_t kReadParts = 4;

/// What is left of the machine's memory: percents, and at least so many bytes.
constexpr uint64_t kMachinePercent = 3, kMachineLeast = 64u << 20;
/// What is left of a control group's: this part, and so many bytes; and, for files that are read, at most this part more.
constexpr uint64_t kGroupPart = 64, kGroupLeast = 2u << 20, kReadPart = 8;
/// The same where nobody else is there to take memory.
constexpr uint64_t kAlonePart = 256, kAloneLeast = 512u << 10;
/// A newcomer may take this part of what is free to begin with, reserve or not.
constexpr uint64_t kBeginPart = 8;

} // namespace

uint64_t reserve(const Pool &p) {
  if (p.machine) return most(kMachineLeast, p.size / 100 * kMachinePercent);
  const uint64_t usual = p.shared ? kGroupLeast + p.size / kGroupPart : kAloneLeast + p.size / kAlonePart;
  return usual + least(least(kTrimmed, p.size / kReadPart), saturating_mul(p.read, kReadParts));
}

void Limit::start(uint64_t cap, uint64_t lowest) {
  *this = Limit();
  cap_ = cap;
  lowest_ = lowest;
}

uint64_t Limit::strained_reserve(const Pool &p, Strain &s, uint64_t now_ns, uint64_t passed_ns) const {
  const uint64_t stalled = s.stalled_ns && p.stalled_ns > s.stalled_ns ? p.stalled_ns - s.stalled_ns : 0;
  s.stalled_ns = p.stalled_ns;
  const uint64_t passed = least(passed_ns, kSecond);
  const bool hit = s.hits && p.hits > s.hits;
  s.hits = p.hits;
  if (hit) s.hit_ns = now_ns;
  if (stalled > passed_ns / kStalledPart) s.strain = least(s.strain + passed * 1024 / kStrainNs, kMostStrain);
  else if (hit) s.strain = least(s.strain + kHitStrain, kMostStrain);
  else if (now_ns - s.hit_ns >= kHitForNs || s.hit_ns == 0) s.strain = saturating_sub(s.strain, passed * 1024 / kRelaxNs);
  const uint64_t usual = reserve(p);
  return usual + usual / 1024 * s.strain;
}

uint64_t Limit::most_for_reads(const Pool &p) {
  return least(saturating_mul(p.read_ahead, kReadAheads) + least(p.read_ahead, kLargestFolio), p.size / kReadAheadPart);
}

/// The part of what was read that is the code's. A wait has the kernel read around one page.
uint64_t Limit::read_for_code(const Pool &p, Strain &s, uint64_t now_ns, uint64_t read) {
  const uint64_t waits = s.code_waits ? saturating_sub(p.code_waits, s.code_waits) : 0;
  s.code_waits = p.code_waits;
  if (now_ns >= s.credit_ns || p.code_waits == 0) s.code_credit = 0;
  if (waits) {
    s.code_credit =
        least(saturating_add(s.code_credit, saturating_mul(waits, p.read_ahead)), saturating_mul(p.read_ahead, kReadAheads));
    s.credit_ns = now_ns + kCodeCreditNs;
  }
  const uint64_t covered = least(read, s.code_credit);
  s.code_credit -= covered;
  return covered;
}

uint64_t Limit::room_for_reads(const Pool &p, Strain &s, uint64_t now_ns, uint64_t passed_ns) {
  const uint64_t all = s.files_read ? saturating_sub(p.files_read, s.files_read) : 0,
                 read = all - read_for_code(p, s, now_ns, all);
  s.files_read = most(s.files_read, p.files_read);
  const uint64_t for_files = most_for_reads(p);
  s.read_since = s.for_reads || read >= kSomeRead ? saturating_add(s.read_since, read) : 0;
  if (read >= kSomeRead) {
    s.files_ns = now_ns;
    s.for_reads = most(s.for_reads, least(for_files, saturating_mul(s.read_since, kReadGrowth)));
  } else {
    if (now_ns - s.files_ns >= kReadForNs)
      s.for_reads = saturating_sub(s.for_reads, for_files / 1024 * (least(passed_ns, kSecond) / (kReadRelaxNs / 1024)));
    if (p.code.again && now_ns - s.files_ns >= kReadRestNs)
      s.for_reads = least(s.for_reads, saturating_add(p.code.cache, least(p.read_ahead, kLargestFolio)));
  }
  return s.for_reads;
}

void Limit::update(uint64_t now_ns, uint64_t used, const Pool *pool, unsigned pools, uint64_t spare) {
  const bool first = now_ns_ == 0;
  const uint64_t passed = first ? 0 : saturating_sub(now_ns, now_ns_);
  now_ns_ = most(now_ns, 1);
  uint64_t budget = pools ? cap_ : least(cap_, most(budget_, lowest_));
  uint64_t share = ~uint64_t{0}, available = ~uint64_t{0}, free = ~uint64_t{0}, unwatched = free, size = ~uint64_t{0},
           kept_in_fullest = 0, returned = 0;
  bool shared = pools == 0;
  keeps_all_for_reads_ = code_comes_back_ = false;
  for (unsigned i = 0; i < pools && i < kMostPools; ++i) {
    const uint64_t reads_before = strain_[i].for_reads, code = strain_[i].code.update(pool[i].code, pool[i].size, now_ns_),
                   reads = room_for_reads(pool[i], strain_[i], now_ns_, passed);
    returned = most(returned, saturating_sub(reads_before, reads));
    const uint64_t kept = strained_reserve(pool[i], strain_[i], now_ns_, passed) + most(code, reads);
    keeps_all_for_reads_ |= reads != 0 && reads == most_for_reads(pool[i]);
    code_comes_back_ |= strain_[i].code.comes_back();
    const uint64_t could = saturating_sub(saturating_add(used, pool[i].free), kept);
    share = least(share, pool[i].shared ? could - could / (kShares + 1) : could);
    if (const uint64_t left = saturating_sub(pool[i].free, kept); left <= available) {
      available = left;
      shared = pool[i].shared;
      kept_in_fullest = kept;
    }
    free = least(free, pool[i].free);
    if (!pool[i].tells) unwatched = least(unwatched, pool[i].free);
    size = least(size, pool[i].size);
  }
  share_ = share;
  free_ = free;
  kept_ = kept_in_fullest;
  size_ = size;
  alone_ = !shared;
  budget = most(least(budget, share), lowest_);
  const uint64_t before = budget_;
  if (first) {
    budget_ = budget;
  } else if (budget < budget_ - budget_ / kDeadBand) {
    if (budget < budget_ - budget_ / kNotable) restless_until_ns_ = now_ns + kRestlessForNs;
    budget_ = budget;
  } else if (budget > budget_ + budget_ / kDeadBand) {
    const uint64_t step = saturating_mul(size / 4096, least(passed, kSecond) / 1000) / (kRiseNs / 1000 / 4096);
    budget_ = least(budget, saturating_add(budget_, step + returned)); // what was kept for reads was the program's before
  }
  longest_ns_ = budget_ != before ? kLongNs : least(longest_ns_ * 2, kCalmNs);
  // A program that holds less than the least may use the reserve, as far as there is any: a newcomer must begin somewhere.
  const uint64_t begin = least(lowest_, saturating_add(used, free / kBeginPart));
  // What the program is about to fill anyway is no growth, and must not look like space for it.
  const uint64_t base = saturating_add(used, least(spare, available / 2)),
                 growth = (available - least(spare, available / 2)) / (shared ? kFill : 1);
  ceiling_ = least(budget_, most(saturating_add(base, growth), begin));
  const uint64_t taken = saturating_mul(unwatched, kNsPerByte);
  interval_ns_ = now_ns < restless_until_ns_ ? kShortNs : most(kShortNs, least(longest_ns_, taken));
  rising_ = ceiling_ < budget_ && ceiling_ >= base + kWorthwhile;
  worth_waiting_ = rising_ && ceiling_ >= base + kWorthWaiting;
}

uint64_t Limit::exposed(uint64_t used, uint64_t burst) const {
  return least(saturating_sub(used, lowest_), saturating_sub(burst, saturating_sub(share_, used)));
}

} // namespace pagecast::core
