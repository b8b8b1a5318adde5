// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counters of few bits come round again: no stride leads to where they do.
// RUN: %nests "%s" | %FileCheck "%s"

// Levels that take turns: in each step in time, a nest over one of them.
// CHECK-LABEL: nests of 'levels'
// CHECK-NEXT: nest 0: loops=2
// CHECK-NEXT: loop 0: {{.*}} backedges=1021
// CHECK: group 0: reads {{.*}} strides={4096, 8}
// CHECK: group 1: writes overwrites {{.*}} strides={4096, 8}
void levels(double u[][1024][512], int steps) {
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < 1023; i++)
      for (int j = 0; j < 512; j++) u[(t + 1) & 1][i][j] = u[t & 1][i - 1][j];
}

// In the loop where it is alone, the loops inside have what is to be hinted.
// CHECK-LABEL: nests of 'turns'
// CHECK-NEXT: nest 0: loops=1
// CHECK: group 0: writes overwrites element=8 [0, 8) base={{.*}} strides={8}
// CHECK-NOT: group
void turns(double u[][1 << 22], double *from, long n, int steps) {
  for (int t = 0; t < steps; t++)
    for (long i = 0; i < n; i++) u[t & 3][i] = (double)i;
}

// Less than a page away from its place it is as good as there: which cells of a row are red.
// CHECK-LABEL: nests of 'colours'
// CHECK-NEXT: nest 0: loops=2
// CHECK: group 0: reads writes element=8 [0, 8) base=((8 * (zext i1 (trunc i32 %colour to i1) to i64))<nuw><nsw> + %u) strides={8192, 16}
void colours(double u[][1024], unsigned colour) {
  for (unsigned i = 0; i < 4096; i++)
    for (unsigned j = 0; j < 511; j++) u[i][2 * j + ((i + colour) & 1)] += 1;
}

// Negative twin: a counter of a byte may be one that counts.
// CHECK-LABEL: nests of 'planes'
// CHECK-NEXT: nest 0: loops=2
// CHECK: group 0: {{.*}} strides={524288, 8}
void planes(double u[][1 << 16], unsigned char n) {
  for (unsigned char c = 0; c < 200; c++)
    for (long i = 0; i < 1 << 16; i++) u[c][i] += 1;
}
