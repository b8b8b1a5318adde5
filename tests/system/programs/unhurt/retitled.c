// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shows a state in the place of its name, as servers do: their words and the environment behind them make room for it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

int main(int argc, char **argv) {
  char **last = environ;
  while (last[1]) ++last;
  char *end = *last + strlen(*last), *first = argv[0];
  environ = argv + argc; // which is empty
  memset(first, 'x', (size_t)(end - first));

  const size_t n = 48 << 20;
  unsigned char *data = malloc(n);
  for (size_t i = 0; i < n; i++) data[i] = (unsigned char)(i * 7);
  unsigned long sum = 0;
  for (size_t i = 0; i < n; i++) sum += data[i];
  printf("%lu\n", sum);
}
