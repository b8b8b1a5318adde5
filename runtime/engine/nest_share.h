// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests that are open at the same time share the memory: nest_share.cpp says how.
#pragma once
#include <cstdint>

namespace pagecast {

/// After a nest was opened: nests that are open at the same time share `budget` bytes. Pager's thread.
void share_memory(uint64_t budget);

} // namespace pagecast
