// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's word of a nest (pagecast_nest.cache), for C and C++: 1 + its first site, which does not change once it is
// there, and above it the bits of core/nest/entry_backoff.h, which are only written where the former is there. Their lowest say how
// many entries are passed over before the next probe.
#ifndef PAGECAST_NEST_WORD_H
#define PAGECAST_NEST_WORD_H

#include <stdint.h>

#define PAGECAST_WORD_SITE 16u ///< bits
#define PAGECAST_WORD_LEFT 13u ///< bits above them
#define PAGECAST_WORD_LEFT_MASK (((UINT64_C(1) << PAGECAST_WORD_LEFT) - 1) << PAGECAST_WORD_SITE)

static inline uint64_t pagecast_word_site(uint64_t word) { return word & ((UINT64_C(1) << PAGECAST_WORD_SITE) - 1); }

#endif
