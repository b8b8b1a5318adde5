// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of the variables that have a value, one is named that has no other and can be seen where the reference is: not the one that
// shrinks in the loop around, nor one of a block beside.
// RUN: %pagecast-clang -O2 -g -Rpass=pagecast -c "%s" -o "%t.o" 2>&1 | %FileCheck "%s"

// CHECK: names.c:[[@LINE+6]]:{{[0-9]+}}: remark: image read: strides {(4 * row), 4} bytes
long carved(const int *image, long width, long height) {
  long sum = 0;
  for (const long row = width; width > 0; width /= 2)
    for (long y = 0; y < height; y++)
      for (long x = 0; x < width; x++)
        sum += image[y * row + x];
  return sum;
}

// CHECK: names.c:[[@LINE+8]]:{{[0-9]+}}: remark: matrix read: strides {(8 * columns)} bytes
double down(const double *matrix, long rows, long *seen, long (*measure)(void)) {
  const long columns = measure();
  {
    const long beside = columns;
    *seen = beside;
  }
  double sum = 0;
  for (long i = 0; i < rows; i++) sum += matrix[i * columns];
  return sum;
}
