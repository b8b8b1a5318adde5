// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The engine: one thread that sees to all regions, and what the rest of the runtime sees of it. Regions of memory are the
// pager's (pager/pager.h), those of files are advised (files/advise.h); nests and hints speak of both alike.
//
// In each turn of its loop it serves faults, takes what the disk has done, does what it is told, moves nests on, sees to hints,
// and keeps to the budget. When nothing happened, it sleeps until something does.
#pragma once
#include "core/faults/polling.h"
#include "core/nest/nest.h"
#include "core/residency.h"
#include "runtime/engine/attendant.h"
#include "runtime/engine/commands.h"
#include "runtime/engine/forecasts.h"
#include "runtime/engine/fork_stop.h"
#include "runtime/engine/hint_queues.h"
#include "runtime/engine/nest_runner.h"
#include "runtime/files/advise.h"
#include "runtime/pager/pager.h"
#include "runtime/state/hint_ring.h"
#include "runtime/state/options.h"
#include "runtime/state/regions.h"
#include "runtime/state/statistics.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class Engine {
public:
  /// Bytes of a budget that will be taken beside data of so many: what must be free when paging begins.
  static uint64_t bytes_to_start(const char *backing, uint64_t budget, uint64_t data_bytes) {
    return Pager::bytes_to_start(backing, budget, data_bytes);
  }
  /// For memory and files: makes the tables and opens the backing store; starts no thread. 0 or -errno, with a sentence in
  /// `why`. `budget`: bytes to begin with, and not to exceed unless set_cap() allows more.
  int prepare(const Options &, uint64_t budget, uint64_t data_bytes, char *why, unsigned capacity);
  /// As prepare(), for hosts where anonymous memory cannot be paged: hints for files(), and no backing store.
  int prepare_files(const Options &, uint64_t budget, char *why, unsigned capacity);
  /// The pager's thread's body; never returns, unless it cannot start.
  void run();
  /// The body of the thread that watches where run() is; never returns.
  void watch() { attendant_.watch(); }
  /// Waits until run() is ready or has failed. 0 or -errno.
  int wait_started();

  // --- any thread; each waits for the engine (10-50 us, longer while I/O on the range is under way) ---
  /// Makes anonymous private [address, address+bytes) a region. 0 or -errno (then it stays as it was).
  int add(uint64_t address, uint64_t bytes) { return command(Command::kAdd, address, bytes); }
  /// The same of memory that nobody has touched: its pages are an export's, which has been attached.
  int add_map(uint64_t address, uint64_t bytes, const Origin &origin) { return command({Command::kAdd, address, bytes, origin}); }
  /// Pages can come from that export from now on; it must outlive this. Its number for Origin::map, or -ENOSPC.
  int attach(NbdStore &map) { return command({Command::kAttach, 0, 0, {}, &map}); }
  /// What maps in the range hold that was stored here goes to their exports, and is kept there (pager/map_sync.h). 0 or -errno.
  /// Takes as long as these need.
  int flush(uint64_t address, uint64_t bytes) { return command(Command::kFlush, address, bytes); }
  /// What maps in the range are read from their exports again, but for what was stored and not flushed.
  void refresh(uint64_t address, uint64_t bytes) { command(Command::kRefresh, address, bytes); }
  /// Ends the paging of the range, before it is unmapped: its contents are gone.
  int remove(uint64_t address, uint64_t bytes) { return command(Command::kRemove, address, bytes); }
  /// Makes the range zero (MADV_DONTNEED by the program).
  int clear(uint64_t address, uint64_t bytes) { return command(Command::kClear, address, bytes); }
  /// Returns once nests have stored all pages that were left unread for them; for who has seen to it that may_overwrite()
  /// says no. That takes as long as those nests fetch ahead.
  void finish_overwriting() { command(Command::kFinishOverwriting, 0, 0); }
  /// Whether all invariants of the pager hold; `why` gets the one that does not. For tests without slices (they
  /// mark pages before they ask for them). Cost: some 50 ns a page of every region.
  bool is_valid(const char **why) { return command(Command::kCheck, reinterpret_cast<uint64_t>(why), 0) == 0; }

  // --- fork (fork_stop.h), all on the thread that forks, with no command under way ---
  /// Before: waits until no I/O is under way and has the pager's thread hold still. `stack`: an address in the
  /// caller's frame. True if the child gets the regions, which only `share` allows.
  /// `needed`: addresses that the C library touches in the child before there is a pager.
  bool stop_for_fork(uint64_t stack, bool share, const uint64_t *needed = nullptr, unsigned count = 0);
  /// In the parent. `shared`: what stop_for_fork() said.
  void go_on(bool shared) { fork_.go_on(shared); }
  /// In the child that got the regions: takes them over; then run() on a new thread. 0 or -errno.
  int recover();
  /// Its threads run.
  void child_started() const { pager_.store.child_started(); }
  /// The regions cannot be served here: a fault is better than zeros. Unmaps them.
  void abandon();

  // --- any thread; never waits ---
  /// By hand. False when the queue is full.
  bool hint(const Hint &);
  bool slice_hint(const Hint &hint) { return hints_.push_of_slice(hint); }
  /// The C library's small blocks grow by so much now. Waits until there is room for that: seldom, and never on a thread of
  /// ours.
  void note_small_blocks(uint64_t bytes);
  /// They shrink by so much. Any thread; cost: an atomic operation.
  void note_small_blocks_freed(uint64_t bytes);
  /// Wakes the pager's thread if it sleeps.
  void poke();
  core::ResidencyMap &residency() { return pager_.memory.residency; }
  const Options &options() const { return *pager_.memory.options; }
  /// The largest request, bytes.
  uint64_t max_io() const { return pager_.memory.bytes(pager_.store.read_pages()); }
  /// The state of a page of `r`, a copy from look_up(), which is no file's. It may change right after.
  PageState state_of(const Region &r, uint64_t page) const {
    return __atomic_load_n(&pager_.memory[pager_.memory.slot_of(r, page)].state, __ATOMIC_RELAXED);
  }
  /// Whether it is in memory. A file's page always is: who reads it waits for the kernel at worst.
  bool ready(const Region &r, uint64_t page) const { return r.is_file() || PagedMemory::resident(state_of(r, page)); }
  Region look_up(uint64_t address) {
    const Region r = pager_.memory.regions.look_up(address);
    return r.bytes ? r : files_.look_up(address);
  }
  /// Mappings of files.
  Advise &files() { return files_; }
  /// False after prepare_files(): memory can only live in a file of its own then (files().start_memory()).
  bool pages_memory() const { return pager_.started(); }
  core::Conditions conditions() const;
  /// Bytes that the program may hold in regions, the runtime's own memory included. It moves: see core/memory/limit.h.
  uint64_t budget() const { return pager_.limit.budget(); }
  /// Pages given up so far that nobody had released.
  uint64_t crowded() const { return pager_.eviction.crowded(); }
  /// The user's cap from now on, bytes; ~0: none but the machine's and the control group's.
  void set_cap(uint64_t bytes);
  /// So much of what will be added is in memory already: the program holds it, before prepare() and until it is added. 0: all is.
  void expect(uint64_t bytes) { pager_.limit.expect(bytes); }
  /// Whether pages that will be overwritten may go unread: see handlers.h.
  bool may_overwrite() const { return nests_.may_overwrite(); }

  Statistics statistics;

private:
  int start_tables(const Options &, uint64_t budget, char *why, unsigned capacity);
  bool turn(uint64_t now_begun);
  int command(const Command &);
  int command(Command::Kind kind, uint64_t address, uint64_t bytes) { return command(Command{kind, address, bytes}); }
  bool take_commands();
  bool try_command(Command &);
  bool anything_posted();
  void sleep();
  void sleep(bool prompt);
  bool look_out(core::Polling::What, uint64_t patience);
  bool waited_for() const;
  uint64_t sleeps_at_most() const;

  Advise files_;
  Pager pager_{statistics, files_};
  Forecasts forecasts_{pager_.memory, pager_.limit, pager_.eviction};
  NestRunner nests_{pager_, files_, forecasts_};
  HintQueues hints_{pager_, files_, forecasts_};
  ForkStop fork_{pager_, files_, nests_};
  Commands commands_;
  int event_ = -1; ///< what others wake the thread with
  std::atomic<uint32_t> sleeping_{0};
  std::atomic<uint32_t> started_{0};
  int start_error_ = 0;
  uint64_t last_fault_ns_ = 0; ///< when faults came last
  core::Polling polling_;
  Attendant attendant_{pager_.memory.attendance, statistics};
  os::Processors processors_;
  bool inherited_ = false;
};

} // namespace pagecast
