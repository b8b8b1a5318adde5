// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that one iteration hands to the next: slices compute them in order, as the program does.
// RUN: %nests "%s" | %FileCheck "%s"

// The state of a generator that is in memory: kept in a register in the loop.
// CHECK-LABEL: nests of 'state_in_memory'
// CHECK: group 0: reads writes indirect element=4 [0, 4) base=%count indices=0
// CHECK-NOT: refused
static unsigned long state = 1;
static unsigned next_number(void) { return (state = state * 6364136223846793005 + 1442695040888963407) >> 33; }
void state_in_memory(unsigned *count, unsigned long cells, long n) {
  for (long i = 0; i < n; i++)
    count[next_number() % cells]++;
}

// Four words that take turns, and a rotation.
// CHECK-LABEL: nests of 'four_words'
// CHECK: group 0: reads writes indirect element=8 [0, 8) base=%a indices=0
// CHECK-NOT: refused
static unsigned long rotated(unsigned long x, int by) { return x << by | x >> (64 - by); }
void four_words(double *restrict a, unsigned long *restrict s, unsigned long mask, long n) {
  for (long i = 0; i < n; i++) {
    unsigned long result = rotated(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotated(s[3], 45);
    a[result & mask] += 1;
  }
}

// A rolling hash takes what is loaded in, and begins anew with each row.
// CHECK-LABEL: nests of 'words_of_rows'
// CHECK: group 0: reads index element=1 {{.*}} name=text
// CHECK-NEXT: group 1: reads writes indirect conditional element=1 [0, 1) base=%table indices=1
// CHECK-NOT: refused
void words_of_rows(unsigned char *restrict table, const unsigned char *restrict text, long rows, long columns) {
  for (long r = 0; r < rows; r++) {
    unsigned word = 0;
    for (long i = 0; i < columns; i++) {
      word = (word << 2 | (text[r * columns + i] >> 1 & 3)) & 0x3fffffff;
      if (i > 14)
        table[word]++;
    }
  }
}

// Where a letter is none of four, both words begin anew: a switch, and ways that meet.
// CHECK-LABEL: nests of 'words_with_gaps'
// CHECK: reads index element=1 {{.*}} name=text
// CHECK-NEXT: reads writes indirect conditional element=4 [0, 4) base=%seen indices=1
// CHECK-NOT: refused
void words_with_gaps(unsigned *restrict seen, const char *restrict text, long n) {
  unsigned long forward = 0, backward = 0, length = 0;
  for (long i = 0; i < n; i++) {
    unsigned long letter;
    switch (text[i]) {
    case 'A': letter = 0; break;
    case 'C': letter = 1; break;
    case 'G': letter = 2; break;
    case 'T': letter = 3; break;
    default: forward = backward = length = 0; continue;
    }
    forward = (forward << 2 | letter) & 0xffffffffff;
    backward = backward >> 2 | (3 - letter) << 38;
    if (++length >= 20) {
      unsigned long word = forward < backward ? forward : backward;
      unsigned long place = (word ^ word >> 19) * 0x9E3779B97F4A7C15 >> 36;
      if (seen[place] < 255)
        seen[place]++;
    }
  }
}
// Negative twin: one way has two values.
// CHECK-LABEL: nests of 'ways_that_differ'
// CHECK-NOT: indirect
// CHECK-LABEL: nests of 'goes_on'
void ways_that_differ(unsigned *restrict seen, const float *restrict x, unsigned state, long n) {
  for (long i = 0; i < n; i++) {
    if (x[i] > 0) {
      state = x[i] > 5 ? state * 3 : state >> 1;
      if (x[i] > 7)
        state ^= (unsigned)x[i];
    }
    seen[state % 1000]++;
  }
}

// One generator for both loops.
// CHECK: nest 0: loops=2
// CHECK: reads writes indirect element=8 [0, 8) base=%a indices=0
// CHECK-NOT: refused
void goes_on(double *restrict a, unsigned long x, unsigned long cells) {
  for (long r = 0; r < 1000; r++)
    for (long i = 0; i < 5000; i++) {
      x = x * 6364136223846793005 + 1442695040888963407;
      a[(x >> 20) % cells] += (double)(r + i);
    }
}

// Negative twin: the inner loop leaves it to something else.
// CHECK-LABEL: nests of 'goes_on_changed'
// CHECK: nest 0: loops=1
// CHECK: reads writes indirect element=8 [0, 8) base=%a indices=0
void goes_on_changed(double *restrict a, unsigned long x, unsigned long cells) {
  for (long r = 0; r < 1000; r++) {
    for (long i = 0; i < 5000; i++) {
      x = x * 6364136223846793005 + 1442695040888963407;
      a[(x >> 20) % cells] += (double)(r + i);
    }
    x ^= (unsigned long)r;
  }
}

// Negative twin: what is only counted up moves on evenly; faults foretell as much, and slices could not keep up with it.
// CHECK-LABEL: nests of 'kept'
// CHECK: group 0: reads element=8 {{.*}} name=a
// CHECK-NOT: group
// CHECK: refused LoopCarried
long kept(double *restrict b, const double *restrict a, long n) {
  long k = 0;
  for (long i = 0; i < n; i++) {
    b[k] = a[i];
    k += a[i] > 0;
  }
  return k;
}
// as are lengths that are added up, however far from each other the bytes of a length are.
// CHECK-LABEL: nests of 'lengths'
// CHECK: group 0: reads element=4 {{.*}} name=length
// CHECK-NOT: group
// CHECK: refused LoopCarried
long lengths(const char *restrict text, const unsigned *restrict length, long n) {
  long sum = 0, at = 0;
  for (long i = 0; i < n; i++) {
    sum += text[at];
    at += (length[i] << 4 ^ length[i] >> 3) & 0xff;
  }
  return sum;
}

// Negative twin: it goes where what is there says.
// CHECK-LABEL: nests of 'list'
// CHECK-NOT: group
// CHECK: refused LoopCarried
long list(const long *next, long x, long n) {
  for (long i = 0; i < n; i++)
    x = next[x] * 3 >> 1;
  return x;
}

// Negative twin: a condition on a generator is taken to hold. What depends on nothing else needs no steps in order.
// CHECK-LABEL: nests of 'now_and_then'
// CHECK: group 0: reads index conditional element=4 {{.*}} name=index
// CHECK-NEXT: group 1: reads writes indirect conditional element=8 {{.*}} indices=1 {{.*}} name=a
// CHECK-NOT: refused
void now_and_then(double *restrict a, const int *restrict index, unsigned x, long n) {
  for (long i = 0; i < n; i++) {
    x = x * 1103515245 + 12345;
    if (x >> 31)
      a[index[i]] += 1;
  }
}

// What is in memory, and stays there, for bytes may be stored anywhere: the program's one store an iteration changes it.
// CHECK-LABEL: nests of 'state_in_an_object'
// CHECK: group 0: reads writes indirect element=1 [0, 1) base=%speculated{{[0-9]*}} indices=0
// CHECK-NOT: refused
struct table {
  unsigned long state, cells;
  unsigned char *seen;
};
void state_in_an_object(struct table *t, long n) {
  for (long i = 0; i < n; i++) {
    t->state = t->state * 6364136223846793005 + 1442695040888963407;
    t->seen[(t->state >> 20) % t->cells]++;
  }
}
// Negative twin: now and then something else is stored,
// CHECK-LABEL: nests of 'state_of_two'
// CHECK-NOT: group
// CHECK-LABEL: nests of 'state_of_some'
void state_of_two(struct table *t, long n) {
  for (long i = 0; i < n; i++) {
    t->state = t->state * 6364136223846793005 + 1442695040888963407;
    if (t->seen[(t->state >> 20) % t->cells]++ == 7)
      t->state = 1;
  }
}
// or only now and then anything at all.
// CHECK-NOT: group {{.*}} base=%speculated
// CHECK-LABEL: nests of 'last'
void state_of_some(struct table *t, const unsigned *which, long n) {
  for (long i = 0; i < n; i++) {
    t->seen[(t->state >> 20) % t->cells]++;
    if (which[i] & 1)
      t->state = t->state * 6364136223846793005 + 1442695040888963407;
  }
}

void last(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i] += 1;
}
