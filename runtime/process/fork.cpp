// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/fork.h"

#include "runtime/engine/engine.h"
#include "runtime/entry/nest_stack.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/process/allocations.h"
#include "runtime/process/reads.h"
#include "runtime/process/runtime.h"
#include "runtime/profile/profile.h"
#include "runtime/slicer/slicer.h"
#include "runtime/state/guards.h"
#include "runtime/state/locks.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <dlfcn.h>
#include <iterator>
#include <link.h>
#include <pthread.h>

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

namespace {

Lock *const in_order[] = {&locks::program_break, &locks::library_heap, &locks::medium_growth, &locks::named_maps,
                          &locks::maps,          &locks::allocations,  &locks::options,       &locks::modules,
                          &locks::sites,         &locks::freed_cache,  &locks::medium,        &locks::nest_table,
                          &locks::profile};
bool shared = false; ///< under the locks: the child of this fork gets the regions
int cancelability;   ///< under the locks: of the thread that forks

void hold() {
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); // it would take the locks along
  locks::forks.acquire();
  allocations_page_to_fork();
  for (;;) {
    const Engine *before = runtime_running_engine();
    fork_needs(); // while there is a pager, and no other lock of ours is held
    for (Lock *l : in_order) l->acquire();
    if (runtime_running_engine() == before) break; // else it has started meanwhile, and its threads are needed, too
    for (unsigned i = sizeof in_order / sizeof *in_order; i-- > 0;) in_order[i]->release();
  }
  cancelability = before;
  slicer_hold();
  shared = false;
  Engine *engine = runtime_running_engine();
  if (!engine) return;
  const bool possible = runtime_can_follow() && needs.known;
  shared = engine->stop_for_fork(reinterpret_cast<uint64_t>(__builtin_frame_address(0)), possible, needs.address, needs.count);
}

void release_all() {
  const int before = cancelability;
  for (unsigned i = sizeof in_order / sizeof *in_order; i-- > 0;) in_order[i]->release();
  locks::forks.release();
  pthread_setcancelstate(before, nullptr);
}

void in_parent() {
  os::note_fork();
  if (Engine *engine = runtime_running_engine()) engine->go_on(shared);
  slicer_go_on();
  release_all();
}

/// The only thread. Whoever held a lock that is not in locks.h only read what it guards.
void in_child() {
  os::forked();
  os::threads_forked();
  os::files_forked();
  guards.unreadable.forked();
  guards.keyed.forked();
  regions_forked();
  reads_forked();
  slicer_forked();
  profile::forked();
  nests_forked();
  runtime_forked(shared);
  release_all();
}

} // namespace

int register_with_library(ForkHandler *prepare, ForkHandler *parent, ForkHandler *child, void *object) {
  using Register = int(ForkHandler *, ForkHandler *, ForkHandler *, void *);
  static auto *const library = reinterpret_cast<Register *>(dlsym(RTLD_NEXT, "__register_atfork"));
  return library ? library(prepare, parent, child, object) : ENOSYS;
}

void watch_forks() {
  static std::atomic<bool> done{false};
  if (!done.exchange(true)) register_with_library(hold, in_parent, in_child, nullptr);
}

} // namespace pagecast
