// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// blocks MIB COUNT ROUNDS: fills so much memory in so many blocks, and goes over it so often. What it prints does not depend on COUNT.
#include <stdio.h>
#include <stdlib.h>

static unsigned long *block[16];

int main(int argc, char **argv) {
  unsigned long sum = 0;
  const int count = atoi(argv[2]), rounds = atoi(argv[3]);
  const unsigned long words = (atol(argv[1]) << 17) / count;
  for (int b = 0; b < count; ++b) {
    block[b] = malloc(words * sizeof(long));
    for (unsigned long i = 0; i < words; ++i) block[b][i] = (b * words + i) * 2654435761u;
  }
  for (int round = 0; round < rounds; ++round)
    for (int b = 0; b < count; ++b)
      for (unsigned long i = 0; i < words; ++i) sum = sum * 31 + block[b][i];
  printf("%lx\n", sum);
}
