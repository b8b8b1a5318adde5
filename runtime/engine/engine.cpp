// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/engine.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/kernel/sandbox.h"
#include "runtime/state/open_nests.h"

#include <algorithm>
#include <cerrno>

namespace pagecast {
namespace {
constexpr uint64_t kRetryNs = 2'000'000;
constexpr uint64_t kForkPatienceNs = 2'000'000'000; ///< a fork that takes longer is said
constexpr uint64_t kPromptNs = 1'000'000;           ///< after a fault; where none is foreseen, the next comes within that
constexpr uint64_t kQueueBytes = 4u << 20;          ///< what a device works on at once, and staging has room for
} // namespace

// --- start -----------------------------------------------------------------------------------------

/// Why the tables and what belongs to them cannot be had.
static const char *lacking(int error) {
  return error == -EMFILE || error == -ENFILE ? "no descriptors are left for the pager (ulimit -n?)"
                                              : "not enough address space for the pager's tables (ulimit -v?)";
}

int Engine::start_tables(const Options &options, uint64_t budget, char *why, unsigned capacity) {
  hints_.start(budget);
  forecasts_.start(budget);
  int error = pager_.start_tables(options, budget) ? 0 : -ENOMEM;
  if (!error) error = files_.start(options, pager_.memory.residency, pager_.memory.pages, statistics, budget);
  if (!error) event_ = os::event_open();
  if (!error && event_ < 0) error = event_;
  processors_.open();
  if (error) write_text(why, capacity, "%s", lacking(error));
  return error;
}

int Engine::prepare_files(const Options &options, uint64_t budget, char *why, unsigned capacity) {
  if (const int error = start_tables(options, budget, why, capacity)) return error;
  pager_.start_without();
  pager_.limit.follow(os::now_ns());
  return 0;
}

int Engine::prepare(const Options &options, uint64_t budget, uint64_t data_bytes, char *why, unsigned capacity) {
  if (const int error = start_tables(options, budget, why, capacity)) return error;
  if (const int error = pager_.start(budget, data_bytes, why, capacity)) return error;
  pager_.limit.follow(os::now_ns());
  return 0;
}

int Engine::wait_started() {
  while (started_.load(std::memory_order_acquire) == 0) os::futex_wait(reinterpret_cast<uint32_t *>(&started_), 0);
  return start_error_;
}

core::Conditions Engine::conditions() const {
  const Options &options = *pager_.memory.options;
  core::Conditions c;
  c.page = pager_.memory.page;
  c.budget = pager_.limit.for_pages() + pager_.limit.for_files();
  c.latency_ns = pager_.store.latency_ns();
  c.queue_bytes = pages_memory() ? std::min(pager_.store.whole_staging_bytes(), kQueueBytes) : kQueueBytes;
  c.max_io = max_io();
  c.fixed_distance = options.distance;
  c.schedule = options.schedule;
  c.release = options.release != ReleasePolicy::kNone;
  c.at_once = options.release == ReleasePolicy::kAggressive;
  return c;
}

void Engine::set_cap(uint64_t bytes) {
  pager_.limit.set_cap(bytes);
  poke();
}

bool Engine::hint(const Hint &hint) {
  const bool taken = hints_.push_by_hand(hint);
  poke();
  return taken;
}

// --- the loop --------------------------------------------------------------------------------------

void Engine::run() {
  const int error = start_error_ = pager_.open(event_);
  if (inherited_ && !error) pager_.protect_inherited();
  started_.store(1, std::memory_order_release);
  os::futex_wake(reinterpret_cast<uint32_t *>(&started_));
  if (error) return; // nothing here is this thread's any more
  const uint64_t begun = os::now_ns();
  if (inherited_)
    sleep(), pager_.limit.follow(os::now_ns()); // what it inherited costs nothing until it is used: a child may exec at once
  for (;;)
    if (!turn(begun)) sleep();
}

/// True: something happened, so that there may be more to do.
bool Engine::turn(uint64_t begun) {
  attendant_.beat();
  pager_.store.look_for_others();
  bool busy = pager_.faults.take();
  if (busy) {
    last_fault_ns_ = os::now_ns();
    if (pager_.waited_for()) pager_.store.hand_over(); // the disk works on what is waited for while this thread does all else
  }
  if (files_.new_round()) pager_.memory.note_freed(); // what the adviser's queue had no room for may find it now
  pager_.limit.account_for_files();
  busy |= pager_.take_completions();
  pager_.discards.flush(); // before anything can be fetched again
  busy |= take_commands();
  busy |= pager_.faults.retry();
  const bool nests = nests_.run();
  busy |= nests;
  busy |= pager_.streams.push_on();
  busy |= pager_.successions.push_on();
  const bool hints = hints_.take();
  busy |= hints;
  const uint64_t now = os::now_ns();
  if ((nests || hints) && attendant_.attends()) attendant_.works_ahead(now);
  busy = pager_.keep_up(now, busy, forecasts_.soon());
  statistics.now.program = pager_.limit.program_bytes();
  const uint64_t used = statistics.now.program + statistics.own_bytes;
  statistics.peak_bytes = std::max(statistics.peak_bytes, used);
  statistics.note((now - begun) / 1000000, used);
  return busy;
}

/// Whether the program waits for this thread, or is about to. It is prompt then; else, while it works ahead of the program, it
/// interrupts nobody.
bool Engine::waited_for() const { return pager_.waited_for() || os::now_ns() - last_fault_ns_ < kPromptNs; }

/// Looks for what the thread would sleep for, so long at most. True: something has come.
bool Engine::look_out(core::Polling::What what, uint64_t patience) {
  // Of a look that goes round in 0.1 us: somebody else had the processor, or in a shorter time only the thread that is attended, which
  // ran from one fault to the next.
  constexpr uint64_t kGap = 20'000, kShortGap = 1'500;
  const bool attends = attendant_.attends();
  while (what == core::Polling::kRead && !pager_.store.has_news() && pager_.eviction.make_room_ahead()) continue;
  const uint64_t begun = os::now_ns();
  uint64_t now = begun, lost = 0;
  bool alone = true;
  bool found = false;
  while (!found && now - begun < patience) {
    found = pager_.store.has_news() || anything_posted();
    const uint64_t before = now;
    now = os::now_ns();
    if (now - before > kGap) lost += now - before;
    alone &= now - before < kShortGap;
  }
  if (!attends) polling_.looked(now - begun, found, lost, now);
  else if (what == core::Polling::kFault) attendant_.found(found && alone);
  else attendant_.kept_waiting(lost, now);
  if (found) polling_.waited(what, now - begun);
  ++statistics.polling.looks;
  statistics.polling.found += found;
  statistics.polling.ns += now - begun;
  return found;
}

/// The slicer's thread wants a processor now and then, which the kernel's count of those that run seldom shows. It looks at slices
/// that are switched off every millisecond only.
static bool slices_run() {
  for (OpenNest &nest : OpenNests())
    if (nest.runs() && nest.slice_runs()) return true;
  return false;
}

/// While the program waits for this thread, faults and reads are looked for before it sleeps.
void Engine::sleep() {
  const uint64_t begun = os::now_ns();
  const auto what = pager_.waited_for() ? core::Polling::kRead : core::Polling::kFault;
  const bool soon = what == core::Polling::kRead || begun - last_fault_ns_ < core::Polling::kMost;
  if (!soon || !pager_.started() || (options().slices && slices_run())) return attendant_.leave(), sleep(waited_for());
  if (options().attend) attendant_.take_place(begun);
  if (!attendant_.attends() && polling_.wants_sample(begun)) {
    polling_.sample(processors_.running(), sandboxed() ? 1 : processors_.usable(begun), begun);
    statistics.pager_cpu_ns = os::thread_cpu_ns();
  }
  const uint64_t patience = attendant_.attends() ? polling_.usual_patience(what) : polling_.patience(what, begun);
  if (patience && look_out(what, patience)) return;
  sleep(true);
  polling_.waited(what, os::now_ns() - begun);
}

void Engine::sleep(bool prompt) {
  statistics.pager_cpu_ns = os::thread_cpu_ns();
  os::be_prompt(prompt);
  sleeping_.store(1, std::memory_order_seq_cst);
  if (!anything_posted()) {
    if (pager_.started()) pager_.store.wait(sleeps_at_most());
    else os::wait_readable(event_, sleeps_at_most());
  }
  sleeping_.store(0, std::memory_order_seq_cst);
  if (!pager_.started()) os::event_clear(event_);
}

/// ns; 0: for ever. A disk that refused is asked again; faults that found no room wait for a completion, or for that.
uint64_t Engine::sleeps_at_most() const {
  const bool retry = commands_.pending() || pager_.retries();
  const uint64_t most = files_.waiting() ? Advise::kRetryNs : retry ? kRetryNs : pager_.store.watch_within_ns();
  const uint64_t look = pager_.next_look_in_ns();
  return most && (look == 0 || look > most) ? most : look;
}

bool Engine::anything_posted() {
  return commands_.posted() || hints_.posted() || NestRunner::posted() ||
         (pager_.started() && pager_.limit.small_blocks.posted());
}

void Engine::note_small_blocks(uint64_t bytes) {
  if (!pages_memory() || os::is_ours() || !pager_.limit.small_blocks.note(bytes)) return;
  poke();
  pager_.limit.small_blocks.wait_for_room([this] { poke(); });
}

void Engine::note_small_blocks_freed(uint64_t bytes) {
  if (pages_memory() && !os::is_ours()) pager_.limit.small_blocks.note_freed(bytes);
}

void Engine::poke() {
  if (sleeping_.load(std::memory_order_seq_cst) && sleeping_.exchange(0, std::memory_order_seq_cst)) os::event_post(event_);
}

// --- commands --------------------------------------------------------------------------------------

int Engine::command(const Command &command) {
  return commands_.call(command, [this] { poke(); });
}

bool Engine::take_commands() {
  Command *c = commands_.front();
  if (!c || !try_command(*c)) return false;
  const bool hold = c->kind == Command::kFork;
  commands_.finish();
  if (hold) fork_.hold_still();
  return true;
}

/// False: I/O on the range is under way, or what it waits for has not happened yet; ask again.
bool Engine::try_command(Command &c) {
  switch (c.kind) {
  case Command::kAdd: c.result = pager_.started() ? pager_.regions.add(c.address, c.bytes, c.origin) : -ENOTSUP; return true;
  case Command::kAttach: c.result = pager_.attach(*c.map); return true;
  case Command::kFlush: c.result = pager_.maps.flush(c.address, c.address + c.bytes); return c.result != MapSync::kNotYet;
  case Command::kFinishOverwriting:
    nests_.finish(!nests_.may_overwrite()); // else there is nothing to wait for
    return !nests_.finishing() || NestRunner::all_stored();
  case Command::kFork:
    if (!fork_.may_begin()) return false;
    fork_.begin(c.address);
    return true;
  case Command::kCheck: {
    const char *broken = *reinterpret_cast<const char **>(c.address) = pager_.broken_invariant();
    c.result = broken ? -EINVAL : 0;
    return true;
  }
  case Command::kRefresh:
  case Command::kRemove:
  case Command::kClear: break;
  }
  if (!pager_.regions.quiet(c.address, c.address + c.bytes)) return false;
  if (c.kind == Command::kRefresh) pager_.maps.refresh(c.address, c.address + c.bytes);
  else pager_.regions.forget(c.address, c.address + c.bytes, c.kind == Command::kClear);
  c.result = 0;
  return true;
}

// --- fork ------------------------------------------------------------------------------------------

bool Engine::stop_for_fork(uint64_t stack, bool share, const uint64_t *needed, unsigned count) {
  fork_.need(needed, count);
  commands_.call({Command::kFork, stack, 0}, [this] { poke(); }, kForkPatienceNs, [this] { fork_.say_waits(); });
  return fork_.share(stack, share);
}

int Engine::recover() {
  close_own(event_);
  event_ = os::event_open();
  // Of the parent's other threads, none is waiting for anything here.
  commands_.forked();
  fork_.forked();
  nests_.finish(false);
  nests_.forked();
  hints_.start(budget());
  attendant_.forked();
  sleeping_.store(0);
  started_.store(0);
  inherited_ = true;
  const int files = event_ < 0 ? event_ : files_.recover(), memory = pager_.recover();
  return files ? files : memory;
}

void Engine::abandon() {
  files_.abandon_memory();
  pager_.abandon();
}

} // namespace pagecast
