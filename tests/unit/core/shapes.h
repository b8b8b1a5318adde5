// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes for the tests, a residency map over a piece of the address space, a sink that records, and the
// brute-force answer to "which pages does this step touch".
#pragma once
#include "core/nest/nest.h"
#include <functional>
#include <random>
#include <set>
#include <vector>

namespace pagecast::core::test {

inline constexpr uint64_t kPage = 4096;
inline constexpr Addr kBase = 0x7f0000000000; // far above the small maps that the tests use

inline Group array(Addr base, std::initializer_list<int64_t> strides, uint32_t element = 8) {
  Group g;
  g.reads = true;
  g.element = element;
  g.hi = element;
  g.base = base;
  unsigned k = 0;
  for (int64_t s : strides) g.stride[k++] = s;
  return g;
}

inline Shape nest_of(std::initializer_list<uint64_t> trips, std::initializer_list<Group> groups, bool strips = true) {
  Shape s;
  for (uint64_t t : trips) s.trips[s.loops++] = t;
  s.ticked = s.loops - 1;
  s.strips = strips;
  for (const Group &g : groups) s.group[s.groups++] = g;
  return s;
}

inline Conditions machine(uint64_t budget) {
  Conditions c;
  c.page = kPage;
  c.budget = budget;
  c.max_io = 64 << 10;
  return c;
}

/// A map of `pages` pages around kBase.
struct SmallMap {
  explicit SmallMap(uint64_t pages = 1 << 16) : words(ResidencyMap::bytes(2 * pages) / 8) {
    map.attach(reinterpret_cast<uint8_t *>(words.data()), 12, (kBase >> 12) - pages, 2 * pages);
  }
  std::vector<uint64_t> words;
  ResidencyMap map;
};

/// Marks what it fetches as in flight, and remembers.
struct Recorder : Sink {
  struct Fetch {
    Extent e;
    unsigned group;
    bool write;
  };
  struct Release {
    Extent e;
    unsigned group, priority;
  };
  explicit Recorder(ResidencyMap &m) : map(m) {}
  bool fetch(Extent e, unsigned group, bool write) override {
    if (refuse && refuse()) return false;
    for (Addr a = e.begin; a < e.end; a += kPage) twice |= map.test(a);
    map.set(e);
    fetches.push_back({e, group, write});
    return true;
  }
  Extent first_served(Extent e) override { return common(e, served); }
  void release(Extent e, unsigned group, unsigned priority) override {
    releases.push_back({e, group, priority});
    if (on_release) on_release(e, group);
  }
  std::set<uint64_t> fetched_pages() const {
    std::set<uint64_t> pages;
    for (const Fetch &f : fetches)
      for (Addr a = f.e.begin; a < f.e.end; a += kPage) pages.insert(a / kPage);
    return pages;
  }

  ResidencyMap &map;
  Extent served{0, ~Addr{0}}; ///< where there is memory to fetch
  std::function<bool()> refuse;
  std::function<void(Extent, unsigned)> on_release;
  bool twice = false;
  std::vector<Fetch> fetches;
  std::vector<Release> releases;
};

/// The pages that group `g` touches with the loops [0, fixed.size()) at `fixed` (the last one from `first`
/// on, `count` iterations), the loops inside run in full.
inline void touch_all(const Shape &s, const Group &g, unsigned loop, Addr at, std::set<uint64_t> *pages) {
  if (loop == s.loops) {
    if (g.hi <= g.lo) return;
    for (uint64_t p = at / kPage; p <= (at + uint64_t(g.hi - g.lo) - 1) / kPage; ++p) pages->insert(p);
    return;
  }
  for (uint64_t i = 0; i < s.trips[loop]; ++i) touch_all(s, g, loop + 1, at + uint64_t(g.stride[loop]) * i, pages);
}

/// Pages per step and group, by walking all iterations.
inline std::vector<std::vector<std::set<uint64_t>>> touched_by_step(const Shape &s, uint64_t strip) {
  std::vector<std::vector<std::set<uint64_t>>> steps;
  std::vector<uint64_t> index(s.ticked + 1, 0);
  for (unsigned k = 0; k <= s.ticked; ++k)
    if (s.trips[k] == 0) return steps; // an empty loop inside the ticked one leaves steps without pages
  for (;;) {
    std::vector<std::set<uint64_t>> step(s.groups);
    const uint64_t end = std::min(index[s.ticked] + strip, s.trips[s.ticked]);
    for (unsigned g = 0; g < s.groups; ++g) {
      if (s.group[g].indirect) continue;
      for (uint64_t i = index[s.ticked]; i < end; ++i) {
        Addr at = s.group[g].base + uint64_t(s.group[g].lo) + uint64_t(s.group[g].stride[s.ticked]) * i;
        for (unsigned k = 0; k < s.ticked; ++k) at += uint64_t(s.group[g].stride[k]) * index[k];
        touch_all(s, s.group[g], s.ticked + 1, at, &step[g]);
      }
    }
    steps.push_back(std::move(step));
    index[s.ticked] = end;
    int k = int(s.ticked);
    while (k >= 0 && index[unsigned(k)] >= s.trips[unsigned(k)]) {
      index[unsigned(k)] = 0;
      if (--k >= 0) ++index[unsigned(k)];
    }
    if (k < 0) return steps;
  }
}

inline std::set<uint64_t> all_pages(const std::vector<std::vector<std::set<uint64_t>>> &steps) {
  std::set<uint64_t> all;
  for (const auto &step : steps)
    for (const auto &group : step) all.insert(group.begin(), group.end());
  return all;
}

/// Array-like random nests: a few loops over arrays whose dimensions they index in any order, some not at
/// all, some backwards.
inline Shape random_shape(std::mt19937_64 &r) {
  const auto below = [&](uint64_t n) { return r() % n; };
  Shape s;
  s.loops = 1 + unsigned(below(4));
  s.ticked = unsigned(below(s.loops));
  s.strips = below(2);
  for (unsigned k = 0; k < s.loops; ++k) s.trips[k] = below(20) == 0 ? 1 : 2 + below(s.loops > 2 ? 9 : 60);
  if (below(25) == 0) s.trips[below(s.loops)] = 0;
  if (below(2)) s.trips[s.ticked] = s.trips[s.ticked] * 20 + below(7);
  s.groups = 1 + unsigned(below(3));
  for (unsigned g = 0; g < s.groups; ++g) {
    Group &group = s.group[g];
    group.reads = true;
    group.writes = below(2);
    group.element = 8u << below(2);
    group.lo = -int64_t(below(3)) * 8;
    group.hi = group.element;
    uint64_t stride = group.element << (below(3) ? 0 : below(8));
    unsigned order[kMaxLoops];
    for (unsigned k = 0; k < s.loops; ++k) order[k] = k;
    std::shuffle(order, order + s.loops, r);
    group.base = kBase + below(1 << 20) * 8;
    for (unsigned i = 0; i < s.loops; ++i) {
      const unsigned k = order[i];
      if (below(4) == 0) continue;
      const uint64_t extent = stride * std::max<uint64_t>(s.trips[k], 1);
      if (extent > (16 << 20)) continue;
      group.stride[k] = int64_t(stride);
      if (below(4) == 0) {
        group.base += stride * (std::max<uint64_t>(s.trips[k], 1) - 1);
        group.stride[k] = -group.stride[k];
      }
      stride = extent + (below(3) == 0 ? 8 * below(1000) : 0);
    }
  }
  return s;
}

} // namespace pagecast::core::test
