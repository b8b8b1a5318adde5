// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/entry/small_nests.h"

#include "core/arithmetic.h"
#include "core/nest/companions.h"
#include "runtime/entry/nest_args.h"
#include "runtime/kernel/os.h"

#include <algorithm>

namespace pagecast {
namespace {

constexpr unsigned kMostRows = 8;
/// Rows that lack pages: one alone is brought by its fault, and by a stream where one follows the other, in larger requests.
constexpr unsigned kWorthRows = 2;

/// The small nest that a thread was in last.
struct Entered {
  const pagecast_nest *nest;
  unsigned count;
  core::Row row[kMostRows];
};
thread_local Entered last __attribute__((tls_model("initial-exec"))){};

/// What is known of the nests that come after a nest. Several may fall on one entry: the one that is there stays until it is
/// not entered any more.
struct Known {
  const pagecast_nest *nest = nullptr;
  core::Companions companions;
};
constexpr unsigned kKnown = 64;
Known known_nests[kKnown];
std::atomic_flag learning = ATOMIC_FLAG_INIT; ///< who does not get it learns, and is told, nothing this time

Known &known(const pagecast_nest &d) { return known_nests[reinterpret_cast<uint64_t>(&d) / sizeof(pagecast_nest) % kKnown]; }

/// Groups without a row that is known.
constexpr uint32_t kWithoutRow = PAGECAST_INDIRECT | PAGECAST_COMPARED;

/// Whether it goes through rows, of which each may be long.
bool has_rows(const pagecast_slice &s) {
  return std::any_of(s.op, s.op + s.ops, [](const pagecast_op &op) { return op.code == PAGECAST_OP_RANGE; });
}

/// The bytes that the group touches, from end to end.
core::Extent reach(const pagecast_nest &d, unsigned group, const uint64_t *args) {
  const uint64_t *values = args + d.loops + uint64_t{group} * (1 + d.loops);
  const core::Extent first{values[0] + static_cast<uint64_t>(d.group[group].lo),
                           values[0] + static_cast<uint64_t>(d.group[group].hi)};
  return core::hull_of(first, d.loops, args, reinterpret_cast<const int64_t *>(values + 1));
}

/// The rows that the nest goes over: those that are in one piece, and not more than the gate from end to end.
unsigned rows_of(const Engine &engine, const pagecast_nest &d, const uint64_t *args, core::Row *row) {
  unsigned n = 0;
  for (unsigned g = 0; g < d.groups && n < kMostRows; ++g) {
    if (d.group[g].flags & kWithoutRow) continue;
    const core::Extent e = reach(d, g, args);
    if (!e.empty() && e.size() <= engine.options().gate) row[n++] = {e, (d.group[g].flags & PAGECAST_WRITES) != 0};
  }
  return n;
}

/// Calls `callback(Extent)` for the absent parts of a row, until it returns false.
template <class Callback> void for_each_absent(Engine &engine, const core::Row &row, Callback callback) {
  for (core::Extent left = row.extent; !left.empty();) {
    const core::Extent absent = engine.residency().next_absent(left, engine.max_io());
    if (absent.empty()) return;
    const Region r = engine.look_up(absent.begin);
    if (r.bytes == 0 || r.is_file()) return;
    left.begin = core::least(absent.end, r.end());
    if (!callback(core::Extent{absent.begin, left.begin})) return;
  }
}

bool lacks(Engine &engine, const core::Row &row) {
  bool any = false;
  for_each_absent(engine, row, [&](core::Extent) { return any = true, false; });
  return any;
}

void ask(Engine &engine, const core::Row &row, uint16_t site) {
  for_each_absent(engine, row, [&](core::Extent e) {
    const auto pages = static_cast<uint32_t>(e.size() >> os::page_shift());
    engine.hint({e.begin, pages, row.write ? Hint::kFetchWrite : Hint::kFetch, 0, site, 0, 0});
    return true;
  });
}

} // namespace

bool is_small(const Engine &engine, const pagecast_nest &d, const uint64_t *args) {
  const uint64_t gate = engine.options().gate;
  const uint64_t iterations = iterations_of(args, d.loops);
  uint64_t bytes = 0;
  if (iterations == 0) return false; // nothing is touched
  if (d.slice && (has_rows(*d.slice) || core::saturating_mul(iterations, kPlaceBytes) >= gate)) return false;
  for (unsigned g = 0; g < d.groups; ++g)
    if (!(d.group[g].flags & kWithoutRow)) bytes = core::saturating_add(bytes, reach(d, g, args).size());
  return bytes < gate;
}

bool ask_for_rows(Engine &engine, const pagecast_nest &d, const uint64_t *args) {
  Entered now;
  now.nest = &d;
  now.count = rows_of(engine, d, args, now.row);
  core::Row lacking[kMostRows + core::Companions::kMost];
  unsigned n = 0;
  const auto look = [&](const core::Row &row) {
    for (unsigned i = 0; i < n; ++i)
      if (lacking[i].covers(row.extent)) return void(lacking[i].write |= row.write);
    if (lacks(engine, row)) lacking[n++] = row;
  };
  for (unsigned i = 0; i < now.count; ++i) look(now.row[i]);
  if (!learning.test_and_set(std::memory_order_acquire)) {
    if (last.nest && known(*last.nest).nest == last.nest && last.nest != &d)
      known(*last.nest).companions.followed(last.row, last.count, &d, now.row, now.count);
    Known &own = known(d);
    if (own.nest == nullptr) own.nest = &d;
    if (own.nest == &d) own.companions.for_each(now.row, now.count, look);
    learning.clear(std::memory_order_release);
  }
  last = now;
  // Also where nothing is asked for: without a site, nobody notes how often that was in vain.
  const auto site = static_cast<uint16_t>(engine.statistics.sites_of(&d));
  if (n < kWorthRows) return false;
  for (unsigned i = 0; i < n; ++i) ask(engine, lacking[i], site);
  return true;
}

} // namespace pagecast
