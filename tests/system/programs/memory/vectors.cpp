// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors that grow, exceptions through nests, a sort, destructors that give memory back.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

static uint64_t fill(std::vector<uint64_t> &v, uint64_t n, uint64_t fail_at) {
  uint64_t x = 88172645463325252ull;
  for (uint64_t i = 0; i < n; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    if (i == fail_at) throw std::runtime_error("as planned");
    v.push_back(x);
  }
  return x;
}

int main() {
  std::vector<uint64_t> v;
  for (int round = 0; round < 3; ++round) {
    try {
      fill(v, 1 << 20, round == 1 ? 700000 : ~0ull);
    } catch (const std::runtime_error &e) {
      std::puts(e.what());
    }
  }
  std::vector<uint64_t> w(v);
  std::sort(w.begin(), w.end());
  std::vector<double> weights(w.size());
  for (size_t i = 0; i < w.size(); ++i) weights[i] = static_cast<double>(w[i] >> 40) * 0.001;
  double sum = 0;
  for (size_t i = weights.size(); i-- > 0;) sum += weights[i];
  uint64_t hash = 0;
  for (uint64_t x : v) hash = hash * 31 + x;
  v.clear();
  v.shrink_to_fit();
  std::printf("%zu %.17g %llx\n", w.size(), sum, static_cast<unsigned long long>(hash));
}
