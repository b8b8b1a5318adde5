// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of memcpy, memmove and memset that are nests by themselves: what programs call instead when the gate lets them
// through (compiler/emit/TransferCall.h). They are here and not in each program, which would grow by as much.
#include "nest_entry.h" // beside this file, which a fake runtime of the tests includes, too

#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void __pagecast_copy(char *to, const char *from, uint64_t bytes, const pagecast_nest *nest) {
  // Strips go upwards. Where that is not as good as any order, all is one piece, and no nest.
  if ((uint64_t)to - (uint64_t)from < bytes) {
    memmove(to, from, bytes);
    return;
  }
  const uint64_t words[PAGECAST_REGISTER_WORDS] = {(uint64_t)to, bytes, (uint64_t)from};
  const pagecast_opened opened = pagecast_do_enter(nest, words, __builtin_frame_address(0));
  for (uint64_t begin = 0, end = opened.count;;) {
    memmove(to + begin, from + begin, end - begin);
    begin = end;
    if (!opened.ticket || (end = pagecast_do_next(begin, bytes, opened.ticket)) == begin) return;
  }
}

EXPORTED void __pagecast_fill(char *to, unsigned char value, uint64_t bytes, const pagecast_nest *nest) {
  const uint64_t words[PAGECAST_REGISTER_WORDS] = {(uint64_t)to, bytes};
  const pagecast_opened opened = pagecast_do_enter(nest, words, __builtin_frame_address(0));
  for (uint64_t begin = 0, end = opened.count;;) {
    memset(to + begin, value, end - begin);
    begin = end;
    if (!opened.ticket || (end = pagecast_do_next(begin, bytes, opened.ticket)) == begin) return;
  }
}
