// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/file_systems.h"

#include <cstring>

namespace pagecast {

FileSystemUse file_systems[kFileSystems];

void note_file_system(const char *name) {
  for (FileSystemUse &use : file_systems) {
    const char *known = nullptr;
    if (use.name.compare_exchange_strong(known, name)) known = name;
    if (strcmp(known, name) == 0) return use.mappings.fetch_add(1, std::memory_order_relaxed), void();
  }
}

} // namespace pagecast
