// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop for the pass, and a call to the C API.
#include <pagecast/pagecast.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const size_t n = 100000;
  unsigned long *a = malloc(n * sizeof *a);
  if (!a)
    return 1;
  for (size_t i = 0; i < n; i++)
    a[i] = i;
  pagecast_prefetch(a, n * sizeof *a);
  unsigned long sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += a[i];
  printf("sum %lu, pagecast %s\n", sum, pagecast_version());
  free(a);
  return 0;
}
