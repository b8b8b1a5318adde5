// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/profile/data_sets.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"

namespace pagecast::profile {

bool DataSets::start(uint64_t least_bytes) {
  least_bytes_ = least_bytes;
  sets_ = static_cast<DataSet *>(os::reserve(kMostDataSets * sizeof(DataSet)));
  mapped_ = static_cast<Mapped *>(os::reserve(kMostMapped * sizeof(Mapped)));
  return sets_ && mapped_;
}

uint32_t DataSets::of(int fd) {
  os::NamedFile file;
  if (!os::named_file(fd, &file)) return kNoDataSet;
  for (uint32_t i = 0; i < count_; ++i)
    if (sets_[i].inode == file.inode && sets_[i].device == file.device) return i;
  if (file.bytes < least_bytes_ || count_ == kMostDataSets) return kNoDataSet;
  DataSet &set = sets_[count_];
  if (!os::path_of(fd, set.path, sizeof set.path)) return kNoDataSet;
  set.device = file.device;
  set.inode = file.inode;
  set.bytes = file.bytes;
  return count_++;
}

void DataSets::map(uint64_t begin, uint64_t end, uint64_t offset, uint32_t data_set) {
  unmap(begin, end);
  if (mapped_count_ < kMostMapped) mapped_[mapped_count_++] = {begin, end, offset, data_set};
}

void DataSets::unmap(uint64_t begin, uint64_t end) {
  for (uint32_t i = 0; i < mapped_count_;) {
    Mapped &m = mapped_[i];
    if (m.end <= begin || m.begin >= end) {
      ++i;
      continue;
    }
    const Mapped whole = m;
    m = mapped_[--mapped_count_];
    if (whole.begin < begin) mapped_[mapped_count_++] = {whole.begin, begin, whole.offset, whole.data_set};
    if (whole.end > end && mapped_count_ < kMostMapped)
      mapped_[mapped_count_++] = {end, whole.end, whole.offset + (end - whole.begin), whole.data_set};
    if (whole.begin < begin || whole.end > end) i = 0; // what was put at the end does not overlap any more
  }
}

void DataSets::move(uint64_t begin, uint64_t end, uint64_t to, uint64_t bytes) {
  const Mapped *found = find(begin, begin, begin + 1);
  if (!found) return;
  const Mapped m = *found;
  unmap(begin, end);
  map(to, to + bytes, m.offset + (begin - m.begin), m.data_set);
}

const Mapped *DataSets::find(uint64_t at, uint64_t begin, uint64_t end) const {
  const Mapped *found = nullptr;
  for (uint32_t i = 0; i < mapped_count_; ++i) {
    const Mapped &m = mapped_[i];
    if (at >= m.begin && at < m.end) return &m;
    if (m.begin < end && begin < m.end) found = &m;
  }
  return found;
}

} // namespace pagecast::profile
