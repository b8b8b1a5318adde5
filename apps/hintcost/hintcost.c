// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HINTCOST: what a hint costs that nothing comes of, since its page is in memory, as most hints find it. Prints
// nanoseconds a call, once for each of five turns. Run with less memory than 64 MiB, else nothing is paged:
//
//   pagecast run --memory 32M -- hintcost
#include "../common.h"

#include <pagecast/pagecast.h>

enum { PAGE = 4096, BYTES = 64 << 20, HOT = 1 << 20, TURNS = 5, CALLS = 50 * 1000 * 1000 };

int main(void) {
  char *data = (char *)allocate(BYTES, 1);
  for (size_t i = 0; i < BYTES; i++) data[i] = (char)i;
  volatile char *hot = data + BYTES - 2 * HOT;
  for (int turn = 0; turn < TURNS; turn++) {
    for (size_t at = 0; at < HOT; at += PAGE) (void)hot[at]; // it is in memory
    const double begin = now();
    for (unsigned i = 0; i < CALLS; i++) pagecast_prefetch((const char *)hot + i % (HOT / PAGE) * PAGE, 64);
    printf("%.2f ns\n", (now() - begin) * 1e9 / CALLS);
  }
  return pagecast_active() ? 0 : 2;
}
