// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A newcomer in a control group that others have filled. Paging takes a few MiB at once when it begins (tables, staging), and who is
// alone in a group keeps less than that free: the kernel would end a program of the group, before the others have given anything
// back. So the newcomer takes what it needs page by page, as fast as there is room, which is how the others learn of it (they hold
// it for a launcher below 1 MiB), and leaves it to the start of paging.
#pragma once
#include <cstdint>

namespace pagecast {

/// Returns when there is memory for so many bytes in each control group where others hold memory, or when nobody gives any back.
/// Any thread, before there are regions. Cost: 50 us where there is room, else as long as others need, a second at most.
void wait_for_room_to_start(uint64_t bytes);

} // namespace pagecast
