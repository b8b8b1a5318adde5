// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/profile/profile.h"

#include "core/nest/plan.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/kernel/sandbox.h"
#include "runtime/profile/touches.h"
#include "runtime/state/locks.h"

#include <cerrno>

namespace pagecast::profile {

constinit std::atomic<bool> on{false};

namespace {

constinit Part part; // all of them are used before other constructors have run
constinit DataSets sets;
constinit Touches touches(part, sets);
std::atomic<bool> any_mapped{false}; ///< a nest can only touch files once one is mapped

/// The caller's errno stays, and no signal handler meets the lock.
class Held {
  const int errno_ = errno;
  NoSignals whole_;
  Guard guard_{locks::profile};

public:
  Held() = default;
  ~Held() { errno = errno_; }
  Held(const Held &) = delete;
  Held &operator=(const Held &) = delete;
};

/// What group `g` of the nest touches of a data set; false: nothing that is known.
bool reference_of(const pagecast_nest &d, const uint64_t *args, const core::Shape &shape, unsigned g, core::Reference *out,
                  uint32_t *data_set) {
  const pagecast_group &from = d.group[g];
  if (from.flags & (PAGECAST_INDIRECT | PAGECAST_COMPARED) || from.hi <= from.lo) return false;
  const uint64_t *values = args + d.loops + g * (1 + d.loops);
  core::Group group;
  group.lo = from.lo;
  group.hi = from.hi;
  group.base = values[0];
  for (unsigned k = 0; k < d.loops; ++k) group.stride[k] = static_cast<int64_t>(values[1 + k]);
  const core::Extent reach = core::reach_of(shape, group);
  const uint64_t at = group.base + static_cast<uint64_t>(from.lo);
  const Mapped *mapped = sets.find(at, reach.begin, reach.end);
  if (!mapped) return false;
  *data_set = mapped->data_set;
  out->first = static_cast<int64_t>(at - mapped->begin + mapped->offset);
  out->span = static_cast<uint64_t>(from.hi - from.lo);
  out->loops = d.loops;
  for (unsigned k = 0; k < d.loops; ++k) {
    out->trips[k] = shape.trips[k];
    out->stride[k] = group.stride[k];
  }
  return true;
}

core::Stored stored_by(const pagecast_group &g) {
  if (g.flags & PAGECAST_OVERWRITES) return core::Stored::kAll;
  return g.flags & PAGECAST_WRITES ? core::Stored::kSome : core::Stored::kNo;
}

/// Then the nest is noted, if only to say that not all of it is seen.
bool goes_through_indices_to_a_file(const pagecast_nest &d, const uint64_t *args, unsigned g) {
  const uint64_t base = args[d.loops + g * (1 + d.loops)];
  return (d.group[g].flags & PAGECAST_INDIRECT) && base && sets.find(base, base, base + 1);
}

} // namespace

bool start(const Options &options) {
  part.start(options.profile);
  if (!sets.start(options.large) || !touches.start(os::now_ns(), !options.profile_entries)) return false;
  prepare_callers();
  on.store(true, std::memory_order_release);
  return true;
}

void forked() {
  if (is_on()) part.forked();
}

bool enter(const pagecast_nest &d, const uint64_t *args, Entry *entry) {
  entry->count = 0;
  if (!any_mapped.load(std::memory_order_acquire) || sandboxed()) return false;
  const Held held;
  entry->generation = part.generation();
  const uint64_t now = os::now_ns();
  core::Shape shape;
  shape.loops = d.loops;
  for (unsigned k = 0; k < d.loops; ++k) shape.trips[k] = args[k];
  for (unsigned g = 0; g < d.groups; ++g) {
    if (goes_through_indices_to_a_file(d, args, g) && touches.nest(d) != Touches::kNone) part.commit(now);
    core::Reference touched;
    uint32_t data_set;
    if (!reference_of(d, args, shape, g, &touched, &data_set)) continue;
    const uint32_t phase = touches.nest(d);
    if (phase == Touches::kNone) break;
    if (uint64_t *end = touches.add(phase, data_set, touched, stored_by(d.group[g]), now)) entry->end_ns[entry->count++] = end;
  }
  return entry->count != 0;
}

void leave(const Entry &entry) {
  if (sandboxed()) return;
  const Held held;
  if (entry.generation != part.generation()) return; // a child's of the fork: the records are its parent's
  const uint64_t now = os::now_ns();
  for (unsigned i = 0; i < entry.count; ++i) *entry.end_ns[i] = now;
  part.note_time(now);
}

void map(uint64_t begin, uint64_t bytes, int fd, uint64_t offset) {
  if (sandboxed()) return;
  const Held held;
  const uint32_t data_set = sets.of(fd);
  if (data_set == kNoDataSet) return sets.unmap(begin, begin + bytes);
  sets.map(begin, begin + bytes, offset, data_set);
  any_mapped.store(true, std::memory_order_release);
}

void unmap(uint64_t begin, uint64_t end) {
  if (!any_mapped.load(std::memory_order_acquire) || sandboxed()) return;
  const Held held;
  sets.unmap(begin, end);
}

void move(uint64_t begin, uint64_t end, uint64_t to, uint64_t bytes) {
  if (!any_mapped.load(std::memory_order_acquire) || sandboxed()) return;
  const Held held;
  sets.move(begin, end, to, bytes);
}

namespace {
uint32_t data_set_of(int fd) {
  const Held held;
  return sets.of(fd);
}
} // namespace

void read(int fd, int64_t at, uint64_t bytes) {
  if (sandboxed()) return;
  const uint32_t data_set = data_set_of(fd);
  if (data_set == kNoDataSet) return;
  // Without the lock: it takes the linker's, whose holder may be running a constructor that reads.
  const void *caller = caller_in_program();
  if (!caller) return;
  const Held held;
  core::Reference touched;
  touched.first = at >= 0 ? at : os::position(fd) - static_cast<int64_t>(bytes);
  touched.span = bytes;
  const uint32_t phase = touches.caller(caller);
  if (phase == Touches::kNone) return;
  const uint64_t now = os::now_ns();
  if (uint64_t *end = touches.add(phase, data_set, touched, core::Stored::kNo, now)) *end = now;
}

} // namespace pagecast::profile
