// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests that are opened for a profile (runtime/profile): nobody moves them, and all that is wanted of them is their end.
#pragma once
#include "runtime/state/open_nests.h"

namespace pagecast {

/// Notes the entry. The ticket is NULL if its end need not be noted.
pagecast_ticket *open_profiled(const pagecast_nest &, const uint64_t *args, const void *frame);
/// The program has left it: it is free.
void close_profiled(OpenNest *);

} // namespace pagecast
