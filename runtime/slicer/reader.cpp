// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slicer/reader.h"

#include "runtime/state/guards.h"
#include "runtime/kernel/os.h"
#include "runtime/engine/engine.h"

namespace pagecast {

bool SliceReader::start(Engine &engine, bool waits) {
  engine_ = &engine;
  waits_ = waits;
  forget();
  if (!bytes_) bytes_ = static_cast<uint8_t *>(os::map_memory(kCopies * os::page_size(), false));
  return bytes_ != nullptr;
}

void SliceReader::forget() {
  copies_ = failures_ = 0;
  early_ = false;
  region_ = {}; // it may have gone
}

const uint8_t *SliceReader::readable(uint64_t page) {
  if (waits_) return copy(page); // which brings in what is absent, and survives what others unmap
  if (page - region_.base >= region_.bytes) {
    const Region r = engine_->look_up(page);
    if (r.bytes == 0) return copy(page);
    region_ = r;
  }
  if (guards.hold(page)) return nullptr; // the program does not read it either
  if (region_.kind == Region::kFile) return copy(page); // a file may be cut short by anybody: never where it is
  if (!engine_->ready(region_, page)) {
    early_ |= engine_->residency().test(page);
    return nullptr;
  }
  return reinterpret_cast<const uint8_t *>(page);
}

/// A page that is in no region. Remembered for this run, in the order of the asking: there are few.
const uint8_t *SliceReader::copy(uint64_t page) {
  for (unsigned i = copies_; i-- > 0;)
    if (page_of_[i] == page) return bytes_ + i * os::page_size();
  if (copies_ == kCopies || failures_ == kFailures) return nullptr;
  uint8_t *to = bytes_ + copies_ * os::page_size();
  if (!os::copy_memory(to, page, os::page_size())) return ++failures_, nullptr;
  page_of_[copies_++] = page;
  return to;
}

} // namespace pagecast
