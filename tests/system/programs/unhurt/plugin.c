// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads and unloads a copy of itself, with a large global in it; what is mapped there afterwards is left alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kN = 2 << 20 };
uint64_t table[kN];

__attribute__((visibility("default"))) uint64_t *work(uint64_t seed) {
  for (size_t i = 0; i < kN; i++) table[i] += i * seed;
  return table;
}

#ifndef PLUGIN
int main(int argc, char **argv) {
  uint64_t h = 0, *data = malloc((size_t)kN * 24);
  if (argc < 2 || !data) return 1;
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < (size_t)kN * 3; i++) data[i] = i + (size_t)round;
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    uint64_t *(*there)(uint64_t) = plugin ? (uint64_t *(*)(uint64_t))dlsym(plugin, "work") : NULL;
    if (!there) return fprintf(stderr, "%s\n", dlerror()), 1;
    uint64_t *its = there(3);
    for (size_t i = 0; i < kN; i++) h = h * 31 + its[i];
    char *place = (char *)(((uintptr_t)its + 4095) & ~(uintptr_t)4095);
    dlclose(plugin);
    // Many small mappings, the pager not being told of them.
    char *p = mmap(place, 512 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return 1;
    memset(p, round + 1, 512 << 10);
    for (size_t i = 0; i < (size_t)kN * 3; i++) h = h * 31 + data[i];
    work((uint64_t)round);
    for (size_t i = 0; i < 512 << 10; i++) h = h * 31 + (unsigned char)p[i];
    munmap(p, 512 << 10);
  }
  printf("%016llx\n", (unsigned long long)h);
  return 0;
}
#endif
