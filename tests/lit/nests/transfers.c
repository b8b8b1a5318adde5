// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of memcpy, memmove and memset are loops of bytes; next to each kind a twin that is none.
// RUN: %nests "%s" | %FileCheck "%s"
#include <stddef.h>
#include <string.h>

// CHECK-LABEL: nests of 'set'
// CHECK: nest 0: loops=1 ticked=0 strips=1 bytes=1
// CHECK-NEXT: backedges=(-1 + %n)
// CHECK-NEXT: group 0: writes overwrites element=1 [0, 1) base=%p strides={1} {{.*}}leading=[[@LINE+1]]:{{.*}}name=p
void set(char *p, size_t n) { memset(p, 3, n); }

// CHECK-LABEL: nests of 'copy'
// CHECK: group 0: reads element=1 [0, 1) base=%q strides={1} {{.*}}name=q
// CHECK-NEXT: group 1: writes overwrites element=1 [0, 1) base=%p strides={1} {{.*}}name=p
void copy(char *p, const char *q, size_t n) { memcpy(p, q, n); }

// CHECK-LABEL: nests of 'move'
// CHECK: nest 0: loops=1 ticked=0 strips=1 bytes=1
void move(char *p, const char *q, size_t n) { memmove(p, q, n); }

// What a loop was turned into by LLVM.
// CHECK-LABEL: nests of 'idiom'
// CHECK: backedges=(-1 + (8 * %n))
// CHECK-NEXT: group 0: writes overwrites {{.*}}name=a
void idiom(double *a, long n) {
  for (long i = 0; i < n; i++) a[i] = 0;
}

// A constant length, if it is large.
// CHECK-LABEL: nests of 'constant'
// CHECK: backedges=999999
// CHECK-LABEL: nests of 'small'
// CHECK-NOT: nest
// CHECK-LABEL: nests of 'few'
// CHECK-NOT: nest
// CHECK-LABEL: nests of 'inlined'
// CHECK-NOT: nest
// CHECK-LABEL: nests of 'local'
// CHECK-NOT: nest 0
// CHECK-LABEL: nests of 'tidied'
void constant(char *p) { memset(p, 0, 1000000); }
void small(char *p) { memset(p, 0, 60000); }
void few(char *p, const char *q, unsigned short n) { memcpy(p, q, n); }
void inlined(char *p, const char *q) { __builtin_memcpy_inline(p, q, 100000); }
void use(char *);
void local(size_t n) {
  char buffer[4000];
  memset(buffer, 1, n);
  use(buffer);
}

// Volatile.
// CHECK-NOT: nest 0
// CHECK-LABEL: nests of 'rows'
struct large {
  char bytes[1000000];
};
void tidied(volatile struct large *p, struct large *q) { *p = *q; }

// A row in each iteration belongs to the loop around.
// CHECK: nest 0: loops=2 ticked=1 strips=1 bytes=1
// CHECK: group 0: reads {{.*}}base=((%m * %n) + %q) strides={(-1 * %n), 1}
// CHECK-NEXT: group 1: writes overwrites {{.*}}base=%p strides={%n, 1}
void rows(char *p, const char *q, long m, size_t n) {
  for (long r = 0; r < m; r++) memcpy(p + r * n, q + (m - r) * n, n);
}

// Strips of memmove go upwards: so the distance must be the same in all rows, else rows are steps.
// CHECK-LABEL: nests of 'moved_rows'
// CHECK: nest 0: loops=2 ticked=1 strips=1 bytes=1
// CHECK-LABEL: nests of 'moved_rows_backwards'
// CHECK: nest 0: loops=2 ticked=0 strips=0 bytes=1
void moved_rows(char *p, const char *q, long m, size_t n) {
  for (long r = 0; r < m; r++) memmove(p + r * n, q + r * n, n);
}
void moved_rows_backwards(char *p, const char *q, long m, size_t n) {
  for (long r = 0; r < m; r++) memmove(p + r * n, q + (m - r) * n, n);
}

// Rows anywhere, of any length.
// CHECK-LABEL: nests of 'gather'
// CHECK: nest 0: loops=1 ticked=0 strips=1 sliced
// CHECK: reads index {{.*}}name=from
// CHECK: reads indirect element=1 {{.*}}range=1
void gather(char *p, const char *q, const int *from, const int *bytes, long m) {
  for (long r = 0; r < m; r++) memcpy(p + r * 1000, q + from[r] * 1000l, bytes[r]);
}

// Where the loop around would lose what it is hinted itself, it keeps that, and the call has nothing.
// CHECK-LABEL: nests of 'keeps'
// CHECK: nest 0: loops=1
// CHECK: reads {{.*}}name=length
// CHECK-NOT: nest 1
// CHECK-LABEL: nests of 'last'
size_t hash(size_t) __attribute__((const));
void keeps(char *p, const char *q, const long *length, long m) {
  for (long r = 0; r < m; r++) {
    size_t n = hash(length[r]);
    memcpy(p, q, n);
    p += n;
  }
}
void last(void) {}
