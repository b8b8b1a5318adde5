// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses of the inner nest are counters of the outermost loop that begin by the number of turns, which the loop between them loads
// each time. Such a counter has one beginning, so that a copy in front of all loops stays in it, and no own value takes its place:
// the loop between is not over where the counter begins.
// RUN: %pagecast-clang -O3 -S -emit-llvm "%s" -o - | %pagecast-opt -passes=verify -o - | %FileCheck "%s"
// CHECK: call {{.*}} @__pagecast_enter(
typedef unsigned short word __attribute__((may_alias, aligned(1)));
unsigned short *cells;
unsigned *weights;
long times;
volatile long zero;

static unsigned long turns(unsigned *weight, word *place, long *times, unsigned long n) {
  unsigned long sum = 34, y = 1;
  double x = 1;
  for (int i = 1; i + 1 <= (long)n; i++) {
    for (unsigned j = 1; j < n; j++) {
      for (long k = *times - 1; k >= 5; k -= 2) {
        for (int l = (int)((long)n - 1); l >= 1; l -= 1) {
          cells[(long)l * -1 + k * 2 + (long)j * 107316] =
              (unsigned short)(cells[(long)l * -1 + k * 2 + (long)j * 107316] - (unsigned long)k);
          if ((long)weight[l + k * -1 + (long)j * 53665 + (long)i * 748165] > 45) {
            if ((double)((unsigned long)place[l + k + (long)j + (long)i * 872968] & 1023) > x) {
              place[l + k + (long)j + (long)i * 872968 + 310361] =
                  (word)((cells[(long)l * -1 + k * 2 + (long)j * 107316 + 3] | place[l + (long)i * 4 + (long)j + 1132691]) *
                         ((unsigned long)weight[l + k * -1 + (long)j * 53665 + (long)i * 748165 - 25503] >> 19));
            }
          }
        }
      }
      place[(long)j + (long)i * 872968] = (word)(y - (unsigned long)i);
    }
  }
  return sum ^ y ^ (unsigned long)(long)x;
}

int main(void) {
  times = zero + 53663;
  return (int)turns(weights, (word *)((char *)cells + 16), &times, (unsigned long)zero);
}
