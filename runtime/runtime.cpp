// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/runtime.h"

#include "pagecast/pagecast.h"
#include "runtime/blocks.h"
#include "runtime/lock.h"
#include "runtime/message.h"
#include "runtime/nest_slots.h"
#include "runtime/pager.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <new>

namespace pagecast {
namespace {

Options options;
std::atomic<uint32_t> options_read{0};
Lock options_lock;

uint64_t budget = 0;
uint64_t looked_ns = 0; ///< when that was
constexpr uint64_t kLookNs = 50000000;
uint64_t started_ns = 0;
bool refused = false; ///< paging was needed and could not be had: said once
char refused_why[400];
alignas(Pager) char pager_memory[sizeof(Pager)];
std::atomic<Pager *> pager{nullptr};

constexpr unsigned kModules = 1024;
const pagecast_module *modules[kModules];
unsigned module_count = 0;
Lock modules_lock;

/// What large data may hold now (core/limit.h), of which `used` bytes are held.
uint64_t find_budget(uint64_t used) {
  os::MemoryWatch memory;
  core::Pool pools[core::kMostPools];
  memory.open();
  const unsigned n = memory.look(pools);
  memory.close();
  core::Limit limit;
  limit.start(options.memory, kLeastMemory);
  limit.update(looked_ns = os::now_ns(), used, pools, n);
  return limit.budget();
}

/// The budget of a program that holds all its large data in memory, found out anew from time to time: the limit may
/// have fallen, and then the next large block is the occasion to begin paging.
void follow_limit(uint64_t data_bytes) {
  if (data_bytes <= kLeastMemory || os::now_ns() - looked_ns < kLookNs) return;
  budget = find_budget(std::min(data_bytes, os::own_anonymous_bytes()));
}

void set_gates(uint64_t *gate, uint64_t bytes) {
  for (unsigned size = 0; size < PAGECAST_GATES; ++size) {
    const uint64_t iterations = bytes == ~0ull ? bytes : (bytes >> size) + ((bytes & ((1ull << size) - 1)) != 0);
    __atomic_store_n(gate + size, iterations, __ATOMIC_RELAXED);
  }
}

void open_gates() {
  Guard guard(modules_lock);
  for (unsigned i = 0; i < module_count; ++i) {
    Dl_info info;
    if (options.hints && dladdr(modules[i]->gate, &info)) // else it was unloaded
      set_gates(modules[i]->gate, options.gate);
  }
}

void close_gates() {
  for (unsigned i = 0; i < module_count; ++i) set_gates(modules[i]->gate, ~0ull);
}

void pager_thread() { reinterpret_cast<Pager *>(pager_memory)->run(); }

/// Starts the pager. False, with a sentence in refused_why, if that cannot be.
bool start_pager(uint64_t data_bytes) {
  const os::Support support = os::probe();
  if (support.missing) {
    snprintf(refused_why, sizeof refused_why, "%s", support.missing);
    return false;
  }
  Pager *made = new (pager_memory) Pager;
  if (made->prepare(options, budget, data_bytes, refused_why, sizeof refused_why)) return false;
  made->set_cap(options.memory);
  int error = os::start_thread("pagecast-pager", pager_thread);
  if (!error) error = made->wait_started();
  if (error) {
    snprintf(refused_why, sizeof refused_why, "io_uring or a thread cannot be had (%s)", strerror(-error));
    return false;
  }
  nests_start(made);
  if (options.slices) os::start_thread("pagecast-slicer", slicer_run);
  pager.store(made, std::memory_order_release);
  tell("large data of %llu MiB exceed the budget of %llu MiB: paging", static_cast<unsigned long long>(data_bytes >> 20),
       static_cast<unsigned long long>(budget >> 20));
  open_gates();
  return true;
}

__attribute__((constructor(101))) void construct() {
  started_ns = os::now_ns();
  runtime_options();
}

__attribute__((destructor)) void destruct() {
  Pager *running = pager.load(std::memory_order_acquire);
  if (!options.stats) return;
  static Statistics none;
  Statistics &s = running ? running->statistics : none;
  if (!running) s.budget_bytes = budget;
  const double wall = static_cast<double>(os::now_ns() - started_ns) * 1e-9;
  const char *why = refused ? refused_why : options.enable ? "large data fit in the budget" : "switched off by PAGECAST_ENABLE";
  if (const int error = write_statistics(s, options.stats, running != nullptr, why, wall))
    say("the statistics could not be written to %s: %s", options.stats, strerror(-error));
}

} // namespace

const Options &runtime_options() {
  if (options_read.load(std::memory_order_acquire)) return options;
  Guard guard(options_lock);
  if (!options_read.load(std::memory_order_relaxed)) {
    read_options(options);
    set_verbose(options.verbose);
    budget = find_budget(0);
    if (options.memory != kAuto && budget < options.memory)
      tell("PAGECAST_MEMORY is more than this process may have; %llu MiB are used", static_cast<unsigned long long>(budget >> 20));
    options_read.store(1, std::memory_order_release);
  }
  return options;
}

Pager *runtime_pager(uint64_t data_bytes) {
  runtime_options();
  Pager *running = pager.load(std::memory_order_acquire);
  if (running || refused || !options.enable) return running;
  follow_limit(data_bytes);
  if (data_bytes <= budget) return nullptr;
  if (start_pager(data_bytes)) return pager.load(std::memory_order_relaxed);
  refused = true;
  say("the program's large data (%llu MiB) exceed the budget of %llu MiB, but they cannot be paged: %s. It runs as it would without pagecast",
      static_cast<unsigned long long>(data_bytes >> 20), static_cast<unsigned long long>(budget >> 20), refused_why);
  return nullptr;
}

Pager *runtime_running_pager() { return pager.load(std::memory_order_acquire); }

void runtime_forked() {
  close_gates();
  nests_start(nullptr);
  pager.store(nullptr, std::memory_order_release);
  refused = true;
  options.stats = nullptr; // the parent's to write
}

} // namespace pagecast

using namespace pagecast;

extern "C" {

__attribute__((visibility("default"))) void __pagecast_register(const pagecast_module *module) {
  if (module->abi != PAGECAST_ABI_VERSION) {
    tell("a module was compiled by another version of pagecast and gives no hints");
    return;
  }
  const Options &o = runtime_options();
  {
    Guard guard(modules_lock);
    if (module_count < kModules) modules[module_count++] = module;
  }
  const uint64_t page = os::page_size();
  for (uint32_t i = 0; i < module->globals; ++i) {
    const uint64_t begin = (reinterpret_cast<uint64_t>(module->global[i].address) + page - 1) & ~(page - 1);
    const uint64_t end = (reinterpret_cast<uint64_t>(module->global[i].address) + module->global[i].size) & ~(page - 1);
    if (begin < end && end - begin >= o.large) block_add(begin, end - begin, Block::kGlobal);
  }
  if (runtime_running_pager()) open_gates();
}

__attribute__((visibility("default"))) const char *pagecast_version(void) { return PAGECAST_VERSION; }
__attribute__((visibility("default"))) const char *pagecast_options_help(void) { return options_help(); }
__attribute__((visibility("default"))) int pagecast_active(void) { return runtime_running_pager() != nullptr; }

__attribute__((visibility("default"))) uint64_t pagecast_budget(void) {
  Pager *running = runtime_running_pager();
  return running ? running->budget() : 0;
}
}
