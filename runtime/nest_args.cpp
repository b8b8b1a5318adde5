// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/nest_args.h"

namespace pagecast {

bool expand_args(const pagecast_nest &d, const uint64_t *dynamic, uint64_t *full) {
  if (d.loops == 0 || d.loops > PAGECAST_MAX_LOOPS || d.ticked >= d.loops || d.groups > PAGECAST_MAX_GROUPS ||
      d.live > PAGECAST_MAX_LIVE)
    return false;
  const unsigned count = d.loops + d.groups * (1 + d.loops) + d.live;
  for (unsigned i = 0; i < count; ++i) full[i] = argument(d.word[i], dynamic);
  return true;
}

} // namespace pagecast
