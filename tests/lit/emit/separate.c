// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects made with the plugin link with others and without the runtime: statically, as an
// executable, and as a shared library.
// RUN: %pagecast-clang -O2 -fPIC -DPART=1 -c "%s" -o "%t.1.o"
// RUN: %pagecast-clang -O2 -fPIC -DPART=2 -c "%s" -o "%t.2.o"
// RUN: %clang -O2 -DPART=3 -c "%s" -o "%t.3.o"
// RUN: %clang "%t.1.o" "%t.2.o" "%t.3.o" -o "%t.exe" && "%t.exe"
// RUN: %clang -static "%t.1.o" "%t.2.o" "%t.3.o" -o "%t.static" && "%t.static"
// RUN: %clang -shared -Wl,-z,defs "%t.1.o" "%t.2.o" -o "%t.so"
// RUN: %clang "%t.3.o" "%t.so" -o "%t.dynamic" && "%t.dynamic"
long sum(const long *p, long n);
void fill(long *p, long n);
#if PART == 1
long sum(const long *p, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    s += p[i];
  return s;
}
#elif PART == 2
long large[1 << 18];
void fill(long *p, long n) {
  for (long i = 0; i < n; i++)
    p[i] = large[i & 1023] + i;
}
#else
int main(void) {
  static long data[1000];
  fill(data, 1000);
  return sum(data, 1000) == 999 * 1000 / 2 ? 0 : 1;
}
#endif
