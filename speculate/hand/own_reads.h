// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace pagecast::speculate {

/// By read calls of all kinds, of all threads, those of the library too. One thread at a time.
uint64_t bytes_read_by_this_process();

} // namespace pagecast::speculate
