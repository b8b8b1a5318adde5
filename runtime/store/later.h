// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room for objects of which few are ever used. Each is made when it is asked for, so that the others take addresses, but no memory.
#pragma once
#include <new>

namespace pagecast {

template <typename T, unsigned kMost> class Later {
public:
  Later() {} // not `= default`: that would make zeros of the room
  Later(const Later &) = delete;
  ~Later() {
    for (unsigned i = 0; i < kMost; ++i)
      if (is_made(i)) at(i).~T();
  }
  /// The object of that number, below kMost; made the first time.
  T &make(unsigned number) {
    if (is_made(number)) return at(number);
    made_ |= 1u << number;
    return *new (room_ + number * sizeof(T)) T;
  }

private:
  static_assert(kMost <= 32);
  bool is_made(unsigned number) const { return made_ >> number & 1; }
  T &at(unsigned number) { return *std::launder(reinterpret_cast<T *>(room_ + number * sizeof(T))); }

  alignas(T) char room_[kMost * sizeof(T)];
  unsigned made_ = 0;
};

} // namespace pagecast
