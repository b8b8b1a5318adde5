// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The seccomp filter of a copy. It lets through what changes nothing outside the copy; everything else is answered by
// the copy's own code or ends the copy. The kinds of answers are listed in sandbox/calls.def.
//
// Calls of the copy's own code carry a cookie in their sixth argument, drawn anew for each copy, so that a wild jump
// into that code cannot make them. Two of them have six arguments (mmap and preadv2): where they stand is checked instead.
#pragma once
#include "speculate/shared/order.h"

namespace pagecast::speculate {

/// Where the copy's own code is, and its cookie.
struct FilterAddresses {
  uint64_t begin, end;
  uint64_t cookie;
};

/// Writes the filter. Returns the number of steps, or 0 if `capacity` is too small.
unsigned make_filter(const FilterAddresses &own, FilterStep *steps, unsigned capacity);

} // namespace pagecast::speculate
