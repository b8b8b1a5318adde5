// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tests of the slice machine: slices as values, memory and regions made up, and a second interpreter, slow
// and plain, that runs one iteration after the other.
#pragma once
#include "runtime/slices/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace pagecast::test {

constexpr uint16_t kNone = PAGECAST_NONE;
constexpr uint16_t V(unsigned number) { return static_cast<uint16_t>(PAGECAST_VECTOR + number); }

inline pagecast_op op(unsigned code, unsigned width, unsigned to, unsigned a, unsigned b = kNone, unsigned c = kNone,
                      unsigned extra = 0, unsigned depth = 1) {
  const auto r = [](unsigned x) { return static_cast<uint16_t>(x); };
  return {
      static_cast<uint8_t>(code), static_cast<uint8_t>(depth), static_cast<uint8_t>(width), 0, r(to), r(a), r(b), r(c), extra};
}

/// A nest with its slice. nest() is valid until the next change.
struct Program {
  std::vector<pagecast_op> ops;
  std::vector<uint64_t> live, index; ///< index: of the chain's loops but the last
  std::vector<pagecast_group> groups;
  uint16_t scalars = 32, vectors = 16;
  uint32_t depths = 1, has_loops = 0;

  Program(std::vector<pagecast_op> o = {}) : ops(std::move(o)) {}
  unsigned add_group(int64_t lo, int64_t hi) {
    pagecast_group g{};
    g.lo = lo;
    g.hi = hi;
    groups.push_back(g);
    return static_cast<unsigned>(groups.size() - 1);
  }
  const pagecast_nest &nest() {
    slice_.ops = static_cast<uint32_t>(ops.size());
    slice_.scalars = scalars;
    slice_.vectors = vectors;
    slice_.depths = depths;
    slice_.loops = has_loops;
    slice_.carried = static_cast<uint32_t>(
        std::count_if(ops.begin(), ops.end(), [](const pagecast_op &o) { return o.code == PAGECAST_OP_PREVIOUS; }));
    slice_.op = ops.data();
    nest_.loops = static_cast<uint32_t>(index.size() + 1);
    nest_.groups = static_cast<uint32_t>(groups.size());
    nest_.live = static_cast<uint32_t>(live.size());
    nest_.group = groups.data();
    nest_.slice = &slice_;
    return nest_;
  }

private:
  pagecast_slice slice_{};
  pagecast_nest nest_{};
};

/// Memory of pages that are there or not.
struct PagedMemory : SliceMemory {
  unsigned shift;
  std::map<uint64_t, std::vector<uint8_t>> pages; ///< by page number
  uint64_t asked = 0;
  mutable uint64_t missing = 0; ///< calls of load() that found no memory, and iterations that nothing was handed to

  explicit PagedMemory(unsigned page_shift = 12) : shift(page_shift) {}
  const uint8_t *readable(uint64_t page) override {
    ++asked;
    EXPECT_EQ(page & ((1ull << shift) - 1), 0u);
    return find(page >> shift);
  }
  const uint8_t *find(uint64_t number) const {
    const auto p = pages.find(number);
    return p == pages.end() ? nullptr : p->second.data();
  }
  /// One byte at a time, so that pages are made as they are needed.
  template <class T> void put(uint64_t address, std::vector<T> values) {
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    for (uint64_t i = 0; i < bytes.size(); ++i) {
      std::vector<uint8_t> &page = pages[(address + i) >> shift];
      page.resize(1ull << shift);
      page[(address + i) & ((1ull << shift) - 1)] = bytes[i];
    }
  }
  bool load(uint64_t address, unsigned bytes, uint64_t *value) const {
    *value = 0;
    const uint8_t *page = nullptr;
    for (unsigned i = 0; i < bytes; ++i) {
      const bool enters = ((address + i) & ((1ull << shift) - 1)) == 0;
      if (i == 0 || enters) page = find((address + i) >> shift);
      if (!page) return *value = 0, ++missing, false;
      *value |= static_cast<uint64_t>(page[(address + i) & ((1ull << shift) - 1)]) << (8 * i);
    }
    return true;
  }
};

/// What was hinted: pages as a set, for a page may be told twice; ranges in order.
struct Hints {
  std::set<std::pair<unsigned, uint64_t>> pages;
  std::vector<std::tuple<unsigned, uint64_t, uint64_t>> ranges;

  /// Ranges that touch become one, and come in order: how they were cut does not matter.
  void join_ranges() {
    std::sort(ranges.begin(), ranges.end());
    std::vector<std::tuple<unsigned, uint64_t, uint64_t>> joined;
    for (auto [group, begin, end] : ranges) {
      if (joined.empty() || std::get<0>(joined.back()) != group || std::get<2>(joined.back()) < begin)
        joined.push_back({group, begin, end});
      else std::get<2>(joined.back()) = std::max(std::get<2>(joined.back()), end);
    }
    ranges = joined;
  }
  void drop_groups(uint32_t dropped) {
    std::erase_if(pages, [dropped](auto p) { return dropped >> p.first & 1; });
    std::erase_if(ranges, [dropped](auto r) { return dropped >> std::get<0>(r) & 1; });
  }
  /// Of joined ones.
  bool include(const Hints &others) const {
    const auto covered = [this](auto o) {
      return std::any_of(ranges.begin(), ranges.end(), [o](auto r) {
        return std::get<0>(r) == std::get<0>(o) && std::get<1>(r) <= std::get<1>(o) && std::get<2>(r) >= std::get<2>(o);
      });
    };
    return std::includes(pages.begin(), pages.end(), others.pages.begin(), others.pages.end()) &&
           std::all_of(others.ranges.begin(), others.ranges.end(), covered);
  }
  bool operator==(const Hints &) const = default;
};

/// Regions and the residency map of addresses below 1 << 24.
struct Regions : SliceSink {
  static constexpr uint64_t kEnd = 1ull << 24;
  unsigned shift;
  std::vector<std::pair<uint64_t, uint64_t>> regions;
  std::vector<uint8_t> map;
  Hints hints;
  uint64_t portions = 0, most_portions = ~0ull;
  uint64_t told = 0, asked = 0, patience = ~0ull;
  uint64_t ahead = 0; ///< what look_ahead() says of all regions
  std::set<std::pair<unsigned, uint64_t>> pages_ahead;

  explicit Regions(unsigned page_shift = 12) : shift(page_shift), map((kEnd >> page_shift) / 8) {}
  SliceFilter filter() const { return {map.data(), shift}; }
  bool in_region(uint64_t a) const {
    return std::any_of(regions.begin(), regions.end(), [a](auto r) { return a >= r.first && a < r.second; });
  }
  bool resident(uint64_t a) const { return map[a >> shift >> 3] >> (a >> shift & 7) & 1; }
  void set_resident(uint64_t a) { map[a >> shift >> 3] |= static_cast<uint8_t>(1u << (a >> shift & 7)); }

  bool page(unsigned group, uint64_t page) override {
    EXPECT_EQ(page & ((1ull << shift) - 1), 0u);
    EXPECT_TRUE(in_region(page));
    EXPECT_FALSE(resident(page));
    hints.pages.insert({group, page});
    return ++told < patience;
  }
  bool range(unsigned group, uint64_t begin, uint64_t end) override {
    EXPECT_LT(begin, end);
    hints.ranges.push_back({group, begin, end});
    return ++told < patience;
  }
  bool wanted() override { return ++portions < most_portions; }
  bool region(uint64_t address, uint64_t *begin, uint64_t *end) override {
    ++asked;
    for (auto [b, e] : regions)
      if (address >= b && address < e) return *begin = b, *end = e, true;
    return false;
  }
  uint64_t look_ahead(uint64_t) override { return ahead; }
  bool page_ahead(unsigned group, uint64_t page) override {
    EXPECT_TRUE(in_region(page));
    EXPECT_FALSE(resident(page));
    pages_ahead.insert({group, page});
    return ++told < patience;
  }
};

inline SliceMachine &machine() {
  static SliceMachine m; // large
  return m;
}

inline SliceOutcome run(Program &p, uint64_t first, uint64_t count, unsigned stage, PagedMemory &memory, Regions &regions,
                        uint64_t *work) {
  const pagecast_nest &nest = p.nest();
  EXPECT_TRUE(slice_valid(nest));
  const SliceCall call{&nest, p.live.data(), p.index.data(), first, count, stage};
  return machine().run(call, regions.filter(), memory, regions, work);
}

inline SliceOutcome run(Program &p, uint64_t first, uint64_t count, unsigned stage, PagedMemory &memory, Regions &regions) {
  uint64_t work = 1ull << 40;
  return run(p, first, count, stage, memory, regions, &work);
}

/// What abi.h says an operation computes.
uint64_t expected(const pagecast_op &, uint64_t a, uint64_t b, uint64_t c);
/// The hints of a stage, by the second interpreter. `steps`: operations and iterations that it did; it gives up
/// at 1 << 22.
Hints expected_hints(Program &, uint64_t first, uint64_t count, unsigned stage, const PagedMemory &, const Regions &,
                     uint64_t *steps);

} // namespace pagecast::test
