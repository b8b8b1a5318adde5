// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/fork.h"

#include "runtime/process/fork_needs.h"

#include "runtime/entry/nest_stack.h"
#include "runtime/slicer/slicer.h"
#include "runtime/state/guards.h"
#include "runtime/state/locks.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/engine/engine.h"
#include "runtime/process/reads.h"
#include "runtime/process/runtime.h"
#include "runtime/profile/profile.h"

#include <cerrno>
#include <dlfcn.h>
#include <pthread.h>

namespace pagecast {
namespace {

Lock *const in_order[] = {&locks::medium_growth, &locks::named_maps, &locks::maps,   &locks::allocations,
                          &locks::options,       &locks::modules,    &locks::sites,  &locks::freed_cache,
                          &locks::medium,        &locks::nest_table, &locks::profile};
bool shared = false; ///< under the locks: the child of this fork gets the regions
int cancelability;   ///< under the locks: of the thread that forks

void hold() {
  const ForkNeeds &needs = fork_needs(); // while there is a pager, and no lock of ours is held
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); // it would take the locks along
  for (Lock *l : in_order) l->acquire();
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
  pthread_setcancelstate(before, nullptr);
}

void in_parent() {
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
