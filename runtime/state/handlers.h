// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the program may handle signals, which decides what may be left unread (process/handlers.h says why).
#pragma once
#include <atomic>

namespace pagecast {

/// There may be a handler. Set by process/handlers.cpp, and never false again.
inline std::atomic<bool> handler_seen{false};

/// False as soon as there may be a handler. Any thread. Cost: one load.
inline bool handlers_none() { return !handler_seen.load(std::memory_order_seq_cst); }

} // namespace pagecast
