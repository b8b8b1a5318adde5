// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast a server is, by reading alone: what it holds is left as it is.
#pragma once

namespace pagecast::nbd {

/// Prints a line: bytes of the export, connections, bytes a second of a stream, random reads of 4 KiB a second. 0, or 1 with a
/// reason in the line.
int measure(const char *uri, double seconds);

} // namespace pagecast::nbd
