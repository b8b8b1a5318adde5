// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/runtime/pager/failing_disk.h"

#include "runtime/kernel/disk.h"
#include "runtime/store/preallocation.h"
#include "runtime/kernel/os.h"

#include <cerrno>
#include <random>
#include <unistd.h>
#include <vector>

using pagecast::Disk;
using pagecast::Preallocation;

namespace failing {

std::atomic<int> reserving{0}, writing{0}, reading{0};
std::atomic<uint64_t> bad_begin{0}, bad_end{0};
std::atomic<bool> stalled{false}, room_stalled{false}, waiting_stalled{false};
std::atomic<unsigned> reads{0}, writes{0};

namespace {

// The pager's thread alone, but for at_random before it starts.
Chances chances;
std::mt19937 dice;
struct Held {
  Disk::Completion completion;
  uint64_t due;
};
std::vector<Held> &held = *new std::vector<Held>; // the pager's thread outlives main

bool one_in(unsigned n) { return n && dice() % n == 0; }

bool is_stalled(uint64_t tag) { return stalled || (room_stalled && (tag & Preallocation::kTag)); }

void answer(uint64_t tag, int result) { held.push_back({{tag, result}, pagecast::os::now_ns()}); }

} // namespace

void at_random(const Chances &given) {
  chances = given;
  dice.seed(given.seed);
}

} // namespace failing

using namespace failing;

extern "C" {

bool __real__ZN8pagecast4Disk8allocateEjimmm(Disk *, unsigned, int, uint64_t, uint64_t, uint64_t);
bool __real__ZN8pagecast4Disk4readEjPvmmm(Disk *, unsigned, void *, uint64_t, uint64_t, uint64_t);
bool __real__ZN8pagecast4Disk5writeEjPKvmmm(Disk *, unsigned, const void *, uint64_t, uint64_t, uint64_t);
unsigned __real__ZN8pagecast4Disk11completionsEPNS0_10CompletionEj(Disk *, Disk::Completion *, unsigned);
void __real__ZN8pagecast4Disk4waitEm(Disk *, uint64_t);
int __real__ZN8pagecast2os9read_fileEiPvmm(int, void *, uint64_t, uint64_t);

bool __wrap__ZN8pagecast4Disk8allocateEjimmm(Disk *self, unsigned file, int mode, uint64_t offset, uint64_t bytes, uint64_t tag) {
  if (!reserving && !one_in(chances.reserve))
    return __real__ZN8pagecast4Disk8allocateEjimmm(self, file, mode, offset, bytes, tag);
  answer(tag, reserving ? reserving.load() : -ENOSPC);
  return true;
}

bool __wrap__ZN8pagecast4Disk4readEjPvmmm(Disk *self, unsigned file, void *to, uint64_t bytes, uint64_t offset, uint64_t tag) {
  ++reads;
  const bool bad = reading && offset < bad_end && offset + bytes > bad_begin;
  if (!bad && !(bytes > pagecast::os::page_size() && one_in(chances.read)))
    return __real__ZN8pagecast4Disk4readEjPvmmm(self, file, to, bytes, offset, tag);
  answer(tag, bad ? reading.load() : -EIO);
  return true;
}

bool __wrap__ZN8pagecast4Disk5writeEjPKvmmm(Disk *self, unsigned file, const void *from, uint64_t bytes, uint64_t offset,
                                            uint64_t tag) {
  ++writes;
  if (!writing && !one_in(chances.write)) return __real__ZN8pagecast4Disk5writeEjPKvmmm(self, file, from, bytes, offset, tag);
  answer(tag, writing ? writing.load() : -EIO);
  return true;
}

unsigned __wrap__ZN8pagecast4Disk11completionsEPNS0_10CompletionEj(Disk *self, Disk::Completion *out, unsigned most) {
  const uint64_t now = pagecast::os::now_ns();
  unsigned n = 0;
  for (size_t i = 0; i < held.size() && n < (most + 1) / 2;) {
    if (held[i].due > now || is_stalled(held[i].completion.tag)) {
      ++i;
      continue;
    }
    out[n++] = held[i].completion;
    held[i] = held.back();
    held.pop_back();
  }
  Disk::Completion real[64];
  const unsigned got = __real__ZN8pagecast4Disk11completionsEPNS0_10CompletionEj(self, real, most - n < 64 ? most - n : 64);
  for (unsigned i = 0; i < got; ++i) {
    const bool request = !(real[i].tag & Disk::kWatch);
    if (request && (is_stalled(real[i].tag) || one_in(chances.late))) held.push_back({real[i], now + dice() % 3000000});
    else out[n++] = real[i];
  }
  return n;
}

void __wrap__ZN8pagecast4Disk4waitEm(Disk *self, uint64_t timeout_ns) {
  const uint64_t most = 500000; // what is held becomes due
  __real__ZN8pagecast4Disk4waitEm(self, held.empty() || (timeout_ns && timeout_ns < most) ? timeout_ns : most);
}

int __wrap__ZN8pagecast2os9read_fileEiPvmm(int fd, void *to, uint64_t bytes, uint64_t offset) {
  while (waiting_stalled) usleep(1000);
  return __real__ZN8pagecast2os9read_fileEiPvmm(fd, to, bytes, offset);
}
}
