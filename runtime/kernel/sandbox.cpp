// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/sandbox.h"

#include "runtime/kernel/disk.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"

#include <atomic>

namespace pagecast {
namespace {

std::atomic<uint32_t> filters{0};
thread_local bool strictly __attribute__((tls_model("initial-exec"))) = false;

/// What starts the pager, in a process of its own.
void try_calls() {
  os::find_support();
  os::event_open();
  Disk disk;
  if (disk.start(8) == 0) disk.stop();
  const uint64_t word = 0;
  uint64_t copy;
  os::copy_memory(&copy, reinterpret_cast<uint64_t>(&word), sizeof word);
  const iovec to{&copy, sizeof copy}, from{const_cast<uint64_t *>(&word), sizeof word};
  os::copy_parts(&to, &from, 1);
  int fd;
  os::OpenFile open;
  os::open_descriptors(&fd, 1);
  os::open_file(0, &open);
  os::drop_cached(-1, 0, 0);
  os::unshare_descriptors();
}

} // namespace

void sandbox_begin(bool strict, void (*before_first)()) {
  os::thread_id(); // which is kept: the kernel cannot be asked for it any more
  if (filters.fetch_add(1, std::memory_order_seq_cst) == 0) before_first();
  strictly = strict;
}

void sandbox_failed() {
  filters.fetch_sub(1, std::memory_order_seq_cst);
  strictly = false;
}

bool sandboxed() { return filters.load(std::memory_order_relaxed) != 0; }

bool sandboxed_strictly() { return strictly; }

bool inherited_sandbox_allows_paging() { return !os::filtered() || os::child_survives(try_calls); }

} // namespace pagecast
