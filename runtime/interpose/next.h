// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function of a name that would be called without us.
#pragma once
#include <dlfcn.h>

namespace pagecast {

/// Mostly the C library's. NULL: there is none. Takes the linker's lock, so that callers keep what they get.
template <typename Function> Function next(const char *name) { return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name)); }

} // namespace pagecast
