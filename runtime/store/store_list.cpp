// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/store_list.h"

#include "runtime/kernel/own_files.h"

#include <cstring>

namespace pagecast {

bool StoreList::read(const char *option) {
  count_ = 1;
  part_[0] = nullptr;
  if (!option) return true;
  const size_t length = strlen(option);
  if (length >= sizeof text_) return false;
  memcpy(text_, option, length + 1);
  part_[0] = text_;
  os::DirectoryFacts facts;
  if (!strchr(text_, ',') || os::directory_facts(option, &facts) == 0) return true;
  count_ = 0;
  for (char *rest = text_, *part; (part = strsep(&rest, ","));) {
    if (!*part) continue;
    if (count_ == Stripes::kMost) return false;
    part_[count_++] = part;
  }
  return count_ != 0;
}

void StoreList::drop(unsigned i) {
  for (--count_; i < count_; ++i) part_[i] = part_[i + 1];
}

} // namespace pagecast
