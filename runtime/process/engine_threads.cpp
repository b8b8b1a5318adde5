// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/engine_threads.h"

#include "runtime/engine/engine.h"
#include "runtime/kernel/os.h"
#include "runtime/slicer/slicer.h"
#include "runtime/state/report.h"

#include <utility>

namespace pagecast {
namespace {

// What the threads' bodies, which take no arguments, work on.
Engine *engine = nullptr;
const char *stats = nullptr;
uint64_t begun_ns = 0;
bool has_file_threads = false;

void pager_thread() { engine->run(); }
void watching_thread() { engine->watch(); }
void adviser_thread() { engine->files().run(); }
void large_thread() { engine->files().run_large(); }
void report_thread() { report_run(engine->statistics, stats, begun_ns); }
void reads_thread() { engine->files().run_reads(); }

} // namespace

thread_local bool StartsThreads::starts_ = false;

int start_engine_threads(Engine &of, const Options &options, bool has_swap, uint64_t started_ns) {
  engine = &of;
  stats = options.stats;
  begun_ns = started_ns;
  int error = os::start_thread("pagecast-pager", pager_thread);
  if (!error) error = of.wait_started();
  if (!error && options.attend && options.backend != BackEnd::kAdvise) os::start_thread("pagecast-watch", watching_thread);
  if (!error && options.slices) os::start_thread("pagecast-slicer", slicer_run);
  if (!error && options.stats) os::start_thread("pagecast-report", report_thread);
  if (!error && options.backend != BackEnd::kPager && has_swap) os::start_thread("pagecast-reads", reads_thread);
  return error;
}

int start_file_threads() {
  if (has_file_threads) return 0;
  const StartsThreads here;
  if (const int error = os::start_thread("pagecast-advise", adviser_thread)) return error;
  has_file_threads = true;
  for (unsigned i = 0; i < Advise::kReaders; ++i) os::start_thread("pagecast-large", large_thread);
  return 0;
}

bool forget_file_threads() { return std::exchange(has_file_threads, false); }

} // namespace pagecast
