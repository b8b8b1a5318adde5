// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy's own code (copy/), linked into one piece that runs wherever it is put.
#pragma once
#include "speculate/shared/order.h"

extern "C" const unsigned char pagecast_copy_image[], pagecast_copy_image_end[];

namespace pagecast::speculate {

inline const ImageHead &image_head() { return *reinterpret_cast<const ImageHead *>(pagecast_copy_image); }
inline uint64_t image_bytes() { return static_cast<uint64_t>(pagecast_copy_image_end - pagecast_copy_image); }

} // namespace pagecast::speculate
