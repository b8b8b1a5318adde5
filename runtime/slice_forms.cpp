// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One loop per width of the index. Its filter is that of pagecast_touch, with the fields in registers.
#include "runtime/slice_forms.h"

#include <cstring>

namespace pagecast {
namespace {

struct Row {
  uint64_t index; ///< address of the first index
  uint64_t step;  ///< bytes to the next
  uint64_t count;
};

template <typename Index> void run(const pagecast_form &form, uint64_t target, Row row, pagecast_touch &touch) {
  const uint64_t low = touch.low, size = touch.size, shift = touch.shift, scale = static_cast<uint64_t>(form.scale);
  const uint8_t *const map = touch.map;
  for (; row.count; --row.count, row.index += row.step) {
    Index value;
    std::memcpy(&value, reinterpret_cast<const void *>(row.index), sizeof value);
    // Signed ones are extended by the conversion.
    const uint64_t address = target + static_cast<uint64_t>(value) * scale;
    if (address - low < size) {
      const uint64_t page = address >> shift;
      if (__builtin_expect(!(map[page >> 3] >> (page & 7) & 1), 0)) touch.miss(&touch, address);
    }
  }
}

void run_one(const pagecast_form &form, uint64_t target, const Row &row, pagecast_touch &touch) {
  switch (form.width * 2 + (form.is_signed != 0)) {
  case 2: return run<uint8_t>(form, target, row, touch);
  case 3: return run<int8_t>(form, target, row, touch);
  case 4: return run<uint16_t>(form, target, row, touch);
  case 5: return run<int16_t>(form, target, row, touch);
  case 8: return run<uint32_t>(form, target, row, touch);
  case 9: return run<int32_t>(form, target, row, touch);
  case 16:
  case 17: return run<uint64_t>(form, target, row, touch);
  }
}

} // namespace

void run_forms(const pagecast_nest &d, const core::Shape &shape, const uint64_t *index, uint64_t first, uint64_t count,
               pagecast_touch *touch) {
  for (unsigned i = 0; i < d.forms; ++i) {
    const pagecast_form &form = d.form[i];
    const core::Group &from = shape.group[form.index_group];
    Row row{from.base + static_cast<uint64_t>(form.index_offset), 0, count};
    for (unsigned k = 0; k + 1 < d.loops; ++k) row.index += static_cast<uint64_t>(from.stride[k]) * index[k];
    row.step = static_cast<uint64_t>(from.stride[d.loops - 1]);
    row.index += row.step * first;
    run_one(form, shape.group[form.group].base + static_cast<uint64_t>(form.offset), row, touch[i]);
  }
}

} // namespace pagecast
