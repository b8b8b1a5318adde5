// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The controller: a process beside the program that looks now and then whether it waits for a disk, and has copies made that
// run ahead. It is no ancestor of the program and does not trace it, but for moments: if it dies, nothing else happens.
//
// One copy at a time, of whichever process of the program's tree waits. No allocation after the first wait that counts.
//
// Threads: run() in one; a second takes hints out of the channel; the prefetcher's workers.
#pragma once
#include "speculate/inject/copy_maker.h"
#include "speculate/inject/reads_tracer.h"
#include "speculate/report/statistics.h"
#include "speculate/tip/prefetcher.h"
#include "speculate/tip/share.h"
#include "speculate/watch/hint_log.h"
#include "speculate/watch/awaited.h"
#include "speculate/watch/worth.h"
#include <mutex>

namespace pagecast::speculate {

/// A thread of the program's tree, and what is known of it.
struct Watched {
  Thread thread;
  Look last;
  uint64_t looked = 0; ///< ns: when
  uint64_t wait_begin = 0; ///< ns; 0 = it does not wait
  bool long_wait = false; ///< two looks have seen this one
  uint64_t accounted = 0; ///< ns: the wait is accounted up to here
  uint64_t since = 0, ran = 0; ///< ns: the first wait that counted after the last copy, and its processor time then
  uint64_t long_waits = 0; ///< since then
  bool judged = false; ///< this wait has been counted
  bool in_vain = false; ///< this wait is for a listing, of which a copy would keep nothing for it
  bool by_name = false; ///< it waits in a call on names, which may show as sleeping
  bool unhinted = false; ///< this wait is for something that was not hinted when it was looked at last: `awaited`
  Awaited awaited;
  uint64_t named = 0; ///< the executable whose arguments have been taken for names of files
  uint64_t asked = 0; ///< ns: when it was last of interest what it sleeps in
  bool refused = false;
  bool was_copied = false;
  uint64_t reads = 0; ///< calls of one that was, when they were looked at last
  uint64_t ran_at_reads = 0; ///< ns: its processor time then
  uint32_t careful = 0; ///< which small reads its copies wait for: see Channel
  bool present = false; ///< seen in the tree just now
  pid_t unreaped = 0; ///< a copy of its process
  Worth worth;
};

class Controller {
public:
  /// Looks after the program until it ends.
  void run(pid_t program);

  /// Before run(): the program is traced, and an account made of its reads.
  void account(Ledger *ledger, ReadsTracer *tracer);

  /// Before run(), for tests: copies are made whenever one can be, worth it or not.
  void be_eager() { eager_ = true; }

  Statistics &statistics() { return statistics_; }

private:
  static constexpr unsigned kWatched = 64;

  // control/tree.cpp
  bool has_new_tasks();
  void refresh_tree(pid_t program);
  void visit(pid_t process);
  Watched *watched(pid_t process, pid_t thread);

  // control/waits.cpp
  void examine(Watched &one, uint64_t now);
  void begin_period(Watched &one);
  void account_short_wait(Watched &one, uint64_t passed);
  void follow_reads(Watched &one);
  void judge_trial(uint64_t now);
  void judge_hints(uint64_t now);
  bool is_waiting(Watched &one, const Look &look);
  void account_wait(Watched &one, uint64_t now);
  void account_fault(Watched &one, uint64_t now);
  bool would_copy_pay(Watched &one, uint64_t now, bool *quick);
  bool is_hinted(const Awaited &awaited) const;
  bool lists_in_vain(Watched &one, uint64_t now, const Call &call);
  void wait_over(Watched &one, uint64_t now);
  void missed();

  // control/copies.cpp
  void make_copy(Watched &one, uint64_t now, const Call &call, bool brief);
  void end_copy(Ending why);
  void check_copy(uint64_t now);
  bool learn(Ending why, uint64_t given);
  Ending ending_of_dead(uint64_t now) const;
  void refuse(Watched &one, const char *reason);
  void warn(const char *reason);

  // control/controller.cpp
  void look(pid_t program, uint64_t now);
  uint64_t longest_period(uint64_t now) const;
  void refuse_early(pid_t program);
  bool map_memory();
  bool prepare();
  bool sleep_until_something(uint64_t nanoseconds);
  void give_names(Watched &one, const Call &call);
  bool give_name(const char *base, const char *name);
  void follow_progress();
  uint64_t read_since();
  uint64_t mapped_since();
  void follow_memory(uint64_t now);
  static void *run_feeder(void *self);
  void feed();
  bool take_hint();

  Channel *channel_ = nullptr;
  int channel_file_ = -1;
  std::mutex feeding_; ///< the ring's reader, and whoever empties the ring
  HintLog log_;
  Prefetcher prefetcher_;
  CopyMaker maker_;
  Statistics statistics_;
  Watched *watched_ = nullptr; ///< kWatched at most; memory that is not touched before it is needed
  unsigned count_ = 0;
  int program_ = -1; ///< pidfd

  // The copy that runs.
  Watched *copied_ = nullptr; ///< nullptr: none
  pid_t copy_ = 0, copy_original_ = 0;
  int copy_handle_ = -1;
  uint32_t copy_number_ = 0;
  uint64_t copy_made_ = 0; ///< ns
  uint64_t copy_missed_ = 0, copy_hit_ = 0; ///< waits
  unsigned listings_tried_ = 0;
  uint64_t listings_asked_ = 0; ///< ns: when it was first of interest whether listings are kept
  bool on_trial_ = false; ///< it was made because of waits of a fast disk, and its gain has not been measured yet
  double share_before_ = 0; ///< of time that the original had a processor before it
  uint64_t trial_ = 0, ran_before_ = 0; ///< ns: when its trial began, and the original's processor time then
  KeptFile io_, statm_; ///< of the original's process
  uint64_t read_ = 0, mapped_ = 0; ///< bytes that the original had read, and had of files in its page tables, at the last look
  uint64_t period_ = 0; ///< ns from look to look
  uint64_t tree_looked_ = 0; ///< ns
  KeptFile tasks_;         ///< the file that tells the next
  uint64_t last_task_ = 0; ///< number of the process or thread that was begun last, anywhere
  uint64_t begin_ = 0, wait_seen_ = 0; ///< ns: when the program began, and when a thread was last found waiting
  bool one_ended_ = false; ///< a thread that was watched is no more
  Share share_; ///< of memory, for what is prefetched
  uint64_t shared_ = 0, refaulted_ = 0, prefetched_ = 0; ///< ns: when it was judged; bytes up to then
  Ledger *ledger_ = nullptr; ///< only for accounts, as the tracer is
  ReadsTracer *tracer_ = nullptr;
  bool warned_ = false, prepared_ = false, failed_ = false;
  bool eager_ = false; ///< no wait is too short, and no copy too dear
};

} // namespace pagecast::speculate
