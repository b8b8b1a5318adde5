// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/workload.h"

namespace pagecast::simulator {

namespace {

core::Group array(unsigned number, uint32_t element) {
  core::Group g;
  g.reads = true;
  g.element = element;
  g.hi = element;
  g.base = kArrays + number * kArrayBytes;
  return g;
}

} // namespace

core::Shape rows(uint64_t rows, uint64_t columns, bool sequential) {
  core::Shape s;
  s.loops = 2;
  s.ticked = 1;
  s.groups = 1;
  s.trips[0] = rows;
  s.trips[1] = columns;
  s.group[0] = array(0, 8);
  s.group[0].stride[0] = int64_t(columns * 8 * (sequential ? 1 : 10));
  s.group[0].stride[1] = 8;
  return s;
}

core::Shape sweeps(uint64_t sweeps, uint64_t pages, uint64_t page) {
  core::Shape s = rows(sweeps, pages * page / 8, true);
  s.group[0].stride[0] = 0;
  s.strips = true;
  return s;
}

core::Shape matvec(uint64_t times, uint64_t rows, uint64_t columns) {
  core::Shape s;
  s.loops = 3;
  s.ticked = 2;
  s.strips = true;
  s.groups = 3;
  s.trips[0] = times;
  s.trips[1] = rows;
  s.trips[2] = columns;
  for (unsigned g = 0; g < 3; ++g) s.group[g] = array(g, 4);
  s.group[0].stride[1] = int64_t(columns * 4);
  s.group[0].stride[2] = s.group[1].stride[2] = s.group[2].stride[1] = 4;
  s.group[2].writes = true;
  return s;
}

core::Shape columns(uint64_t rows, uint64_t columns) {
  core::Shape s;
  s.loops = 2;
  s.ticked = 1;
  s.strips = true;
  s.groups = 1;
  s.trips[0] = columns;
  s.trips[1] = rows;
  s.group[0] = array(0, 8);
  s.group[0].stride[0] = 8;
  s.group[0].stride[1] = int64_t(columns * 8);
  return s;
}

Walker::Walker(const core::Shape &s) : shape_(s), done_(s.loops == 0) {
  for (unsigned k = 0; k < s.loops; ++k) done_ |= s.trips[k] == 0;
  for (unsigned g = 0; g < s.groups; ++g) address_[g] = s.group[g].base + uint64_t(s.group[g].lo);
}

void Walker::next() {
  for (unsigned k = shape_.loops; k-- > 0;) {
    changed_ = k;
    if (++index_[k] < shape_.trips[k]) {
      for (unsigned g = 0; g < shape_.groups; ++g) address_[g] += uint64_t(shape_.group[g].stride[k]);
      return;
    }
    for (unsigned g = 0; g < shape_.groups; ++g) address_[g] -= uint64_t(shape_.group[g].stride[k]) * (shape_.trips[k] - 1);
    index_[k] = 0;
  }
  done_ = true;
}

} // namespace pagecast::simulator
