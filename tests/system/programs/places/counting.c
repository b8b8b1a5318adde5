// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words here and there in 72 MiB are loaded, and with an argument also stored to, as counts by key are.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  (void)argv;
  const uint64_t n = (72u << 20) / sizeof(uint64_t);
  uint64_t *a = malloc(n * sizeof *a), place = 1, sum = 0;
  if (!a) return 1;
  for (uint64_t i = 0; i < n; i++) a[i] = i;
  for (int i = 0; i < 8000; i++) {
    place = place * 6364136223846793005u + 1442695040888963407u;
    uint64_t *at = &a[(place >> 20) % n], before = *at;
    sum += before;
    if (argc > 1) *at = before + 1;
  }
  for (uint64_t i = 0; i < n; i++) sum = sum * 31 + a[i];
  printf("%llx\n", (unsigned long long)sum);
  return 0;
}
