// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nbd/measure.h"

#include "nbd/connections.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <random>

namespace pagecast::nbd {
namespace {

constexpr unsigned kDepth = 16;
constexpr uint64_t kLarge = 512u << 10, kSmall = 4096;

int read_done(void *under_way, int *) {
  --*static_cast<unsigned *>(under_way);
  return 1;
}

/// Reads a second of so many bytes, at the places that `next` names; negative: the connection was lost.
template <typename Next> double rate(Connections &c, char *memory, uint64_t bytes, double seconds, Next next) {
  const auto begin = std::chrono::steady_clock::now();
  auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  uint64_t asked = 0;
  unsigned under_way = 0;
  for (bool last = false; !last || under_way;) {
    last |= passed() >= seconds;
    for (; !last && under_way < kDepth; ++asked, ++under_way)
      if (c.read(memory + asked % kDepth * bytes, bytes, next(), read_done, &under_way)) return -1;
    pollfd p[Connections::kMost];
    c.wants(p);
    poll(p, c.count(), 1000);
    c.go_on(p);
    if (c.lost()) return -1;
  }
  return static_cast<double>(asked) / passed();
}

} // namespace

int measure(const char *uri, double seconds) {
  Connections c(uri, -1);
  if (!c.open(5000)) return printf("%s\n", c.error().c_str()), 1;
  const uint64_t size = c.facts().bytes;
  if (c.facts().read_only) return puts("the server does not let it be written"), 1;
  if (size < kLarge) return puts("the export is smaller than 512 KiB"), 1;
  const auto memory = std::make_unique<char[]>(kDepth * kLarge);
  uint64_t at = 0;
  std::mt19937_64 random(1);
  const double stream =
      rate(c, memory.get(), kLarge, seconds / 2, [&] { return (at += kLarge) % (size - kLarge + 1) & ~(kSmall - 1); });
  const double scattered = rate(c, memory.get(), kSmall, seconds / 2, [&] { return random() % (size / kSmall) * kSmall; });
  if (stream < 0 || scattered < 0) return puts("the connection was lost"), 1;
  printf("%llu %u %.0f %.0f\n", static_cast<unsigned long long>(size), c.count(), stream * kLarge, scattered);
  return 0;
}

} // namespace pagecast::nbd
