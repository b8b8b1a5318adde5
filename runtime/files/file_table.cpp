// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/file_table.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"

#include <algorithm>

namespace pagecast {

bool FileTable::start(const Options &given, core::ResidencyMap &map, Statistics &all, uint64_t budget) {
  options = &given;
  residency = &map;
  statistics = &all;
  shift = os::page_shift();
  memory_bytes = budget;
  return regions.start();
}

void FileTable::forked() {
  lock.release();
  unmapping.release();
  for (unsigned i = 0; i < regions.count(); ++i) regions[i].twin = 0; // no child gets them
}

FileRegion FileTable::at_or_after(uint64_t address) {
  if (!any()) return {};
  Guard guard(lock);
  const FileRegion *r = regions.at_or_after(address);
  return r ? *r : FileRegion{};
}

FileRegion FileTable::look_up(uint64_t address) {
  if (!any()) return {};
  Guard guard(lock);
  const FileRegion *r = regions.find(address);
  return r ? *r : FileRegion{};
}

bool FileTable::insert(const FileRegion &region) {
  Guard guard(lock);
  if (!regions.insert(region)) return false;
  count.store(regions.count(), std::memory_order_relaxed);
  residency->clear({region.base, region.end()});
  return true;
}

void FileTable::cut(uint64_t begin, uint64_t end) {
  Guard guard(lock);
  uint64_t gone = 0;
  for (FileRegion *r = regions.at_or_after(begin); r && r->base < end; ++r) {
    gone += std::min(end, r->end()) - std::max(begin, r->base);
    if (r == &regions[regions.count() - 1]) break;
  }
  regions.cut(begin, end, shift);
  count.store(regions.count(), std::memory_order_relaxed);
  residency->clear({begin, end});
  bytes -= gone;
}

void FileTable::expect_scattered(uint64_t base, uint64_t bytes, bool scattered) {
  ++statistics->files.patterns;
  os::expect_scattered(base, bytes, scattered);
}

} // namespace pagecast
