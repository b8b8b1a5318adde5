// Gaussian elimination of the first rows, each with a search for its pivot: what one of them leaves to be done is the whole
// matrix, more than memory.
#include <stdio.h>

#define N 2200

static double a[N][N];

int main(int argc, char **argv) {
  (void)argv;
  const long steps = argc + 4; // not known to the compiler
  for (long j = 0; j < N; j++)
    for (long i = 0; i < N; i++) a[j][i] = (i * j + 3 * i + j) % 37 - 18.0;
  for (long k = 0; k < steps; k++) {
    long pivot = k;
    for (long i = k + 1; i < N; i++)
      if (a[k][i] > a[k][pivot]) pivot = i;
    const double scale = 1 / a[k][pivot];
    for (long i = k; i < N; i++) a[k][i] *= scale;
    for (long j = k + 1; j < N; j++) {
      const double s = a[j][pivot];
      for (long i = k; i < N; i++) a[j][i] -= s * a[k][i];
    }
  }
  double sum = 0;
  for (long j = 0; j < N; j++)
    for (long i = 0; i < N; i++) sum += a[j][i] * (i + j);
  printf("%a\n", sum);
  return 0;
}
