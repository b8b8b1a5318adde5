// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices' arithmetic on floating-point numbers: positions of particles, keys, coordinates, of which programs make
// indices. Words hold numbers of 32 bits in their lower half. Nothing traps: the machine's threads have the default environment.
#pragma once
#include "pagecast/abi.h"

#include <bit>
#include <cstdint>

namespace pagecast {

inline uint64_t slice_word(float number) { return std::bit_cast<uint32_t>(number); }
inline uint64_t slice_word(double number) { return std::bit_cast<uint64_t>(number); }
inline uint64_t slice_word(bool holds) { return holds; }

/// Calls `each.two` with f(x, y), of numbers of the width, made a function of words; it gives a number or says whether.
template <class Each, class F> void floating_two(unsigned width, Each &each, F f) {
  if (width == 32)
    each.two([f](uint64_t x, uint64_t y) {
      return slice_word(f(std::bit_cast<float>(static_cast<uint32_t>(x)), std::bit_cast<float>(static_cast<uint32_t>(y))));
    });
  else each.two([f](uint64_t x, uint64_t y) { return slice_word(f(std::bit_cast<double>(x), std::bit_cast<double>(y))); });
}

inline double slice_number(uint64_t word, unsigned width) {
  return width == 32 ? double{std::bit_cast<float>(static_cast<uint32_t>(word))} : std::bit_cast<double>(word);
}
inline uint64_t slice_word(double number, unsigned width) {
  return width == 32 ? slice_word(static_cast<float>(number)) : slice_word(number);
}

/// Calls `each.one` with f(x).
template <class Each, class F> void floating_one(unsigned width, Each &each, F f) {
  each.one([f, width](uint64_t x) { return slice_word(f(slice_number(x, width)), width); });
}

/// Zero's sign may be lost.
inline double slice_whole(double x, unsigned how) {
  constexpr double kAllWhole = 4503599627370496.0; // 2^52
  if (!(x < kAllWhole && x > -kAllWhole)) return x;
  const auto cut = static_cast<double>(static_cast<int64_t>(x));
  const double rest = x < 0 ? cut - x : x - cut;
  switch (how) {
  case PAGECAST_DOWN: return cut - (cut > x);
  case PAGECAST_UP: return cut + (cut < x);
  case PAGECAST_TO_EVEN: {
    const bool up = rest > 0.5 || (rest == 0.5 && (static_cast<int64_t>(x) & 1));
    return up ? cut + (x < 0 ? -1 : 1) : cut;
  }
  case PAGECAST_AWAY: return rest >= 0.5 ? cut + (x < 0 ? -1 : 1) : cut;
  default: return cut;
  }
}

constexpr double kTwoTo63 = 9223372036854775808.0;

/// What is no number becomes 0, what is too large the largest.
inline int64_t slice_signed(double x) {
  if (!(x < kTwoTo63)) return x >= kTwoTo63 ? INT64_MAX : 0;
  return x >= -kTwoTo63 ? static_cast<int64_t>(x) : INT64_MIN;
}
inline uint64_t slice_unsigned(double x) {
  if (!(x > 0)) return 0;
  if (x < kTwoTo63) return static_cast<uint64_t>(static_cast<int64_t>(x));
  return x < 2 * kTwoTo63 ? static_cast<uint64_t>(static_cast<int64_t>(x - kTwoTo63)) + (1ull << 63) : UINT64_MAX;
}

} // namespace pagecast
