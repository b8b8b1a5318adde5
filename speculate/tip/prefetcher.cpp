// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/tip/prefetcher.h"
#include "speculate/tip/fetch.h"
#include "speculate/watch/clock.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

namespace pagecast::speculate {
namespace {

constexpr size_t kThreadStack = 64 << 10;
constexpr uint64_t kUnknownDevice = ~uint64_t{0};
constexpr uint64_t kNear = 256; ///< hints
constexpr uint64_t kPageMask = 4095;
constexpr uint64_t kLookEvery = 2000000; ///< ns
constexpr uint64_t kJoined = 256 << 10; ///< bytes that hints are joined up to

void *allocate(size_t bytes) {
  void *const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

} // namespace

bool Prefetcher::start(HintLog *log) {
  log_ = log;
  items_ = static_cast<Item *>(allocate(sizeof(Item) * kQueue));
  if (!items_) return false;
  const std::lock_guard lock(mutex_);
  if (read_so_far_) read_at_start_ = read_so_far_();
  return start_worker();
}

/// With the lock.
bool Prefetcher::start_worker() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kThreadStack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const bool made = pthread_create(&thread, &attributes, run, this) == 0;
  pthread_attr_destroy(&attributes);
  started_ += made;
  return made;
}

void *Prefetcher::run(void *self) {
  prctl(PR_SET_NAME, "pagecast-tip"); // storage and tools can tell whose reads these are
  static_cast<Prefetcher *>(self)->work();
  return nullptr;
}

void Prefetcher::work() {
  char *const scratch = static_cast<char *>(allocate(kScratchBytes));
  if (!scratch) return;
  FetchedFile file;
  for (Hint hint;;) {
    if (!take(&hint)) {
      file.close(); // an idle thread holds no file: it could be in somebody's way
      wait_for_work();
      continue;
    }
    carry_out(hint, file, scratch);
    const std::lock_guard lock(mutex_);
    std::replace(std::begin(running_), std::end(running_), static_cast<const Hint *>(&hint), static_cast<const Hint *>(nullptr));
    active_--;
    device_of(hint).active--; // this thread takes what there is room for now
  }
}

/// Room in the lead is not announced by everyone who makes it, so one thread looks whether there is some.
void Prefetcher::wait_for_work() {
  std::unique_lock lock(mutex_);
  if (can_take()) return;
  idle_++;
  const bool looks = head_ != tail_ && is_too_far() && !looking_;
  looking_ |= looks;
  if (looks) change_.wait_for(lock, std::chrono::milliseconds(2));
  else change_.wait(lock);
  if (looks) looking_ = false;
  idle_--;
  if (head_ != tail_ && is_too_far()) look_at_progress();
}

/// With the lock. Hints are in order: none is taken before the first, but those that are dropped.
bool Prefetcher::can_take() {
  if (head_ == tail_) return false;
  const Item &first = items_[tail_ & (kQueue - 1)];
  if (first.dropped || is_cancelled_now(first.hint) || is_in_vain(first.hint)) return true;
  return !is_too_far() && !must_wait(first.hint);
}

/// With the lock. Wakes one thread if there is something for it, or nobody who looks; it wakes the next. All at once would be in each other's way.
void Prefetcher::wake() {
  if (idle_ && head_ != tail_ && (can_take() || (is_too_far() && !looking_))) change_.notify_one();
}

/// With the lock.
void Prefetcher::look_at_progress() {
  if (!read_so_far_ || monotonic_now() < looked_ + kLookEvery) return;
  looked_ = monotonic_now();
  const uint64_t read = read_so_far_() - read_at_start_;
  if (read > read_by_workers_) consumed_ = std::clamp(read - read_by_workers_, consumed_, std::max(consumed_, fetched_));
}

/// With the lock. Where the device is not known, it is probably the last one; when there are too many, some share a depth.
Prefetcher::Device &Prefetcher::device_of(const Hint &hint) {
  if (hint.device == 0 && known_) return devices_[last_];
  const uint64_t id = hint.device ? hint.device : kUnknownDevice;
  for (unsigned i = 0; i < known_; i++)
    if (devices_[i].id == id) return devices_[last_ = i];
  if (known_ == kDevices) return devices_[last_ = kDevices - 1];
  devices_[known_].id = id;
  return devices_[last_ = known_++];
}

/// With the lock: its device has enough to do, or is asked whether it keeps such things.
bool Prefetcher::must_wait(const Hint &hint) {
  const Device &device = device_of(hint);
  return device.active >= device.depth.depth() || (hint.kind == HintKind::kDirectory && device.listing);
}

bool Prefetcher::is_known(const Hint &hint, Matter matter) {
  const std::lock_guard lock(mutex_);
  return device_of(hint).kept[matter].is_known();
}

void Prefetcher::saw(const Hint &hint, Matter matter, bool there, bool clearly) {
  const std::lock_guard lock(mutex_);
  device_of(hint).kept[matter].saw(there, clearly);
}

int Prefetcher::fetch_facts(const Hint &hint) {
  const uint64_t begin = monotonic_now();
  const int failure = speculate::fetch_facts(hint.path);
  const uint64_t first = monotonic_now() - begin;
  if (failure || is_known(hint, kFacts)) return failure;
  speculate::fetch_facts(hint.path);
  saw(hint, kFacts, Kept::is_from_memory(first, monotonic_now() - begin - first));
  return 0;
}

/// A name that turned out to be a directory's. Counts it.
bool Prefetcher::is_listed_in_vain(const Hint &hint) {
  const std::lock_guard lock(mutex_);
  if (!device_of(hint).kept[kListings].is_in_vain()) return false;
  counts_.in_vain++;
  return true;
}

int Prefetcher::fetch_names(const Hint &hint, char *scratch) {
  Listing listing, again;
  listing.may_stop = !is_known(hint, kListings);
  const int failure = speculate::fetch_names(hint.path, scratch, &listing);
  Hint of = hint;
  of.device = listing.device; // which was not known of a name of the command line
  if (listing.dropped) saw(of, kListings, false, true); // or memory was taken away just then: once more is asked
  for (unsigned i = 0; i < Kept::kTries && !failure && !is_known(of, kListings); i++) {
    const bool there = fetch_first_names(hint.path, scratch, &again) == 0 && Kept::is_from_memory(listing.first, again.first);
    saw(of, kListings, there, Kept::is_clearly_not(listing.first, again.first));
  }
  const std::lock_guard lock(mutex_);
  device_of(hint).listing = false;
  return failure;
}

bool Prefetcher::take(Hint *hint) {
  const std::lock_guard lock(mutex_);
  for (; tail_ != head_; tail_++) {
    Item &item = items_[tail_ & (kQueue - 1)];
    if (item.dropped) continue;
    if (is_cancelled_now(item.hint)) {
      counts_.cancelled++;
      continue;
    }
    if (is_in_vain(item.hint)) {
      counts_.in_vain++;
      if (item.hint.copy == counted_copy_) counted_in_vain_++;
      continue;
    }
    if (is_too_far() || must_wait(item.hint)) return false; // they are in order: none is taken before it
    Device &device = device_of(item.hint);
    *hint = item.hint;
    tail_++;
    join(hint);
    hint->device = device.id;
    device.active++;
    if (hint->kind == HintKind::kDirectory && !device.kept[kListings].is_known()) device.listing = true;
    *std::find(std::begin(running_), std::end(running_), nullptr) = hint;
    if (++active_ == started_ && started_ < kWorkers) start_worker();
    wake();
    return true;
  }
  return false;
}

/// With the lock. Takes what follows in the queue and in the file.
void Prefetcher::join(Hint *hint) {
  while (hint->kind == HintKind::kRange && tail_ != head_) {
    const Item &next = items_[tail_ & (kQueue - 1)];
    if (next.dropped || next.hint.kind != HintKind::kRange || next.hint.inode != hint->inode || next.hint.copy != hint->copy)
      return;
    if (next.hint.offset != hint->offset + hint->length || hint->length + next.hint.length > kJoined) return;
    hint->length += next.hint.length;
    counts_.joined++;
    tail_++;
  }
}

/// With the lock.
void Prefetcher::answered(const Hint &hint, uint64_t nanoseconds) {
  counts_.requests++;
  counts_.nanoseconds += nanoseconds;
  device_of(hint).depth.answered(nanoseconds);
}

bool Prefetcher::is_cancelled(const Hint &hint) {
  const std::lock_guard lock(mutex_);
  return is_cancelled_now(hint);
}

void Prefetcher::carry_out(Hint &hint, FetchedFile &file, char *scratch) {
  const uint64_t begin = monotonic_now();
  int failure = 0;
  switch (hint.kind) {
  case HintKind::kStat: failure = fetch_facts(hint); break;
  case HintKind::kDirectory: failure = fetch_names(hint, scratch); break;
  case HintKind::kAny:
    failure = file.open(hint.path);
    if (failure == 0) hint.kind = HintKind::kOpen;
    else if (failure == -EINVAL && is_listed_in_vain(hint)) return;
    else if (failure == -EINVAL) failure = fetch_names(hint, scratch);
    break;
  default: failure = file.open(hint.path);
  }
  if (!failure && (hint.kind == HintKind::kOpen || hint.kind == HintKind::kRange)) return fetch_range(hint, file, scratch);
  const std::lock_guard lock(mutex_);
  if (failure) counts_.failed++;
  else {
    counts_.done++;
    answered(hint, monotonic_now() - begin);
    if (hint.copy == counted_copy_) counted_done_++;
  }
}

void Prefetcher::fetch_range(Hint &hint, FetchedFile &file, char *scratch) {
  HintObserver *const observer = log_ ? log_->observer() : nullptr;
  if (hint.kind == HintKind::kOpen) {
    hint.offset = 0;
    hint.length = file.size() <= kSmallFile ? file.size() : kPieceBytes;
    log_->add(file.inode(), 0, hint.length);
    if (observer) observer->hinted(file.inode(), 0, hint.length);
  }
  if (hint.offset < file.size()) hint.length = std::min(hint.length, file.size() - hint.offset);
  else hint.length = 0;
  uint64_t bytes = 0, requests = 0;
  for (uint64_t at = 0; at < hint.length;) {
    const uint64_t piece = std::min(hint.length - at, kPieceBytes);
    if (!file.is_cached(hint.offset + at, piece)) {
      if (is_cancelled(hint)) break;
      const uint64_t begin = monotonic_now();
      if (observer) observer->fetching(file.inode(), hint.offset + at, piece, false);
      if (file.fetch(hint.offset + at, piece, scratch) <= 0) break;
      if (observer) observer->fetching(file.inode(), hint.offset + at, piece, true);
      if (file.is_read() && !is_known(hint, kData)) {
        const uint64_t first = monotonic_now() - begin;
        saw(hint, kData, Kept::is_from_memory(first, file.time_again(hint.offset + at, scratch)));
      }
      const std::lock_guard lock(mutex_);
      read_by_workers_ += file.is_read() ? piece : 0;
      answered(hint, monotonic_now() - begin);
      requests++;
      bytes += piece;
    }
    at += piece;
  }
  const std::lock_guard lock(mutex_);
  const bool begun = hint.begun && requests == 0;
  if (begun) bytes = hint.length;
  counts_.bytes += bytes;
  fetched_ += bytes;
  if (bytes) paged_ += (hint.offset + bytes + kPageMask) / (kPageMask + 1) * (kPageMask + 1) - (hint.offset & ~kPageMask);
  const bool done = requests > 0 || hint.kind == HintKind::kOpen || begun;
  (begun ? counts_.begun : done ? counts_.done : counts_.in_memory)++;
  if (done && hint.copy == counted_copy_) counted_done_++;
}

bool Prefetcher::give(const Hint &hint) {
  const std::lock_guard lock(mutex_);
  if (head_ - tail_ >= kQueue) return false;
  Item &item = items_[head_++ & (kQueue - 1)];
  item.hint = hint;
  item.dropped = false;
  counts_.hints++;
  wake();
  return true;
}

void Prefetcher::cancel(uint32_t copy) {
  const std::lock_guard lock(mutex_);
  cancelled_ = std::max(cancelled_, copy);
  wake();
}

uint64_t Prefetcher::drop_queued(uint32_t copy) {
  const std::lock_guard lock(mutex_);
  cancelled_ = std::max(cancelled_, copy);
  uint64_t dropped = 0;
  for (; tail_ != head_; tail_++) dropped += !items_[tail_ & (kQueue - 1)].dropped;
  counts_.cancelled += dropped;
  return dropped;
}

void Prefetcher::passed(uint64_t inode, uint64_t offset, const char *path) {
  const std::lock_guard lock(mutex_);
  const auto is_here = [&](const Hint &hint) {
    return path ? !strcmp(hint.path, path) : hint.inode == inode && hint.offset <= offset && offset < hint.offset + hint.length;
  };
  for (const Hint *const running : running_)
    if (running && is_here(*running)) return;
  // Not far: what is found there may be the same place at a later time.
  const uint64_t end = std::min(head_, tail_ + kNear);
  uint64_t found = tail_;
  while (found != end && !is_here(items_[found & (kQueue - 1)].hint)) found++;
  if (found == end) return;
  // Hints are in the program's order only within what a copy gives, or the command line: names that the program has still to come to
  // stand before those of a copy that was made later.
  const uint32_t copy = items_[found & (kQueue - 1)].hint.copy;
  for (uint64_t at = tail_; at != found; at++) {
    Item &item = items_[at & (kQueue - 1)];
    if (item.dropped || item.hint.copy != copy) continue;
    item.dropped = true;
    counts_.late++;
  }
  consumed_ = fetched_; // what was fetched before it has been read, or never will be
  wake();
}

void Prefetcher::limit_depth(unsigned most) {
  const std::lock_guard lock(mutex_);
  for (Device &device : devices_) device.depth.limit(most);
  wake();
}

void Prefetcher::set_lead(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  lead_ = bytes;
  wake();
}

uint64_t Prefetcher::lead_as_read() {
  const std::lock_guard lock(mutex_);
  return static_cast<uint64_t>(static_cast<double>(lead_) / pages_per_byte());
}

void Prefetcher::consumed(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  consumed_ = std::min(fetched_, consumed_ + bytes);
  wake();
}

PrefetchCounts Prefetcher::counts() {
  const std::lock_guard lock(mutex_);
  counts_.depth = devices_[last_].depth.depth();
  return counts_;
}

Kept Prefetcher::listings_of(uint64_t device) {
  const std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < known_; i++)
    if (device ? devices_[i].id == device : i == last_) return devices_[i].kept[kListings];
  return {};
}

uint64_t Prefetcher::done_for(uint32_t copy) {
  const std::lock_guard lock(mutex_);
  if (counted_copy_ == copy) return counted_done_;
  counted_copy_ = copy;
  counted_done_ = counted_in_vain_ = 0;
  return 0;
}

uint64_t Prefetcher::in_vain_for(uint32_t copy) {
  const std::lock_guard lock(mutex_);
  return counted_copy_ == copy ? counted_in_vain_ : 0;
}

uint64_t Prefetcher::queued() {
  const std::lock_guard lock(mutex_);
  return head_ - tail_ + active_;
}

} // namespace pagecast::speculate
