// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager/pager.h"

#include "runtime/kernel/message.h"
#include "runtime/state/open_nests.h"
#include "runtime/kernel/os_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace pagecast {
namespace {

constexpr uint64_t kUserPages = 1ull << 35; ///< of a 47-bit address space with 4 KiB pages
constexpr uint64_t kRetryNs = 2000000, kWatchDiskNs = 1000000000;
constexpr unsigned kMostCompletions = 64; ///< in one turn of the loop
constexpr uint32_t kMostArrivals = 128;    ///< pages, at least, whose reads are done, in one turn
enum WatchTag : uint64_t { kFaultsReadable, kEventReadable, kMemoryTells };

} // namespace

// --- start -----------------------------------------------------------------------------------------

bool Pager::start_tables(const Options &options, uint64_t budget, char *why, unsigned room) {
  options_ = &options;
  shift_ = os::page_shift();
  page_ = os::page_size();
  allowance_.start(budget, statistics);
  const uint64_t map_pages = kUserPages << 12 >> shift_;
  auto *bits = static_cast<uint8_t *>(os::reserve(core::ResidencyMap::bytes(map_pages)));
  if (bits) map_.attach(bits, shift_, 0, map_pages);
  hand_ring_.start();
  slice_ring_.start();
  requests_.start();
  auto *blocks = static_cast<core::Cleaning::Block *>(
      os::reserve(PageTable::kSlots / core::Cleaning::kBlockPages * sizeof(core::Cleaning::Block)));
  cleaning_.start(blocks);
  if (bits && blocks && pages_.start() && regions_.start() && files_.start(options, map_, pages_, statistics, budget))
    return true;
  snprintf(why, room, "not enough address space for the pager's tables (ulimit -v?)");
  return false;
}

int Pager::prepare_files(const Options &options, uint64_t budget, char *why, unsigned room) {
  files_only_ = true;
  if (!start_tables(options, budget, why, room)) return -ENOMEM;
  io_pages_ = static_cast<uint32_t>(std::max<uint64_t>(options.io >> shift_, 1));
  event_ = os::event_open();
  if (event_ < 0) {
    snprintf(why, room, "no descriptors are left");
    return event_;
  }
  follow_limit(os::now_ns());
  return 0;
}

int Pager::prepare(const Options &options, uint64_t budget, uint64_t data_bytes, char *why, unsigned room) {
  if (!start_tables(options, budget, why, room)) return -ENOMEM;
  order_.attach(pages_.links(), pages_.capacity());
  due_unit_ = std::max<uint64_t>(budget / 8, page_);
  const uint64_t staging = std::clamp<uint64_t>(budget / 32, 1u << 20, 16u << 20);
  zeros_ = static_cast<char *>(os::map_memory(kZeroPages * page_, true));
  if (!staging_.start(staging) || !zeros_ || !marks_.start()) {
    snprintf(why, room, "not enough memory for the pager");
    return -ENOMEM;
  }
  io_pages_ = static_cast<uint32_t>(std::clamp<uint64_t>(options.io >> shift_, 1, staging_.pages() / 4));
  const uint64_t overflow = data_bytes > budget ? data_bytes - budget : 0;
  if (const int error = fork_files_.start(options.backing, overflow, why, room)) return error;
  disk_errors_.start(fork_files_.directory(), &statistics.disk_errors);
  preallocation_.start(disk_, fork_files_, disk_errors_);
  faults_ = os::fault_open();
  event_ = os::event_open();
  if (faults_ < 0 || event_ < 0) {
    snprintf(why, room, "userfaultfd cannot be opened");
    return faults_ < 0 ? faults_ : event_;
  }
  follow_limit(os::now_ns());
  return 0;
}

/// Before pages are in use for the first time: the tables grow, out of the budget.
void Pager::use_tables(uint32_t slot, uint32_t pages) {
  const uint64_t before = pages_.slots_used();
  pages_.use(slot, pages);
  if (pages_.slots_used() != before) account();
}

int Pager::open_on_thread() {
  if (files_only_) return 0;
  if (const int error = disk_.start(Requests::kMost)) return error;
  disk_.use_memory(staging_.base(), staging_.bytes());
  disk_.watch(faults_, kFaultsReadable);
  disk_.watch(event_, kEventReadable);
  if (allowance_.event() >= 0) disk_.watch(allowance_.event(), kMemoryTells);
  disk_.submit();
  return 0;
}

int Pager::wait_started() {
  while (started_.load(std::memory_order_acquire) == 0) os::futex_wait(reinterpret_cast<uint32_t *>(&started_), 0);
  return start_error_;
}

core::Conditions Pager::conditions() const {
  core::Conditions c;
  c.page = page_;
  c.budget = allowance_.for_pages() + allowance_.for_files();
  c.latency_ns = latency_ns_;
  c.queue_bytes = files_only_ ? 4u << 20 : std::min<uint64_t>(staging_.bytes(), 4u << 20);
  c.max_io = static_cast<uint64_t>(io_pages_) << shift_;
  c.fixed_distance = options_->distance;
  c.schedule = options_->schedule;
  c.release = options_->release != ReleasePolicy::kNone;
  c.at_once = options_->release == ReleasePolicy::kAggressive;
  return c;
}

// --- the loop --------------------------------------------------------------------------------------

void Pager::run() {
  const int error = start_error_ = open_on_thread();
  started_.store(1, std::memory_order_release);
  os::futex_wake(reinterpret_cast<uint32_t *>(&started_));
  if (error) return; // nothing here is this thread's any more
  const uint64_t begun = os::now_ns();
  if (inherited_) sleep(); // what it inherited costs nothing until it is used: a child may exec at once
  for (;;) {
    bool busy = !files_only_ && take_faults();
    if (files_.new_round()) ++freed_; // what the adviser's queue had no room for may find it now
    if (files_.bytes() != files_seen_) {
      files_seen_ = files_.bytes();
      account();
    }
    if (!files_only_) busy |= take_completions();
    flush_discards(); // before anything can be fetched again
    busy |= take_commands();
    if (waiting_.count()) busy |= retry_waiting();
    busy |= run_nests();
    busy |= run_streams();
    busy |= take_hints();
    const uint64_t now = os::now_ns();
    clean_while_idle(now, busy);
    follow_limit(now);
    busy |= give_back(now);
    busy |= arrive_late();
    keep_reserve(busy);
    clean_ahead();
    if (!files_only_) disk_.submit();
    const uint64_t used = static_cast<uint64_t>(used_) << shift_;
    if (!files_only_ && now - watched_ns_ >= kWatchDiskNs) watch_disk(now);
    if (used + statistics.own_bytes > statistics.peak_bytes) statistics.peak_bytes = used + statistics.own_bytes;
    statistics.note((now - begun) / 1000000, used + statistics.own_bytes);
    if (!busy) sleep();
  }
}

/// What the disk has done; of reads, so much that it never waits for new ones while their pages are put into place.
bool Pager::take_completions() {
  bool busy = false;
  uint32_t arrived = 0;
  Disk::Completion done;
  for (unsigned n = 0; n < kMostCompletions && arrived < kMostArrivals && disk_.completions(&done, 1); ++n) {
    if (done.tag & Disk::kWatch) {
      if (done.tag == (Disk::kWatch | kEventReadable)) os::event_clear(event_);
      if (done.tag == (Disk::kWatch | kMemoryTells)) allowance_.pressed(in_motion());
      continue;
    }
    if (done.tag & Preallocation::kTag) {
      busy = true;
      preallocation_.done(done.result);
      ++freed_;
      continue;
    }
    Request &q = requests_[done.tag];
    busy |= !q.idle;
    if (q.write) {
      written(q, done.result);
    } else if (done.result == static_cast<int>(q.pages << shift_)) {
      arrived += q.pages;
      arrive(q);
      continue;
    } else {
      read_failed(q, done.result);
    }
    free_request(q);
  }
  return busy;
}

void Pager::sleep() {
  statistics.pager_cpu_ns = os::thread_cpu_ns();
  sleeping_.store(1, std::memory_order_seq_cst);
  if (!anything_posted()) {
    // A disk that refused is asked again; faults that found no room wait for a completion, or for that.
    const bool retry = waiting_.count() || commands_.pending() || disk_errors_.writes_refused();
    const bool watch = requests_.any() || preallocation_.busy() || disk_errors_.stalled();
    const uint64_t most = files_.waiting() ? Advise::kRetryNs
                          : retry          ? kRetryNs
                          : watch          ? kWatchDiskNs
                                           : 0,
                   look = until_next_look();
    const uint64_t timeout_ns = most && (look == 0 || look > most) ? most : look;
    if (!files_only_) disk_.wait(timeout_ns);
    else os::wait_readable(event_, timeout_ns);
  }
  sleeping_.store(0, std::memory_order_seq_cst);
  if (files_only_) os::event_clear(event_);
}

/// Tells the user of a disk that does not answer. Cost: under 1 us, once a second.
void Pager::watch_disk(uint64_t now) {
  watched_ns_ = now;
  const uint64_t moving = requests_.oldest_ns(), growing = preallocation_.started_ns();
  const bool for_room = growing && (!moving || growing < moving);
  disk_errors_.watch(for_room ? growing : moving, now, for_room);
}

bool Pager::anything_posted() {
  if (commands_.posted()) return true;
  if (!files_.waiting() && (hand_ring_.front() || (slice_ring_.front() && hints_blocked_ != freed_))) return true;
  for (OpenNest &nest : OpenNests()) {
    const uint32_t state = nest.state.load(std::memory_order_acquire);
    if (state == OpenNest::kClosing) return true;
    if (state == OpenNest::kOpen && (!nest.started || nest.step() >= nest.wake_at)) return true;
  }
  return false;
}

void Pager::poke() {
  if (sleeping_.load(std::memory_order_seq_cst) && sleeping_.exchange(0, std::memory_order_seq_cst)) os::event_post(event_);
}

// --- commands --------------------------------------------------------------------------------------

int Pager::command(Command::Kind kind, uint64_t address, uint64_t bytes) {
  return commands_.call(kind, address, bytes, [this] { poke(); });
}

int Pager::add(uint64_t address, uint64_t bytes) { return command(Command::kAdd, address, bytes); }
int Pager::remove(uint64_t address, uint64_t bytes) { return command(Command::kRemove, address, bytes); }
int Pager::clear(uint64_t address, uint64_t bytes) { return command(Command::kClear, address, bytes); }
void Pager::finish_overwriting() { command(Command::kFinishOverwriting, 0, 0); }

bool Pager::is_valid(const char **why) { return command(Command::kCheck, reinterpret_cast<uint64_t>(why), 0) == 0; }

bool Pager::take_commands() {
  Command *c = commands_.front();
  if (!c || !try_command(*c)) return false;
  const bool hold = c->kind == Command::kFork;
  commands_.finish();
  if (hold) hold_still();
  return true;
}

/// False: I/O on the range is under way, or what it waits for has not happened yet; ask again.
bool Pager::try_command(Command &c) {
  if (c.kind == Command::kAdd && files_only_) {
    c.result = -ENOTSUP;
    return true;
  }
  if (c.kind == Command::kAdd) {
    c.result = do_add(c.address, c.bytes);
    return true;
  }
  if (c.kind == Command::kFinishOverwriting) {
    finishing_ = !may_overwrite(); // else there is nothing to wait for
    return !finishing_ || all_stored();
  }
  if (c.kind == Command::kFork) {
    // The child sees what was in memory, or what the nests of other threads have stored. A handler may fork in a nest, too.
    finishing_ = options_->overwrite == 1;
    forks_behind_nests_.store(finishing_ && !all_stored(), std::memory_order_relaxed);
    if (forks_behind_nests_.load(std::memory_order_relaxed) || !quiet(0, ~0ull) || preallocation_.busy()) return false;
    prepare_fork(c.address);
    return true;
  }
  if (c.kind == Command::kCheck) {
    const char *broken = *reinterpret_cast<const char **>(c.address) = broken_invariant();
    c.result = broken ? -EINVAL : 0;
    return true;
  }
  if (!quiet(c.address, c.address + c.bytes)) return false;
  forget(c.address, c.address + c.bytes, c.kind == Command::kClear);
  c.result = 0;
  return true;
}

int Pager::do_add(uint64_t address, uint64_t bytes) {
  Region region;
  region.base = address;
  region.bytes = bytes;
  uint8_t there = 0; // who cannot tell what has contents would lose some, or write what is not there, and wait for itself
  if (const int error = os::populated(address, 1, &there)) return error;
  region.first_slot = pages_.allocate(address, bytes >> shift_);
  if (region.first_slot == kNoSlot) return -ENOSPC;
  int error = os::fault_watch(faults_, address, bytes);
  if (!error && !regions_.insert(region)) {
    os::fault_unwatch(faults_, address, bytes);
    error = -ENOSPC;
  }
  if (error) {
    pages_.free(region.first_slot, bytes >> shift_, true);
    return error;
  }
  os::give_to_children(address, bytes, false);
  account();
  statistics.regions = regions_.count();
  statistics.region_bytes += bytes;
  Region *r = regions_.find(address);
  const uint32_t before = used_;
  error = adopt_populated(*r);
  const uint64_t to_come = to_come_.load(std::memory_order_relaxed);
  to_come_.store(to_come - std::min(to_come, static_cast<uint64_t>(used_ - before) << shift_), std::memory_order_relaxed);
  return error;
}

/// Pages that the program has touched before the range became a region: dirty, and resident.
int Pager::adopt_populated(Region &r) {
  uint8_t there[2048];
  const uint64_t pages = r.bytes >> shift_;
  for (uint64_t i = 0; i < pages; i += sizeof there) {
    const uint64_t n = std::min<uint64_t>(pages - i, sizeof there);
    if (os::populated(r.base + (i << shift_), n, there)) std::fill_n(there, n, uint8_t{1}); // cannot tell: assume contents
    for (uint64_t j = 0; j < n; ++j) {
      if (!there[j]) continue;
      const auto slot = static_cast<uint32_t>(r.first_slot + i + j);
      pages_.use(slot, 1);
      pages_[slot].state = PageState::kDirty;
      order_.insert_active(slot);
      map_.set(extent(slot, 1));
      ++used_;
    }
  }
  account();
  if (used_ > allowance_.pages()) evict(used_ - allowance_.pages());
  return 0;
}

/// Stops new I/O on the regions that overlap the range; true when none is under way.
bool Pager::quiet(uint64_t begin, uint64_t end) {
  bool still = true;
  for (unsigned i = 0; i < regions_.count(); ++i) {
    Region &r = regions_[i];
    if (r.base >= end || r.end() <= begin) continue;
    r.draining = true;
    still &= r.in_flight == 0;
  }
  return still;
}

/// Drops the contents of the range. `keep_region`: it stays a region, of zero pages.
void Pager::forget(uint64_t begin, uint64_t end, bool keep_region) {
  for (unsigned i = 0; i < regions_.count(); ++i) {
    Region &r = regions_[i];
    if (r.base >= end || r.end() <= begin) continue;
    r.draining = false;
    const uint64_t from = std::max(begin, r.base), to = std::min(end, r.end());
    const uint32_t first = slot_of(r, from);
    const auto pages = static_cast<uint32_t>((to - from) >> shift_);
    for (uint32_t s = pages_.next_used(first, first + pages); s < first + pages; s = pages_.next_used(s + 1, first + pages)) {
      if (resident(pages_[s].state)) {
        order_.remove(s);
        --used_;
      } else if (pages_[s].state == PageState::kMark) {
        drop_mark(s);
      } else if (pages_[s].state == PageState::kLost && keep_region) {
        os::fault_heal(faults_, pages_.address(s), page_);
      }
      pages_[s] = {};
    }
    map_.clear({from, to});
    fault_streams_.forget(static_cast<int64_t>(from), static_cast<int64_t>(to));
    const iovec range{reinterpret_cast<void *>(from), to - from};
    os::discard(&range, 1);
    if (!keep_region) {
      margins_.forget({from, to});
      os::fault_unwatch(faults_, from, to - from);
      pages_.free(first, pages, to == r.end());
      statistics.region_bytes -= to - from;
    }
    os::fault_wake(faults_, from, to - from);
  }
  if (!keep_region) regions_.cut(begin, end, shift_);
  statistics.regions = regions_.count();
  ++freed_;
}

} // namespace pagecast
