// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A binary search, to be inlined: the first place of m in the ascending `a` where there is no less than `key`.
#define LOWER_BOUND(name, type)                                                                                                  \
  static inline long name(const type *a, long m, type key) {                                                                     \
    long from = 0, to = m;                                                                                                       \
    while (from < to) {                                                                                                          \
      long middle = from + (to - from) / 2;                                                                                      \
      if (a[middle] < key) from = middle + 1;                                                                                    \
      else to = middle;                                                                                                          \
    }                                                                                                                            \
    return from;                                                                                                                 \
  }
