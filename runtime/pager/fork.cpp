// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fork. The child inherits the resident pages copy-on-write and the tables, and gets a pager of its own; where
// both must not disturb each other is in the backing files (fork_files.h). While the process is copied the pager
// holds still, with no request under way, so that what the child inherits fits together.
#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/message.h"
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pagecast {
namespace {
constexpr uint64_t kPatienceNs = 2'000'000'000; ///< a fork that takes longer is said
}

/// On the thread that forks, which waits. Once in a process and its children: programs may fork often.
void Pager::say_fork_waits() {
  if (fork_wait_said_) return;
  fork_wait_said_ = true;
  if (forks_behind_nests_.load(std::memory_order_relaxed))
    say("fork() waits for loops of other threads, which have yet to store what they overwrite: the child starts after that");
  else
    say("fork() waits for the disk of %s, which is slow to answer: the child starts after that, and nothing is lost",
        fork_files_.directory());
}

bool Pager::stop_for_fork(uint64_t stack, bool share) {
  commands_.call(Command::kFork, stack, 0, [this] { poke(); }, kPatienceNs, [this] { say_fork_waits(); });
  if (files_only_) { // what the child needs, it can open; what is not to be shared is copied
    const int error = files_.copy_memory(stack);
    if (error) tell("a child cannot have paged data: %s", strerror(-error));
    return error == 0;
  }
  if (!share) return false;
  if (const int error = fork_files_.before_fork()) {
    tell("a child cannot have paged data: %s", strerror(-error));
    return false;
  }
  for (unsigned i = 0; i < regions_.count(); ++i) os::give_to_children(regions_[i].base, regions_[i].bytes, true);
  return true;
}

void Pager::go_on(bool shared) {
  if (shared && files_only_) files_.memory_copied();
  if (shared && !files_only_) {
    fork_files_.after_fork(false);
    for (unsigned i = 0; i < regions_.count(); ++i) os::give_to_children(regions_[i].base, regions_[i].bytes, false);
  }
  forking_.store(0, std::memory_order_release);
  os::futex_wake(reinterpret_cast<uint32_t *>(&forking_));
}

/// On the pager's thread, once nothing is under way: prepares for the fork and waits until it is over.
void Pager::hold_still() {
  while (forking_.load(std::memory_order_acquire)) os::futex_wait(reinterpret_cast<uint32_t *>(&forking_), 1);
  for (unsigned i = 0; i < regions_.count(); ++i) regions_[i].draining = false;
  finishing_ = false;
  ++freed_;
}

void Pager::prepare_fork(uint64_t stack) {
  if (!files_only_) {
    flush_discards();
    fork_files_.look_for_ends();
    if (fork_files_.count() >= ForkFiles::kCrowded) merge_files();
    keep_stack(stack);
  }
  forking_.store(1, std::memory_order_release);
}

/// The thread that forks cannot wait for pages of its stack, should that be in a region, while we hold still.
void Pager::keep_stack(uint64_t stack) {
  constexpr uint64_t kBelow = 128u << 10, kAbove = 32u << 10;
  Region *r = regions_.find(stack);
  if (!r) return;
  const uint64_t page = stack & ~(page_ - 1);
  const uint32_t first = slot_of(*r, std::max(r->base, page - kBelow)), last = slot_of(*r, std::min(r->end(), page + kAbove));
  for (uint32_t s = first; s < last; ++s) {
    Page &p = pages_[s];
    if (p.state == PageState::kMark) show_mark(s, true);
    if (p.state == PageState::kClean) make_writable(*r, s, 1);
    if (p.state >= PageState::kClean) continue;
    const char *from = zeros_;
    if (p.state == PageState::kAbsent) { // no request is under way: all of the staging memory is free
      const int error = os::read_file(fork_files_.fd(fork_files_.file_of(s)), staging_.base(), page_, uint64_t{s} << shift_);
      if (error) continue;
      from = staging_.base();
    }
    if (place(s, from, 1, true) == 0) continue;
    use_tables(s, 1);
    p.state = PageState::kDirty;
    p.flags = 0;
    order_.insert_active(s);
    map_.set(extent(s, 1));
    ++used_;
  }
}

/// Of many backing files, fewer: what files that are no longer shared hold moves to the oldest of them; where all are
/// shared, everything moves to a new one. Cost: reads and writes what moves.
void Pager::merge_files() {
  const int target = fork_files_.home();
  if (target < 0) return;
  bool all_but_target_shared = true;
  for (unsigned i = 0; i < ForkFiles::kFiles; ++i)
    if (fork_files_.fd(i) >= 0 && static_cast<int>(i) != target) all_but_target_shared &= fork_files_.shared(i);
  uint32_t moved = 0;
  for (unsigned i = 0; i < ForkFiles::kFiles; ++i)
    moved |= (fork_files_.fd(i) >= 0 && (all_but_target_shared || !fork_files_.shared(i))) ? 1u << i : 0;
  moved &= ~(1u << target);
  for (unsigned i = 0; i < regions_.count(); ++i)
    if (!move_contents(regions_[i], moved, static_cast<unsigned>(target))) return;
  for (unsigned i = 0; i < ForkFiles::kFiles; ++i) {
    if (!(moved >> i & 1)) continue;
    disk_.use(i, -1);
    fork_files_.close_file(i);
  }
}

/// Moves what the region has in the files `from` (a bit each) to the file `to`. False: it cannot be; nothing is lost.
bool Pager::move_contents(const Region &r, uint32_t from, unsigned to) {
  auto to_move = [&](uint32_t s) {
    const PageState state = pages_[s].state;
    const bool stored = state == PageState::kAbsent || state == PageState::kMark ||
                        (state == PageState::kClean && !(pages_[s].flags & kNoBacking));
    return stored && (from >> fork_files_.file_of(s) & 1);
  };
  const auto end = static_cast<uint32_t>(r.first_slot + (r.bytes >> shift_));
  for (uint32_t s = r.first_slot; s < end;) {
    if (!to_move(s)) {
      s = pages_.next_used(s + 1, end);
      continue;
    }
    const uint32_t most = fork_files_.run(s, std::min(end - s, io_pages_));
    uint32_t n = 1;
    while (n < most && to_move(s + n)) ++n;
    const uint64_t bytes = uint64_t{n} << shift_, offset = uint64_t{s} << shift_;
    int error = os::read_file(fork_files_.fd(fork_files_.file_of(s)), staging_.base(), bytes, offset);
    if (!error) error = fork_files_.reserve(to, offset, bytes);
    if (!error) error = os::write_file(fork_files_.fd(to), staging_.base(), bytes, offset);
    if (error) return false;
    fork_files_.put(s, n, to);
    s += n;
  }
  return true;
}

int Pager::recover() {
  close_own(event_);
  event_ = os::event_open();
  int error = event_ < 0 ? event_ : files_.recover();
  if (!files_only_) {
    fork_files_.after_fork(true);
    disk_.stop(); // our view of the parent's ring
    close_own(faults_);
    faults_ = os::fault_open();
    disk_errors_.start(fork_files_.directory(), &statistics.disk_errors);
    if (faults_ < 0) error = faults_;
  }
  // Of the parent's other threads, none is waiting for anything here.
  commands_.forked();
  waiting_.clear();
  stalls_.clear();
  margins_.forget_all(); // saved at some moment around the fork
  forking_.store(0);
  finishing_ = false;
  sleeping_.store(0);
  started_.store(0);
  hand_ring_.start();
  slice_ring_.start();
  inherited_ = true;
  for (unsigned i = 0; i < regions_.count() && !error; ++i) error = watch_inherited(regions_[i]);
  if (error) return error;
  allowance_.forked();
  cleaning_.stop(); // what it does not use costs nothing
  account();
  return 0;
}

void Pager::abandon() {
  files_.abandon_memory();
  for (unsigned i = 0; i < regions_.count(); ++i) os::unmap(reinterpret_cast<void *>(regions_[i].base), regions_[i].bytes);
}

/// Registration and protection are not inherited.
int Pager::watch_inherited(Region &r) {
  r.draining = false;
  if (const int error = os::fault_watch(faults_, r.base, r.bytes)) return error;
  os::give_to_children(r.base, r.bytes, false);
  const auto end = static_cast<uint32_t>(r.first_slot + (r.bytes >> shift_));
  for (uint32_t s = pages_.next_used(r.first_slot, end); s < end;) {
    uint32_t n = 1;
    if (pages_[s].state == PageState::kClean) {
      while (s + n < end && pages_[s + n].state == PageState::kClean) ++n;
      os::fault_protect(faults_, pages_.address(s), uint64_t{n} << shift_, true);
    }
    s = pages_.next_used(s + n, end);
  }
  return 0;
}

} // namespace pagecast
