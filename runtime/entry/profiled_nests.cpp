// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/entry/profiled_nests.h"

#include "runtime/entry/nest_args.h"
#include "runtime/entry/nest_stack.h"
#include "runtime/profile/profile.h"

namespace pagecast {
namespace {
profile::Entry entries[kMostOpenNests]; ///< of the nests that are open, by their numbers
}

pagecast_ticket *open_profiled(const pagecast_nest &d, const uint64_t *args, const void *frame) {
  close_stale(&d, frame);
  profile::Entry entry;
  if (!profile::enter(d, args, &entry)) return nullptr;
  OpenNest *nest = open_room() ? claim_nest() : nullptr;
  if (!nest) return profile::leave(entry), nullptr; // it is noted as if it took no time
  entries[number_of(nest)] = entry;
  watch_ends_of_threads();
  nest->is_profiled = true;
  nest->covers = nest->can_be_early = false;
  nest->description = &d;
  nest->frame = frame;
  nest->ends = ends_of(d, args);
  nest->last_tick = last_tick_of(d, args);
  nest->ticket = {0, nest->last_tick, d.strips ? args[d.ticked] : 1};
  push_open(nest);
  nest->state.store(OpenNest::kOpen, std::memory_order_release);
  return &nest->ticket;
}

void close_profiled(OpenNest *nest) {
  profile::leave(entries[number_of(nest)]);
  nest->is_profiled = false;
  nest->state.store(OpenNest::kFree, std::memory_order_release);
}

} // namespace pagecast
