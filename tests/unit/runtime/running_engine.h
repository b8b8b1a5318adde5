// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pager for a test: one a process.
#pragma once
#include "runtime/engine/engine.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace pagecast {

inline constexpr uint64_t kBudget = 24u << 20;
inline Options test_options;
inline uint64_t test_budget = kBudget;
inline Engine engine;
inline bool engine_started = false;

/// Skips where the kernel or the privilege lacks; else a running pager.
#define START_ENGINE(policy)                                                                          \
  do {                                                                                                \
    ASSERT_FALSE(engine_started) << "one test a process: use ctest, or a filter for one";             \
    engine_started = true;                                                                            \
    test_options.release = policy;                                                                    \
    const os::Support support = os::find_support();                                                   \
    if (support.missing) GTEST_SKIP() << support.missing;                                             \
    char why[400];                                                                                    \
    ASSERT_EQ(engine.prepare(test_options, test_budget, test_budget * 4, why, sizeof why), 0) << why; \
    ASSERT_EQ(os::start_thread("pager", [] { engine.run(); }), 0);                                    \
    ASSERT_EQ(engine.wait_started(), 0);                                                              \
  } while (0)

inline char *map(uint64_t bytes) {
  return static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

inline uint64_t address(const volatile char *p) { return reinterpret_cast<uint64_t>(p); }

inline void expect_valid() {
  const char *why = "";
  EXPECT_TRUE(engine.is_valid(&why)) << why;
}

/// Faults so far, when the pager has seen to all of them.
inline uint64_t settled_fault_events() {
  expect_valid();
  return engine.statistics.fault_events;
}

} // namespace pagecast
