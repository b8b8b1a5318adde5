// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary of the policy layer. core/ has no system call, no thread and no clock: memory,
// time and the consequences of its decisions are passed in.
//
//   page        the unit of residency; its size is a parameter, never a constant
//   group       references that touch the same pages a few iterations apart
//   nest        a chain of loops, outermost first, with the groups in it
//   step        one strip of the ticked loop, or some iterations of it (core/nest/ticks.h)
//   cursor      a position in the nest's iteration space, counted in steps, ahead of the program
//   distance    how many steps the cursor is ahead
#pragma once
#include <cstdint>

namespace pagecast::core {

inline constexpr unsigned kMaxLoops = 8;
inline constexpr unsigned kMaxGroups = 32;

using Addr = uint64_t;

/// A half-open range of byte addresses.
struct Extent {
  Addr begin = 0;
  Addr end = 0;
  uint64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
};

/// The bytes that are in both.
inline Extent common(Extent a, Extent b) {
  const Addr begin = a.begin < b.begin ? b.begin : a.begin, end = a.end < b.end ? a.end : b.end;
  return {begin, begin < end ? end : begin};
}

/// From the first byte to the last of what is touched in all iterations of the loops, which is `first` in the first one.
inline Extent hull_of(Extent first, unsigned loops, const uint64_t *trips, const int64_t *stride) {
  for (unsigned k = 0; k < loops; ++k)
    (stride[k] < 0 ? first.begin : first.end) += uint64_t(stride[k]) * (trips[k] ? trips[k] - 1 : 0);
  return first;
}

/// One group with its run-time values. Iteration (i0, i1, ...) touches
/// [base + lo + sum(stride[k]*ik), base + hi + sum(stride[k]*ik)).
struct Group {
  bool reads = false;
  bool writes = false;
  bool indirect = false; ///< no strides: its addresses come from a slice
  bool scattered = false; ///< and each iteration may touch another page: a slice asks for its pages one by one
  bool index = false;    ///< read by a slice: fetched `slice_distance` further ahead
  bool overwrites = false; ///< stores every byte that its iterations touch, for certain: see core/nest/overwrite.h
  uint32_t element = 0;  ///< bytes
  int64_t lo = 0, hi = 0;
  Addr base = 0;
  int64_t stride[kMaxLoops] = {}; ///< bytes per iteration of each loop
};

/// A nest with its run-time values, as it stands at one entry.
struct Shape {
  unsigned loops = 0;
  unsigned ticked = 0; ///< which loop a step advances; loops below it are inside one step
  bool strips = false; ///< the ticked loop is strip-mined: the program ticks once in a step, not in each iteration of it
  unsigned groups = 0;
  unsigned stages = 0;        ///< of the slice: loads behind one another
  uint64_t sliced_bytes = 0;  ///< that the slice's ranges touch in one iteration of the ticked loop, about
  uint64_t sliced_total = 0;  ///< and in all
  uint64_t trips[kMaxLoops] = {};
  Group group[kMaxGroups];
};

enum class Schedule : uint8_t { kSingle, kNested, kContinuous };

/// What the policy must know of the machine at an entry.
struct Conditions {
  uint64_t page = 4096;        ///< bytes
  uint64_t budget = 0;         ///< bytes of memory for regions
  uint64_t latency_ns = 0;     ///< of one fetch, measured; 0 = unknown
  uint64_t queue_bytes = 0;    ///< bytes in flight that keep the disk busy
  uint64_t max_io = 0;         ///< largest useful single request, bytes
  uint64_t fixed_distance = 0; ///< steps; 0 = measured
  Schedule schedule = Schedule::kContinuous;
  bool release = true;
  bool at_once = false; ///< what a step has passed goes, whatever outer loops want again
  bool crowded = false; ///< there is no memory for the nest but what others' pages are in
};

/// Where decisions go. Extents are page-aligned.
class Sink {
public:
  /// Wants the pages of `e`, which the residency map says are absent. `write`: they will be stored to.
  /// False = no memory or no room in the queue now; the cursor stays and asks again later.
  virtual bool fetch(Extent e, unsigned group, bool write) = 0;
  /// The first part of `e` whose pages can be fetched at all; empty if none can. Asked of large extents, since what a nest
  /// that never runs would touch may be as large as the address space.
  virtual Extent first_served(Extent e) { return e; }
  /// The program has finished with `e`; priority 0 = never again (OSDI 2000, equation 2).
  virtual void release(Extent e, unsigned group, unsigned priority) = 0;

protected:
  ~Sink() = default;
};

} // namespace pagecast::core
