// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/profile/callers.h"

#include "runtime/kernel/os.h"

#include <algorithm>
#include <execinfo.h>
#include <link.h>

namespace pagecast::profile {
namespace {

/// Of the program's own object.
struct Program {
  uint64_t base = 0, begin = ~uint64_t{0}, end = 0;
};

/// The program is the first object that the linker tells of.
int note_program(dl_phdr_info *info, size_t, void *to) {
  Program &program = *static_cast<Program *>(to);
  program.base = info->dlpi_addr;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const auto &part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    program.begin = std::min<uint64_t>(program.begin, info->dlpi_addr + part.p_vaddr);
    program.end = std::max<uint64_t>(program.end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  return 1;
}

constinit Program program;

} // namespace

void prepare_callers() {
  dl_iterate_phdr(note_program, &program);
  void *frames[2];
  backtrace(frames, 2);
}

const void *caller_in_program() {
  constexpr int kMost = 48;
  void *frames[kMost];
  const int n = backtrace(frames, kMost);
  for (int i = 0; i < n; ++i)
    if (const auto at = reinterpret_cast<uint64_t>(frames[i]); at >= program.begin && at < program.end) return frames[i];
  return nullptr;
}

InProgram place_of_address(const void *address) {
  // The call lies before where it returns to, which may be the next function's beginning.
  return {os::program_path(), reinterpret_cast<uint64_t>(address) - program.base - 1};
}

} // namespace pagecast::profile
