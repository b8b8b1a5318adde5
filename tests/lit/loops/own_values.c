// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A nest takes the program's own values, where it has them: the rows of the record that was read just now, and not those that a
// copy in front of the outer loop would say, before any was read. Its twin has no value of its own in front of its nest.
// RUN: %pagecast-clang -O2 -S -emit-llvm -fno-discard-value-names "%s" -o - | %FileCheck "%s"

struct record {
  long weight, from, to;
};
int take(struct record *);

// CHECK-LABEL: define{{.*}} @rows(
// CHECK-NOT: speculated = load
// CHECK: call {{.*}} @__pagecast_enter(
// CHECK-NOT: speculated = load
double rows(const double *a, long n) {
  double sum = 0;
  struct record r;
  while (take(&r))
    for (long k = 0; k < n; k++) sum += a[r.from * n + k] * a[r.to * n + k];
  return sum;
}

struct table {
  long width;
  double *cell;
} table;
void touch(double *);

// CHECK-LABEL: define{{.*}} @twin(
// CHECK: speculated = load
// CHECK: call {{.*}} @__pagecast_enter(
void twin(long n) {
  for (long i = 0; i < n; i++) touch(&table.cell[i]), table.cell[i] += 1;
}

void between(long);
int more(void);

// What was read last in front of the nest is the newest, and the same in each compilation.
// CHECK-LABEL: define{{.*}} @newest(
// CHECK: call void @between(
// CHECK: [[NEWEST:%[0-9]+]] = load i64
// CHECK: call {{.*}} @__pagecast_enter({{.*}}[[NEWEST]]{{[,)]}}
double newest(const struct record *r, const double *a, long n) {
  double sum = 0;
  while (more()) {
    between(r->from);
    const long row = r->from;
    for (long k = 0; k < n; k++) sum += a[row * n + k];
  }
  return sum;
}
