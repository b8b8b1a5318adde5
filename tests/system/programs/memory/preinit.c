// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocates before the C library is started, as sanitizers do: there is no environment yet, and what is read of it then must
// not count.
#include <stdio.h>
#include <stdlib.h>

static void *early;
static void allocate_early(void) { early = malloc(2 << 20); }
__attribute__((section(".preinit_array"), used)) static void (*const before)(void) = allocate_early;

int main(void) {
  const long n = 12l << 20;
  double *a = malloc(n * sizeof *a);
  for (long i = 0; i < n; i++) a[i] = i % 1000;
  double sum = 0;
  for (long i = 0; i < n; i++) sum += a[i];
  printf("%d %.17g\n", early != NULL, sum);
  free(a);
  free(early);
  return 0;
}
