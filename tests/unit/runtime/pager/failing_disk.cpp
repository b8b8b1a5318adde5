// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/runtime/pager/failing_disk.h"

#include "runtime/kernel/disk.h"
#include "runtime/store/preallocation.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/own_files.h"

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
struct Late {
  Disk::Completion completion;
  uint64_t at;
};
std::vector<Late> &late = *new std::vector<Late>; // the pager's thread outlives main

bool one_in(unsigned n) { return n && dice() % n == 0; }

bool is_stalled(uint64_t tag) { return stalled || (room_stalled && (tag & Preallocation::kTag)); }

void answer(uint64_t tag, int result) { late.push_back({{tag, result}, pagecast::os::now_ns()}); }

} // namespace

void at_random(const Chances &given) {
  chances = given;
  dice.seed(given.seed);
}

} // namespace failing

using namespace failing;

namespace pagecast {

bool Disk::allocate(unsigned file, int mode, uint64_t offset, uint64_t bytes, uint64_t tag) {
  if (!reserving && !one_in(chances.reserve)) return Uring::allocate(file, mode, offset, bytes, tag);
  answer(tag, reserving ? reserving.load() : -ENOSPC);
  return true;
}

bool Disk::read(unsigned file, void *to, uint64_t bytes, uint64_t offset, uint64_t tag) {
  ++reads;
  const bool bad = reading && offset < bad_end && offset + bytes > bad_begin;
  if (!bad && !(bytes > os::page_size() && one_in(chances.read))) return Uring::read(file, to, bytes, offset, tag);
  answer(tag, bad ? reading.load() : -EIO);
  return true;
}

bool Disk::write(unsigned file, const void *from, uint64_t bytes, uint64_t offset, uint64_t tag) {
  ++writes;
  if (!writing && !one_in(chances.write)) return Uring::write(file, from, bytes, offset, tag);
  answer(tag, writing ? writing.load() : -EIO);
  return true;
}

unsigned Disk::completions(Completion *out, unsigned most) {
  const uint64_t now = os::now_ns();
  unsigned n = 0;
  for (size_t i = 0; i < late.size() && n < (most + 1) / 2;) {
    if (late[i].at > now || is_stalled(late[i].completion.tag)) {
      ++i;
      continue;
    }
    out[n++] = late[i].completion;
    late[i] = late.back();
    late.pop_back();
  }
  Completion real[64];
  const unsigned got = Uring::completions(real, most - n < 64 ? most - n : 64);
  for (unsigned i = 0; i < got; ++i) {
    const bool request = !(real[i].tag & kWatch);
    if (request && (is_stalled(real[i].tag) || one_in(chances.late))) late.push_back({real[i], now + dice() % 3000000});
    else out[n++] = real[i];
  }
  return n;
}

void Disk::wait(uint64_t timeout_ns) {
  const uint64_t most = 500000; // what is late comes
  Uring::wait(late.empty() || (timeout_ns && timeout_ns < most) ? timeout_ns : most);
}

int os::read_file(int fd, void *to, uint64_t bytes, uint64_t offset) {
  while (waiting_stalled) usleep(1000);
  return read_at_once(fd, to, bytes, offset);
}

} // namespace pagecast
