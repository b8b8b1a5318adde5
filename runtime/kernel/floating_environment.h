// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The default environment of floating-point arithmetic, for as long as this lives: nothing traps, and the program sees
// no flag that slices raise. They compute with numbers that may be anything, and a program that has division by zero
// trapped hands that on to the threads that it starts. Cost: a few ns.
#pragma once
#include <cstdint>

namespace pagecast {

class DefaultFloating {
public:
#if defined(__x86_64__)
  DefaultFloating() : before_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(0x1f80); }
  ~DefaultFloating() { __builtin_ia32_ldmxcsr(before_); }
#elif defined(__aarch64__)
  DefaultFloating() {
    asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(before_), "=r"(flags_));
    asm volatile("msr fpcr, xzr");
  }
  ~DefaultFloating() { asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(before_), "r"(flags_)); }
#else
  DefaultFloating() {}
  ~DefaultFloating() {}
#endif
  DefaultFloating(const DefaultFloating &) = delete;

private:
#if defined(__x86_64__)
  uint32_t before_;
#elif defined(__aarch64__)
  uint64_t before_, flags_;
#endif
};

} // namespace pagecast
