// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices that need no code of their own: the commonest indirect references, target[index[i]], run from
// their pagecast_form.
#pragma once
#include "core/nest.h"
#include "pagecast/abi.h"

namespace pagecast {

/// What a pagecast_slice does, for the forms of `d`. `shape` holds the bases and strides of its groups.
void run_forms(const pagecast_nest &d, const core::Shape &shape, const uint64_t *index, uint64_t first, uint64_t count,
               pagecast_touch *touch);

} // namespace pagecast
