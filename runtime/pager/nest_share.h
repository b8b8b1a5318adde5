// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace pagecast {

/// Nests that are open at the same time share `budget` bytes. Pager's thread, after a nest was opened.
void share_memory(uint64_t budget);

} // namespace pagecast
