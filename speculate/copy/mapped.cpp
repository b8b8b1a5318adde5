// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that are read through mappings. In a copy they are unreadable at first, and each first touch of a part ends here, in the
// handler of SIGSEGV: what is in memory becomes readable, what is not is hinted and reads as zeros from then on.
//
//   mapping    |----- unreadable -----|== in memory: the file ==|.. not: hinted, zeros ..|----- unreadable -----|
//
// Parts are 64 KiB, which is what the kernel maps around a fault of the original, and less than what it would read.
#include "speculate/copy/state.h"

namespace pagecast::speculate {
namespace {

constexpr uint64_t kPart = 64 << 10, kPage = 4096; ///< bytes
constexpr long kReadable = 1, kPrivate = 2, kFixed = 16, kAnonymous = 32, kNoReserve = 0x4000;
constexpr int kSigSegv = 11, kNotAllowed = 2; ///< SEGV_ACCERR

struct Part {
  uint64_t begin, end;
};

Mapped *mapped_at(uint64_t address) {
  for (unsigned i = 0; i < state.mapped; i++)
    if (address >= state.maps[i].begin && address < state.maps[i].end) return &state.maps[i];
  return nullptr;
}

/// The pages around `page` in its part that are as it is: in memory, or not. False: the kernel does not tell.
bool find_part(const Mapped &map, uint64_t page, Part *part, bool *in_memory) {
  uint8_t pages[kPart / kPage];
  const uint64_t at = page & ~(kPart - 1), begin = at < map.begin ? map.begin : at,
                 end = at + kPart < map.end ? at + kPart : map.end;
  if (call(__NR_mincore, begin, end - begin, pages)) return false;
  const auto is_in = [&](uint64_t of) { return (pages[(of - begin) / kPage] & 1) != 0; };
  *in_memory = is_in(page);
  part->begin = part->end = page;
  while (part->begin > begin && is_in(part->begin - kPage) == *in_memory) part->begin -= kPage;
  while (part->end < end && is_in(part->end) == *in_memory) part->end += kPage;
  return true;
}

bool make_readable(const Part &part) { return call(__NR_mprotect, part.begin, part.end - part.begin, kReadable) == 0; }

bool make_zeros(const Part &part) {
  return call6(__NR_mmap, static_cast<long>(part.begin), static_cast<long>(part.end - part.begin), kReadable,
               kPrivate | kFixed | kAnonymous | kNoReserve, -1, 0) >= 0;
}

bool is_waited_for(Mapped &map) {
  const uint32_t careful = __atomic_load_n(&state.channel->careful, __ATOMIC_RELAXED);
  const bool first = !map.touched;
  map.touched = true;
  return careful > 1 || (careful == 1 && first);
}

/// The program has touched this page. False: it may not.
bool touch(uint64_t page) {
  Mapped *const map = mapped_at(page);
  if (!map) return false;
  Channel &channel = *state.channel;
  if (__atomic_load_n(&channel.stop, __ATOMIC_RELAXED)) end(Ended::kNot, 0);
  channel.reads++;
  wait_for_original();
  Part part = {map->begin, map->end};
  bool in_memory = true;
  if (!find_part(*map, page, &part, &in_memory)) return make_readable(part);
  channel.position += part.end - part.begin;
  if (in_memory) {
    channel.answered_reads++;
    map->touched = true;
    return make_readable(part);
  }
  if (is_waited_for(*map)) {
    channel.waited_reads++;
    return make_readable(part);
  }
  channel.hinted_reads++;
  give_hint(HintKind::kRange, map->path, map->device, map->inode, map->offset + (part.begin - map->begin), part.end - part.begin);
  return make_zeros(part); // fails where there are too many parts already
}

/// The program's own handler, if it has one: it runs on this stack.
void pass_on(int number, const char *info, void *context) {
  const uint64_t handler = state.fault_action[0];
  if (handler <= 1) end(Ended::kNot, 0); // the default, or ignored
  reinterpret_cast<void (*)(int, const char *, void *)>(handler)(number, info, context);
}

} // namespace

void look_after(const Mapped &map) {
  unsigned at = 0;
  for (unsigned i = 0; i < state.mapped; i++) // what it takes the place of is gone
    if (state.maps[i].end <= map.begin || state.maps[i].begin >= map.end) state.maps[at++] = state.maps[i];
  state.mapped = at;
  if (at == kMaxMapped || call(__NR_mprotect, map.begin, map.end - map.begin, 0L)) return;
  state.maps[state.mapped++] = map;
}

void touch_all(const char *from, int64_t length) {
  const uint64_t begin = reinterpret_cast<uint64_t>(from), end = begin + static_cast<uint64_t>(length);
  for (uint64_t at = begin; state.mapped && at < end; at = (at & ~(kPart - 1)) + kPart) {
    if (!mapped_at(at)) continue;
    const char byte = *reinterpret_cast<const volatile char *>(at);
    (void)byte;
  }
}

long change_action(int number, const uint64_t *fresh, uint64_t *old, long mask_bytes) {
  if (number != kSigSegv || mask_bytes != 8) return -kInvalid;
  uint64_t before[4];
  memcpy(before, state.fault_action, sizeof before);
  if (fresh) memcpy(state.fault_action, fresh, sizeof before);
  if (old) memcpy(old, before, sizeof before);
  return 0;
}

extern "C" __attribute__((used)) void pagecast_fault(int number, const char *info, void *context) {
  constexpr int kCode = 8, kAddress = 16; // si_code, si_addr
  const int code = *reinterpret_cast<const int *>(info + kCode);
  const uint64_t page = *reinterpret_cast<const uint64_t *>(info + kAddress) & ~(kPage - 1);
  if (code != kNotAllowed || !touch(page)) pass_on(number, info, context);
}

} // namespace pagecast::speculate
