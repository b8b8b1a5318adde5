// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bodies of the entry points (pagecast/abi.h), for C and C++: nest_entry.c keeps the program's registers around them,
// nest_transfer.c calls them for whole transfers, nests.cpp has them.
//
// They share a word of each nest (pagecast_nest.cache). Its lowest bits are 1 + the nest's first site, which does not change
// once it is there (Statistics::sites_of). Above are the bits of core/nest/entry_backoff.h, which are only written where there
// is a site. The lowest of these say how many entries are passed over before the next probe.
#ifndef PAGECAST_NEST_ENTRY_H
#define PAGECAST_NEST_ENTRY_H

#include "pagecast/abi.h"

#define PAGECAST_WORD_SITE 16u ///< bits of the word, for the site
#define PAGECAST_WORD_LEFT 13u ///< bits above them, for the entries that are passed over
#define PAGECAST_WORD_LEFT_MASK (((UINT64_C(1) << PAGECAST_WORD_LEFT) - 1) << PAGECAST_WORD_SITE)

#ifdef __cplusplus
extern "C" {
#endif

/// `words` are those of __pagecast_enter, `frame` is the caller's: what is open in deeper ones has been left.
pagecast_opened pagecast_do_enter(const pagecast_nest *, const uint64_t *words, const void *frame);
void pagecast_do_tick(pagecast_ticket *);
void pagecast_do_exit(pagecast_ticket *);
uint64_t pagecast_do_next(uint64_t at, uint64_t bound, pagecast_ticket *);

/// Finds out which registers there are to be kept: before the first nest, and not in programs without any. Cost: 11 us in a virtual
/// machine.
void pagecast_look_at_processor(void);

/// Nests that this thread has open (nest_stack.h); where there are none, nest_entry.c passes entries over by itself.
extern __thread unsigned pagecast_open_count __attribute__((tls_model("initial-exec"), visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
