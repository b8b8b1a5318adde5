// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bodies of the entry points (pagecast/abi.h), for C and C++: nest_entry.c keeps the program's registers around them,
// nest_transfer.c calls them for whole transfers, nests.cpp has them.
#ifndef PAGECAST_NEST_BODIES_H
#define PAGECAST_NEST_BODIES_H

#include "pagecast/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// `words` are those of __pagecast_enter, `frame` is the caller's: what is open in deeper ones has been left.
pagecast_opened pagecast_do_enter(const pagecast_nest *, const uint64_t *words, const void *frame);
void pagecast_do_tick(pagecast_ticket *);
void pagecast_do_exit(pagecast_ticket *);
uint64_t pagecast_do_next(uint64_t at, uint64_t bound, pagecast_ticket *);

/// Nests that this thread has open (nest_stack.h); where there are none, nest_entry.c passes entries over by itself.
extern __thread unsigned pagecast_open_count __attribute__((tls_model("initial-exec"), visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
