// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hash of words, and unsigned arithmetic that stops at the largest value, and at 0. Trip counts and strides come from the program and
// may be anything; a product that does not fit means "more than there is", and is treated as that.
#pragma once
#include <cstdint>

namespace pagecast::core {

inline constexpr uint64_t kUnbounded = ~uint64_t{0};

inline uint64_t saturating_mul(uint64_t a, uint64_t b) {
  uint64_t r;
  return __builtin_mul_overflow(a, b, &r) ? kUnbounded : r;
}

inline uint64_t saturating_add(uint64_t a, uint64_t b) {
  uint64_t r;
  return __builtin_add_overflow(a, b, &r) ? kUnbounded : r;
}

/// a - b, or 0 where b is more.
inline uint64_t saturating_sub(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/// |v|, defined for the most negative value as well.
inline uint64_t magnitude(int64_t v) { return v < 0 ? ~uint64_t(v) + 1 : uint64_t(v); }

inline uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
inline uint64_t most(uint64_t a, uint64_t b) { return a < b ? b : a; }

inline uint64_t divide_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/// The same share of another whole: `part` of `whole` is so much of `other`, rounded down. `whole` is not 0; the result fits.
inline uint64_t rescale(uint64_t part, uint64_t whole, uint64_t other) {
  return uint64_t((unsigned __int128)(part)*other / whole);
}

/// `unit` is a power of two.
inline uint64_t round_down(uint64_t a, uint64_t unit) { return a & ~(unit - 1); }
inline uint64_t round_up(uint64_t a, uint64_t unit) { return round_down(saturating_add(a, unit - 1), unit); }

/// FNV-1a of a text, behind what `before` is the hash of.
inline uint64_t hash_of(const char *text, uint64_t before = 14695981039346656037u) {
  for (; *text; ++text) before = (before ^ static_cast<unsigned char>(*text)) * 1099511628211u;
  return before;
}

} // namespace pagecast::core
