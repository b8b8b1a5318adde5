// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The number that stands for a path where paths are only compared: in the log of hints, and in a copy for names that directories
// have listed and files that it seems to have created. FNV-1a. Never 0, which stands for none. Freestanding.
#pragma once
#include <cstdint>

namespace pagecast::speculate {

inline uint64_t path_hash(const char *path) {
  uint64_t hash = 14695981039346656037ull;
  for (; *path; path++) hash = (hash ^ static_cast<unsigned char>(*path)) * 1099511628211ull;
  return hash ? hash : 1;
}

} // namespace pagecast::speculate
