// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that gather by an index, inside others: rows, if what they go over depends on the iteration around them, and sweeps if not.
// REQUIRES: llvm-19
// RUN: %nests "%s" | %FileCheck "%s"

struct Elements {
  int *begin, *end;
};

void look(const double *r);

// Time steps over a mesh, which nobody says is as long in the next one: each is a nest of its own, of one loop. As rows
// of one nest they would be steps of it, and a step more than memory.
// CHECK-LABEL: nests of 'time_steps'
// CHECK-NEXT: nest 0: loops=1 ticked=0 strips=1 bytes
// CHECK-NEXT: loop 0: {{.*}}sub.ptr.div
// CHECK-NEXT: group 0: reads element=8 {{.*}} strides={8} {{.*}} name=u
// CHECK-NEXT: group 1: reads index element=4 {{.*}} strides={4}
// CHECK-NEXT: group 2: reads writes indirect element=8 {{.*}} indices=1 {{.*}} name=r
// CHECK-NOT: {{nest|sliced}}
void time_steps(const struct Elements *mesh, double *r, const double *u, int steps) {
  for (int s = 0; s < steps; s++) {
    long n = mesh->end - mesh->begin;
    for (long e = 0; e < n; e++)
      r[mesh->begin[e]] += u[e];
    look(r);
  }
}

// Negative twin: the elements of each colour are others. These are rows.
// CHECK-LABEL: nests of 'colours'
// CHECK: nest {{[0-9]}}: loops=1 ticked=0 strips={{[01]}} sliced
// CHECK: writes indirect element=8 {{.*}} name=r
void colours(const struct Elements *mesh, double *r, const double *u, int colours) {
  for (int s = 0; s < colours; s++) {
    long n = mesh[s].end - mesh[s].begin;
    for (long e = 0; e < n; e++)
      r[mesh[s].begin[e]] += u[e];
    look(r);
  }
}

// Another: where they begin is computed from what is loaded for the step, two loads away.
// CHECK-LABEL: nests of 'schedule'
// CHECK: nest {{[0-9]}}: loops=1 ticked=0 strips={{[01]}} sliced
// CHECK: writes indirect element=8 {{.*}} name=r
void schedule(const struct Elements *mesh, const int *order, double *r, int steps) {
  for (int s = 0; s < steps; s++) {
    const struct Elements *now = mesh + order[s] / 2;
    long n = now->end - now->begin;
    for (long e = 0; e < n; e++)
      r[now->begin[e]] += 1;
    look(r);
  }
}
