// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/sharing/program.h"

namespace pagecast::simulator {
namespace {

/// A number below 1 that depends on `i` alone.
double even_noise(uint32_t i) {
  uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return double(x >> 11) / double(uint64_t{1} << 53);
}

} // namespace

void Phase::append(uint32_t i, std::vector<Access> *out) const {
  const uint32_t set = is_cyclic ? i % sets : uint32_t(uint64_t(i) * sets / iterations);
  const auto time = uint32_t(micros * (1 + imbalance * (2 * even_noise(i) - 1)));
  const uint32_t total = shared + own;
  for (uint32_t k = 0, shared_done = 0, own_done = 0; k < total; ++k) {
    // Evenly mixed: the one that is further behind its share comes next.
    const bool is_shared = uint64_t(shared_done) * own <= uint64_t(own_done) * shared ? shared_done < shared : own_done == own;
    if (is_shared) out->push_back({first_shared + set * shared + shared_done++, time});
    else out->push_back({first_own + i * own + own_done++, time});
  }
}

std::vector<uint32_t> Phase::iterations_of(uint32_t p, uint32_t count) const {
  std::vector<uint32_t> out;
  if (is_cyclic)
    for (uint32_t i = p; i < iterations; i += count) out.push_back(i);
  else
    for (uint32_t i = p * iterations / count; i < (p + 1) * iterations / count; ++i) out.push_back(i);
  return out;
}

} // namespace pagecast::simulator
