// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/fork_needs.h"

#include "runtime/kernel/os.h"
#include "runtime/process/allocations.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <link.h>

extern "C" FILE *_IO_list_all; // the C library's open streams, linked by _chain

namespace pagecast {
namespace {

bool foreign = false;
ForkNeeds needs;

void need(const void *from, uint64_t bytes) {
  const uint64_t page = os::page_size(), begin = reinterpret_cast<uint64_t>(from);
  if (!allocation_near(begin, begin + bytes)) return;
  for (uint64_t at = begin & ~(page - 1); at < begin + bytes; at += page) {
    if (needs.count == ForkNeeds::kMost) needs.known = false;
    else needs.address[needs.count++] = at;
  }
}

void need_streams() {
  for (const FILE *f = _IO_list_all; f; f = f->_chain) {
    need(f, sizeof *f);
    need(f->_lock, 64);
  }
}

/// The greatest number of a module with thread-local variables, whose descriptions are needed.
int need_module(dl_phdr_info *info, size_t size, void *greatest) {
  constexpr uint64_t kDescription = 1280; ///< bytes of the C library's link_map, of which a program sees the beginning
  if (size < sizeof *info || info->dlpi_tls_modid == 0) return 0;
  auto &most = *static_cast<uint64_t *>(greatest);
  most = std::max<uint64_t>(most, info->dlpi_tls_modid);
  for (const link_map *m = _r_debug.r_map; m; m = m->l_next)
    if (m->l_addr == info->dlpi_addr) need(m, kDescription);
  return 0;
}

/// A vector that has no room for all modules is made larger in the child, in the heap.
void need_threads() {
  uint64_t modules = 0;
  dl_iterate_phdr(need_module, &modules);
  const uint64_t *vector[16];
  const unsigned n = os::thread_vectors(vector, std::size(vector));
  for (unsigned i = 0; i < n; ++i) {
    const uint64_t room = vector[i][-2];
    needs.known &= room >= modules;
    need(vector[i] - 2, (room + 2) * 16);
  }
  needs.known &= n > 0;
}

} // namespace

void fork_needs_of_foreign_heap() { foreign = true; }

const ForkNeeds &fork_needs() {
  needs.count = 0;
  needs.known = true;
  if (!foreign) return needs;
  need_streams();
  need_threads();
  return needs;
}

} // namespace pagecast
