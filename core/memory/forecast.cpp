// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/forecast.h"
#include "core/arithmetic.h"

namespace pagecast::core {
namespace {

/// The share of memory that stays from one visit to the next; the rest is what passes through.
constexpr double kStays = 0.75;
constexpr uint64_t kSameShare = 1024; ///< ranges whose ends differ by less than this share of them are the same

/// Whether two ranges are the same but for a few elements at the ends, as with other unknowns of the same points.
bool about_same(Extent a, Extent b) {
  const uint64_t slack = most(a.size(), b.size()) / kSameShare;
  return magnitude(int64_t(a.begin - b.begin)) <= slack && magnitude(int64_t(a.end - b.end)) <= slack;
}

/// Adds a use, joined with those that it overlaps. Returns how many there are now.
unsigned add_use(Forecast::Use *uses, unsigned count, Forecast::Use add) {
  for (unsigned i = 0; i < count;) {
    if (common(uses[i].range, add.range).empty()) {
      ++i;
      continue;
    }
    add.range = {least(add.range.begin, uses[i].range.begin), most(add.range.end, uses[i].range.end)};
    add.loads |= uses[i].loads;
    add.stores |= uses[i].stores;
    uses[i] = uses[--count];
    i = 0;
  }
  if (count < Forecast::kUses) uses[count++] = add;
  return count;
}

/// The point of the part's band in [0, 1): multiples of the golden ratio, which lie evenly however many there are.
double point_of(Extent e) {
  constexpr uint32_t kGolden = 2654435769u; // of 2^32
  return double(uint32_t((e.begin + e.size() / 2) >> Forecast::kBandShift) * kGolden) / 4294967296.0;
}

} // namespace

uint64_t Forecast::Pass::at(Extent e) const {
  const Extent &r = use.range;
  const uint64_t at = least(most(e.begin + e.size() / 2, r.begin), r.end) - r.begin;
  const double part = r.empty() ? 0.0 : double(use.backward ? r.size() - at : at) / double(r.size());
  return start + uint64_t(part * double(bytes));
}

/// When the part would be wanted if the visit came to all bands that stay before it came to the others.
uint64_t Forecast::Next::spread(Extent e, uint64_t memory) const {
  const uint64_t wanted = due(e);
  if (later.bytes <= memory || later.use.range.size() < later.bytes / 2) // beside others, it costs writes
    return wanted;
  const double stays = double(memory) * kStays, part = stays / double(later.bytes), at = double(wanted - later.start);
  return later.start + uint64_t(point_of(e) < part ? at * part : stays + at * (1 - part));
}

uint64_t Forecast::Next::rank(Extent e, uint64_t memory) const {
  const uint64_t wanted = spread(e, memory), now = least(present.at(e), wanted);
  return later.use.loads && later.use.stores ? wanted : wanted + (wanted - now) / 2;
}

void Forecast::begin(uint64_t key, const Use *uses, unsigned count) {
  if (visits_) now_ += visit(visits_ - 1).bytes;
  Visit &v = visit_[visits_++ % kVisits];
  v.key = key;
  v.uses = 0;
  for (unsigned i = 0; i < count; ++i)
    if (!uses[i].range.empty()) v.uses = add_use(v.use, v.uses, uses[i]);
  v.bytes = 0;
  for (unsigned i = 0; i < v.uses; ++i) v.bytes += v.use[i].range.size();
  find_like();
  v.makes = !has_like_ && !touched_before(v);
  const Visit *before = visits_ > 1 ? &visit(visits_ - 2) : nullptr;
  v.made = v.makes && before && before->makes ? before->made + before->bytes : 0;
}

bool Forecast::touched_before(const Visit &v) const {
  const uint64_t present = visits_ - 1, oldest = visits_ > kVisits ? visits_ - kVisits : 0;
  for (uint64_t i = present; i-- > oldest;)
    for (unsigned a = 0; a < visit(i).uses; ++a)
      for (unsigned b = 0; b < v.uses; ++b)
        if (!common(visit(i).use[a].range, v.use[b].range).empty()) return true;
  return false;
}

bool Forecast::alike(const Visit &a, const Visit &b) {
  if (a.key != b.key || a.uses != b.uses) return false;
  for (unsigned i = 0; i < a.uses; ++i)
    if (!about_same(a.use[i].range, b.use[i].range)) return false;
  return true;
}

/// An earlier visit agrees with the present one by one visit more than its predecessor did with the present one's.
void Forecast::find_like() {
  const uint64_t present = visits_ - 1, oldest = visits_ > kVisits ? visits_ - kVisits : 0;
  uint32_t best = 0;
  for (uint64_t i = present; i-- > oldest;) {
    uint32_t &agree = agree_[i % kVisits];
    const uint32_t before = i > oldest ? agree_[(i - 1) % kVisits] : 0;
    agree = alike(visit(i), visit(present)) ? before + 1 : 0;
    if (agree > best) {
      best = agree;
      like_ = i;
    }
  }
  agree_[present % kVisits] = 0;
  has_like_ = best > 0;
}

/// How the present visit goes through the range.
Forecast::Use Forecast::present_use(Extent range) const {
  const Visit &v = visit(visits_ - 1);
  for (unsigned u = 0; u < v.uses; ++u)
    if (!common(v.use[u].range, range).empty()) return v.use[u];
  return {range};
}

Forecast::Next Forecast::next_use(Extent range, bool stored) const {
  Next next;
  if (range.empty() || visits_ == 0 || (!has_like_ && !stored)) return next;
  next.present = {now_, visit(visits_ - 1).bytes, present_use(range)};
  next.later.start = now_ + next.present.bytes;
  if (!has_like_) {
    const Visit &v = visit(visits_ - 1);
    next.kind = Next::kLater;
    next.later.start += v.made;
    next.later.bytes = v.bytes;
    next.later.use = {range};
    return next;
  }
  // What followed the like, up to and with the present nest itself, which is what comes after that.
  for (uint64_t i = like_ + 1; i < visits_; ++i) {
    const Visit &v = visit(i);
    for (unsigned u = 0; u < v.uses; ++u) {
      const uint64_t both = common(v.use[u].range, range).size();
      if (both * 2 <= range.size() && both * 2 <= v.use[u].range.size()) continue;
      next.kind = Next::kLater;
      next.later.bytes = v.bytes;
      next.later.use = v.use[u];
      return next;
    }
    next.later.start += v.bytes;
  }
  next.kind = Next::kNever;
  return next;
}

} // namespace pagecast::core
