// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/modules.h"

#include "pagecast/abi.h"
#include "runtime/process/allocations.h"
#include "runtime/state/locks.h"
#include "runtime/state/statistics.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"
#include "runtime/engine/engine.h"
#include "runtime/process/runtime.h"
#include "runtime/entry/nest_entry.h"
#include "runtime/entry/small_nests.h"
#include "runtime/profile/profile.h"

#include <algorithm>
#include <dlfcn.h>
#include <link.h>

namespace pagecast {
namespace {

static_assert(kLeastLarge == PAGECAST_LEAST_GLOBAL, "what the compiler leaves out can never be large");
constexpr unsigned kModules = 1024;
struct Loaded {
  const pagecast_module *module;
  void *object; ///< where its object begins
};
Loaded modules[kModules];
std::atomic<uint32_t> module_count{0}; ///< entries are written before it grows and never change
const link_map *last_permanent = nullptr;

/// Whether it lies in a shared library. The linker has no name for the program itself.
bool is_of_library(const void *address) {
  Dl_info info;
  void *found = nullptr;
  return dladdr1(address, &info, &found, RTLD_DL_LINKMAP) && found && static_cast<const link_map *>(found)->l_name[0];
}

/// Whether the object at `address` was loaded with the program: the linker's list is in the order of loading. The
/// globals of others would be unmapped past us by dlclose, and the pager would go on giving up what comes after them.
bool is_permanent(const void *address) {
  Dl_info info;
  void *found = nullptr;
  if (!last_permanent || !dladdr1(address, &info, &found, RTLD_DL_LINKMAP) || !found) return false;
  for (const link_map *l = last_permanent; l; l = l->l_prev)
    if (l == found) return true;
  return false;
}

void set_gate(const Loaded &m, uint64_t bytes) {
  Dl_info info;
  if (!dladdr(m.module->gate, &info) || info.dli_fbase != m.object) return; // it was unloaded
  for (unsigned size = 0; size < PAGECAST_GATES; ++size) {
    const uint64_t iterations = bytes == ~0ull ? bytes : (bytes >> size) + ((bytes & ((1ull << size) - 1)) != 0);
    __atomic_store_n(m.module->gate + size, iterations, __ATOMIC_RELAXED);
  }
}

/// The module that defines malloc. A program at a fixed address that takes malloc's, as Debian's python3 is, stands for malloc itself
/// where it is looked up, with a jump to it: then the first of the other modules that has it, in the order in which all are searched.
/// False if none is found.
bool module_of_malloc(Dl_info *found) {
  void *at = dlsym(RTLD_DEFAULT, "malloc");
  const ElfW(Sym) *symbol = nullptr;
  if (!at || !dladdr1(at, found, reinterpret_cast<void **>(const_cast<ElfW(Sym) **>(&symbol)), RTLD_DL_SYMENT)) return false;
  if (!symbol || symbol->st_shndx != SHN_UNDEF) return true;
  link_map *module = nullptr;
  if (!dladdr1(at, found, reinterpret_cast<void **>(&module), RTLD_DL_LINKMAP)) return false;
  while ((module = module->l_next)) {
    void *handle = dlopen(module->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    at = dlsym(handle, "malloc");
    dlclose(handle);
    if (at && dladdr(at, found) && found->dli_fbase == reinterpret_cast<void *>(module->l_addr)) return true;
  }
  return false;
}

} // namespace

const char *modules_other_allocator() {
  Dl_info theirs, ours;
  if (!module_of_malloc(&theirs) || !dladdr(reinterpret_cast<void *>(&modules_other_allocator), &ours)) return nullptr;
  return theirs.dli_fbase == ours.dli_fbase ? nullptr : theirs.dli_fname;
}

void modules_note_permanent() {
  Dl_info info;
  void *found = nullptr;
  if (!dladdr1(reinterpret_cast<void *>(&modules_note_permanent), &info, &found, RTLD_DL_LINKMAP)) return;
  for (last_permanent = static_cast<const link_map *>(found); last_permanent && last_permanent->l_next;)
    last_permanent = last_permanent->l_next;
}

void modules_set_gates(uint64_t bytes) {
  // Without our lock: dladdr takes the linker's, whose holder may be about to register.
  for (uint32_t i = 0, n = module_count.load(std::memory_order_acquire); i < n; ++i) set_gate(modules[i], bytes);
}

} // namespace pagecast

using namespace pagecast;

extern "C" __attribute__((visibility("default"))) void __pagecast_register(const pagecast_module *module) {
  if (module->abi != PAGECAST_ABI_VERSION) {
    tell("a module was compiled by another version of pagecast and gives no hints");
    return;
  }
  const Options &o = runtime_options();
  if (module->gate && module_count.load(std::memory_order_relaxed) == 0) pagecast_look_at_processor();
  Dl_info info;
  const Loaded loaded{module, module->gate && dladdr(module->gate, &info) ? info.dli_fbase : nullptr};
  if (module->gate) {
    const bool of_library = is_of_library(module->gate); // it takes the linker's lock
    Guard guard(locks::modules);
    const uint32_t n = module_count.load(std::memory_order_relaxed);
    if (n < kModules) {
      modules[n] = loaded;
      module_count.store(n + 1, std::memory_order_release);
      Statistics::modules.store(n + 1, std::memory_order_relaxed);
      Statistics::library_modules.fetch_add(of_library, std::memory_order_relaxed);
    }
  }
  for (uint32_t i = 0; i < module->globals; ++i) {
    const uint64_t begin = os::page_up(reinterpret_cast<uint64_t>(module->global[i].address));
    const uint64_t end = os::page_down(reinterpret_cast<uint64_t>(module->global[i].address) + module->global[i].size);
    if (begin < end && end - begin >= o.large && is_permanent(module->global[i].address))
      allocation_add(begin, end - begin, Allocation::kGlobal);
  }
  if (module->gate && runtime_running_engine() && o.hints) set_gate(loaded, std::min(o.gate, kLeastSmallNest));
  if (module->gate && profile::is_on()) set_gate(loaded, profile::kGate);
}
