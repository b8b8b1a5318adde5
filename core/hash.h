// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace pagecast::core {

/// FNV-1a of a text, behind what `before` is the hash of.
inline uint64_t hash_of(const char *text, uint64_t before = 14695981039346656037u) {
  for (; *text; ++text) before = (before ^ static_cast<unsigned char>(*text)) * 1099511628211u;
  return before;
}

} // namespace pagecast::core
