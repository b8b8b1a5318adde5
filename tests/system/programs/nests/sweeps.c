// One array, swept once for each line of the input: "w" stores to all of it, "r" only reads. The test sets the pace.
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  const long n = (argc > 1 ? atol(argv[1]) : 64) * (1l << 17);
  unsigned long *data = malloc(n * sizeof *data);
  if (!data) return 1;
  for (long i = 0; i < n; i++) data[i] = i;
  puts("filled");
  fflush(stdout);
  char line[16];
  while (fgets(line, sizeof line, stdin)) {
    unsigned long sum = 0;
    if (line[0] == 'w')
      for (long i = 0; i < n; i++) data[i] = data[i] * 5 + 1;
    else
      for (long i = 0; i < n; i++) sum += data[i];
    printf("%c %lx\n", line[0], sum);
    fflush(stdout);
  }
  unsigned long sum = 0;
  for (long i = 0; i < n; i++) sum = sum * 31 + data[i];
  printf("%lx\n", sum);
  return 0;
}
