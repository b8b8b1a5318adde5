// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/backing_store.h"

#include "core/arithmetic.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/own_files.h"
#include "runtime/state/options.h"

#include <algorithm>
#include <cerrno>

namespace pagecast {
namespace {

/// The part of the budget that staging takes: in pages of 4 KiB, and in large pages, for which the part must be large enough.
/// Half is enough of large pages: a device transfers to fewer places, and a disk is at its speed with 2 MiB under way, as long as
/// that is many requests.
constexpr uint64_t kStagingShare = 64, kLargeStagingShare = 128;
constexpr uint64_t kLeastStaging = 512u << 10, kMostInPages = 3 * os::kLargePage / 4, kMostStaging = 16u << 20;
constexpr uint32_t kReadShare = 16; ///< the largest read is one part in so many of staging,
constexpr uint32_t kLeastRead = 16; ///< or this many pages where that is more
/// Reads under way for hints: a disk is at its speed with fewer. What is left of Requests::kMostUnderWay is for writes.
constexpr uint32_t kMostReading = 192;
constexpr uint32_t kStagingForFaults = 64,
                   kShareForFaults = 8; ///< pages of staging that hints leave to faults, and at most this part
/// For so long hints wait for reads under way to end, so that staging can be made anew in large pages.
constexpr uint64_t kStagingPatienceNs = 5'000'000;
constexpr unsigned kLastRequests = 8; ///< that writes leave to faults
/// Room for pages mostly comes within a millisecond.
constexpr uint64_t kLateRoomNs = 100'000'000;
constexpr uint64_t kStoreTells = 1u << 20; ///< tag of what is watched, and the store's number; the pager's own are smaller
constexpr uint64_t kWatchDiskNs = 1'000'000'000;

} // namespace

uint64_t BackingStore::staging_bytes_for(uint64_t budget) {
  const uint64_t in_pages = std::max(budget / kStagingShare, kLeastStaging);
  if (in_pages < kMostInPages) return in_pages;
  return core::round_up(std::min(budget / kLargeStagingShare, kMostStaging), os::kLargePage);
}

/// Two directories on one device are one store, since that is no faster for being asked twice.
static void drop_same_devices(StoreList &list) {
  uint64_t device[Stripes::kMost] = {};
  for (unsigned i = 0; i < list.count(); ++i) {
    os::DirectoryFacts facts;
    if (os::directory_facts(list[i], &facts)) continue; // whoever makes a file there will say it
    device[i] = facts.device;
    for (unsigned before = 0; before < i; ++before) {
      if (device[before] != device[i]) continue;
      say("%s and %s are on one device: pages go to the first of them only", list[before], list[i]);
      list.drop(i--);
      break;
    }
  }
}

int BackingStore::start(const char *directories, uint64_t budget, uint64_t overflow, uint64_t io, char *why, unsigned capacity) {
  if (!list_.read(directories)) {
    write_text(why, capacity, "the backing directories are more than %u, or their names are too long", Stripes::kMost);
    return -E2BIG;
  }
  if (list_.count() > 1) drop_same_devices(list_);
  Store *stores[Stripes::kMost];
  unsigned remote = 0;
  for (unsigned i = 0; i < list_.count(); ++i) remote += is_server_address(list_[i]);
  if (remote > kMostNbd) return write_text(why, capacity, "there are more than %u backing addresses", kMostNbd), -E2BIG;
  if (const int error = start_staging(budget, io, remote, why, capacity)) return error;
  remote = 0;
  for (unsigned i = 0; i < list_.count(); ++i) {
    if (is_server_address(list_[i])) {
      if (const int error = nbd_.make(remote).start(list_[i], staging_, budget, patience_s_, why, capacity)) return error;
      stores[i] = &nbd_.make(remote++);
      continue;
    }
    LocalStore &local = local_.make(i);
    local.start(disk_, list_[i]);
    stores[i] = &local;
  }
  return start_stores(stores, list_.count(), overflow, why, capacity);
}

int BackingStore::start(Store *const *stores, unsigned count, uint64_t budget, uint64_t overflow, uint64_t io, char *why,
                        unsigned capacity) {
  if (const int error = start_staging(budget, io, false, why, capacity)) return error;
  return start_stores(stores, count, overflow, why, capacity);
}

int BackingStore::start_stores(Store *const *stores, unsigned count, uint64_t overflow, char *why, unsigned capacity) {
  if (const int error = fork_files_.start(stores, count, overflow, why, capacity)) return error;
  stores_ = count;
  uint64_t free = 0;
  for (unsigned i = 0; i < count; ++i) {
    used_store_[i].store = stores[i];
    most_bytes_ = std::max(most_bytes_, fork_files_.room(i).most_extents() *
                                            Room::kExtent); // stripes that one store has no room for go to the others
    if (stores[i]->event() >= 0) remote_ |= 1u << i;
    used_store_[i].preallocation.start(fork_files_, used_store_[i].errors, i);
    if (count > 1) free += std::min(stores[i]->free_bytes(), ~uint64_t{0} / Stripes::kMost);
  }
  start_errors();
  if (count == 1) return 0;
  if (free < overflow) {
    write_text(why, capacity, "the backing directories have %llu MiB free together, but %llu MiB may be needed",
               static_cast<unsigned long long>(free >> 20), static_cast<unsigned long long>(overflow >> 20));
    return -ENOSPC;
  }
  return stripes_.start(count);
}

void BackingStore::start_errors() {
  for (unsigned i = 0; i < all_stores(); ++i) {
    used_store_[i].errors.start(used_store_[i].store->name(), &statistics_.disk_errors, i < stores_ && stores_ > 1);
    statistics_.store[i].name = used_store_[i].store->name();
  }
  statistics_.stores = all_stores();
}

int BackingStore::start_staging(uint64_t budget, uint64_t io, bool shared, char *why, unsigned capacity) {
  shift_ = os::page_shift();
  requests_.start();
  const uint64_t bytes = staging_bytes_for(budget);
  if (!(shared ? staging_.start_shared(bytes) : staging_.start(bytes))) {
    write_text(why, capacity, "not enough memory for the pager");
    return -ENOMEM;
  }
  io_pages_ = static_cast<uint32_t>(std::max<uint64_t>(io >> shift_, 1));
  read_pages_ = std::min(io_pages_, std::max(kLeastRead, staging_.pages() / kReadShare));
  staging_size_.start(staging_.pages());
  return 0;
}

uint32_t BackingStore::staging_wanted(uint64_t now) {
  if (!staging_.can_resize()) return staging_.pages();
  staging_size_.look(staging_.most_taken(), staging_.lacked(), now);
  staging_.begin_look();
  const uint32_t wanted = staging_size_.wanted();
  if (wanted == staging_.pages()) return staging_waits_ns_ = 0, wanted;
  if (staging_.in_use() == 0) return wanted;
  if (wanted < staging_.pages()) return 0;
  if (staging_waits_ns_ == 0) staging_waits_ns_ = now;
  return now - staging_waits_ns_ < kStagingPatienceNs ? 0 : wanted;
}

void BackingStore::resize_staging(uint32_t pages) {
  disk_.leave_memory();
  staging_.resize(pages);
  disk_.use_memory(staging_.base(), staging_.bytes());
  staging_waits_ns_ = 0;
}

void BackingStore::start_without(uint64_t io) {
  shift_ = os::page_shift();
  requests_.start();
  io_pages_ = read_pages_ = static_cast<uint32_t>(std::max<uint64_t>(io >> shift_, 1));
}

int BackingStore::open() {
  if (lacks_staging_) return -ENOMEM;
  if (const int error = disk_.start(Requests::kMost)) return error;
  disk_.use_memory(staging_.base(), staging_.bytes());
  for (unsigned i = 0; i < all_stores() && remote_; ++i) {
    if (const int error = used_store_[i].store->open()) return error;
    if (remote_ >> i & 1) disk_.watch(used_store_[i].store->event(), kStoreTells + i);
  }
  open_ = true;
  return 0;
}

uint8_t BackingStore::attach(NbdStore &map) {
  if (!open_ || maps_ == kMostMaps) return 0;
  const unsigned i = stores_ + maps_++;
  used_store_[i].store = map_[maps_ - 1] = &map;
  remote_ |= 1u << i;
  used_store_[i].errors.start(map.name(), &statistics_.disk_errors);
  statistics_.store[i].name = map.name();
  statistics_.stores = all_stores();
  disk_.watch(map.event(), kStoreTells + i);
  return static_cast<uint8_t>(maps_);
}

BackingStore::Target BackingStore::target(unsigned file, uint32_t slot, const Origin &o) {
  const uint64_t at = uint64_t{slot} << shift_;
  if (o.is_map()) return {used_store_[number_of(o)].store, number_of(o), 0, o.start + at};
  return {&fork_files_.store(file), fork_files_.store_of(file), file, at};
}

// --- reads -----------------------------------------------------------------------------------------

bool BackingStore::takes_read(bool demand) const {
  if (!demand && (reading_ >= kMostReading || requests_.under_way() >= Requests::kMostUnderWay || staging_waits_ns_ ||
                  staging_.free_pages() < std::min(kStagingForFaults, staging_.pages() / kShareForFaults)))
    return false;
  return requests_.free() != 0;
}

uint32_t BackingStore::longest_read(uint32_t slot, uint32_t pages, const Origin &origin) const {
  if (origin.is_map()) return std::min(pages, read_pages_);
  return fork_files_.run(slot, std::min(pages, read_pages_));
}

uint32_t BackingStore::read(uint32_t slot, uint32_t pages, uint16_t site, uint8_t nest, const Origin &origin) {
  const Target from = target(fork_files_.file_of(slot), slot, origin);
  uint32_t first = 0;
  pages = staging_.take(pages, &first);
  if (pages == 0) return 0;
  Request &q = requests_.take();
  q = {os::now_ns(), slot, pages, first, site, nest, false, true};
  const uint64_t bytes = static_cast<uint64_t>(pages) << shift_;
  if (!from.store->read(from.file, staging_.address(first), bytes, from.offset, requests_.tag(q))) {
    staging_.give(first, pages);
    free_request(q);
    return 0;
  }
  ++reading_;
  begin(q, from, bytes);
  return pages;
}

void BackingStore::read_done(Request &q) {
  --reading_;
  staging_.give(q.staging, q.pages);
}

const char *BackingStore::read_now(uint32_t slot, const Origin &origin) {
  const Target from = target(fork_files_.file_of(slot), slot, origin);
  const int error = from.store->read_now(from.file, staging_.base(), uint64_t{1} << shift_, from.offset);
  return error ? nullptr : staging_.base();
}

// --- writes ----------------------------------------------------------------------------------------

bool BackingStore::UsedStore::stuck() const {
  return errors.writes_refused() || errors.stalled() ||
         (preallocation.busy() && os::now_ns() - preallocation.started_ns() > kLateRoomNs);
}

bool BackingStore::writes_are_stuck() const {
  return !any([](const UsedStore &p) { return !p.stuck(); });
}

/// The store for pages from now on. One that refuses is asked again from time to time.
unsigned BackingStore::choose(uint32_t slot, uint32_t pages) {
  if (stores_ == 1) return 0;
  const uint64_t now = os::now_ns();
  uint32_t good = 0, worth_a_try = 0;
  for (unsigned i = 0; i < stores_; ++i) {
    const UsedStore &p = used_store_[i];
    if (!p.stuck()) good |= 1u << i;
    if (p.errors.writes_refused() && !p.errors.stalled() && p.errors.may_write(now) && p.errors.may_reserve(now))
      worth_a_try |= 1u << i;
  }
  const uint32_t usable = good | worth_a_try;
  return stripes_.choose(slot, pages, usable ? usable : (1u << stores_) - 1);
}

/// Counts a request that has begun.
void BackingStore::begin(Request &q, const Target &target, uint64_t bytes) {
  q.store = static_cast<uint8_t>(target.number);
  Statistics::Store &s = statistics_.store[q.store];
  ++(q.write ? statistics_.writes : statistics_.reads);
  ++(q.write ? s.writes : s.reads);
  if (!q.copied) (q.write ? statistics_.written_bytes : statistics_.read_bytes) += bytes;
  (q.write ? s.written_bytes : s.read_bytes) += bytes;
  if (stores_ > 1 && q.store < stores_) stripes_.began(q.store, q.started_ns);
}

bool BackingStore::may_request(unsigned writes) const {
  return pages_writing_ == 0 ? requests_.free() >= kLastRequests + writes
                             : requests_.under_way() + writes <= Requests::kMostUnderWay;
}

int BackingStore::file_for(uint32_t slot, uint32_t pages, uint32_t high_water) {
  const unsigned store = choose(slot, pages);
  UsedStore &used = used_store_[store];
  if (used.errors.writes_refused() && !used.errors.may_write(os::now_ns())) return -1;
  const int home = fork_files_.home(store);
  if (home < 0) used.errors.no_room(home, os::now_ns());
  // Pages that were there before need no new room.
  const uint64_t offset = static_cast<uint64_t>(slot) << shift_, bytes = static_cast<uint64_t>(pages) << shift_;
  const bool good = home >= 0 && used.preallocation.have_room(static_cast<unsigned>(home), offset, bytes,
                                                              static_cast<uint64_t>(high_water) << shift_);
  return good ? home : -1;
}

void BackingStore::move_to(unsigned file, uint32_t slot, uint32_t pages) {
  fork_files_.put(slot, pages, file);
  file_ = file;
}

const Request &BackingStore::write(uint32_t slot, uint32_t pages, uint64_t address, bool idle, const Origin &origin) {
  Request &q = requests_.take();
  q = {os::now_ns(), slot, pages, 0, 0, 0, true, true, false, idle};
  const auto *from = reinterpret_cast<const void *>(address);
  const uint64_t bytes = static_cast<uint64_t>(pages) << shift_;
  const Target to = target(file_, slot, origin);
  if (!to.store->write(to.file, from, bytes, to.offset, requests_.tag(q))) {
    disk_.submit(); // the submission queue was full, not the ring: once more
    to.store->write(to.file, from, bytes, to.offset, requests_.tag(q));
  }
  pages_writing_ += pages;
  if (idle) pages_cleaning_ += pages;
  begin(q, to, bytes);
  return q;
}

void BackingStore::write_shelved(uint32_t slot, uint32_t pages, uint64_t address, uint32_t copy) {
  Request &q = requests_[requests_.tag(write(slot, pages, address, true))];
  q.shelved = true;
  q.staging = copy;
}

int BackingStore::write_copy(uint32_t slot, uint32_t pages, uint64_t address, bool idle, bool again, const Origin &origin) {
  if (requests_.free() < kLastRequests) return 0;
  uint32_t first = 0;
  pages = staging_.take(pages, &first);
  if (pages == 0) return 0;
  const uint64_t bytes = static_cast<uint64_t>(pages) << shift_;
  const int error = os::copy_protected_memory(staging_.address(first), address, bytes);
  Request &q = requests_.take();
  const auto tag = requests_.tag(q);
  const Target to = target(fork_files_.file_of(slot), slot, origin);
  if (error || !to.store->write(to.file, staging_.address(first), bytes, to.offset, tag)) {
    staging_.give(first, pages);
    free_request(q);
    return error;
  }
  q = {os::now_ns(), slot, pages, first, 0, 0, true, true, true, idle};
  pages_writing_ += pages;
  if (idle) pages_cleaning_ += pages;
  if (!again) statistics_.written_bytes += bytes;
  begin(q, to, bytes);
  return static_cast<int>(pages);
}

int BackingStore::write_now(uint32_t slot, uint64_t address, const Origin &origin) {
  const Target to = target(0, slot, origin);
  return to.store->write_now(to.file, reinterpret_cast<const void *>(address), uint64_t{1} << shift_, to.offset);
}

void BackingStore::write_done(const Request &q) {
  pages_writing_ -= q.pages;
  if (q.idle) pages_cleaning_ -= q.pages;
  if (q.copied) staging_.give(q.staging, q.pages);
}

void BackingStore::wrote(const Request &q, bool good, int result) {
  DiskErrors &errors = used_store_[q.store].errors;
  statistics_.store[q.store].failed += !good;
  if (!good) errors.write_failed(result, os::now_ns());
  else if (errors.writes_refused()) errors.wrote(q.started_ns, os::now_ns());
}

void BackingStore::read_failed(const Request &q, int result, unsigned lost, uint64_t now) {
  ++statistics_.store[q.store].failed;
  used_store_[q.store].errors.read_failed(result, lost, now);
}

// --- what the disk has done ------------------------------------------------------------------------

/// Takes the next answer of a store whose answers do not come through the ring.
bool BackingStore::next_answer(Store::Completion *c) {
  for (uint32_t left = remote_; left; left &= left - 1)
    if (used_store_[__builtin_ctz(left)].store->next(c)) return true;
  return false;
}

bool BackingStore::next(Done *done) {
  Disk::Completion c;
  if (!open_ || (!disk_.completions(&c, 1) && !(remote_ && next_answer(&c)))) return false;
  if (c.tag & Disk::kWatch && (c.tag & ~Disk::kWatch) >= kStoreTells) {
    os::event_clear(used_store_[(c.tag & ~Disk::kWatch) - kStoreTells].store->event());
    if (!next_answer(&c)) return *done = {Done::kWatched, kStoreTells, nullptr, 0}, true;
  }
  *done = {Done::kRequest, c.tag & ~Disk::kWatch, nullptr, c.result};
  if (c.tag & Disk::kWatch) {
    done->kind = Done::kWatched;
  } else if (c.tag & Preallocation::kTag) {
    done->kind = Done::kRoom;
    used_store_[c.tag & ~Preallocation::kTag].preallocation.done(c.result);
  } else {
    done->request = &requests_[c.tag];
    if (stores_ > 1 && done->request->store < stores_)
      stripes_.ended(done->request->store, c.result > 0 ? static_cast<uint64_t>(c.result) : 0, os::now_ns());
  }
  return true;
}

uint64_t BackingStore::watch_within_ns() const {
  return busy() || any([](const UsedStore &p) { return p.errors.stalled(); }) ? kWatchDiskNs : 0;
}

void BackingStore::watch_for_stalls(uint64_t now) {
  if (!open_ || now - watched_ns_ < kWatchDiskNs) return;
  watched_ns_ = now;
  for (unsigned i = 0; i < all_stores(); ++i) {
    const uint64_t moving = requests_.oldest_ns(i), growing = used_store_[i].preallocation.started_ns();
    const bool for_room = growing && (!moving || growing < moving);
    used_store_[i].errors.watch(for_room ? growing : moving, now, for_room);
    if (remote_ >> i & 1) used_store_[i].store->look();
  }
}

// --- fork ------------------------------------------------------------------------------------------

void BackingStore::recover() {
  fork_files_.after_fork(true);
  lacks_staging_ = staging_.fd() >= 0 && !staging_.renew();
  for (unsigned i = 0; i < all_stores(); ++i) used_store_[i].store->recover();
  disk_.stop(); // our view of the parent's ring
  open_ = false;
  stripes_.forget_requests();
  start_errors();
}

// --- for tests -------------------------------------------------------------------------------------

const char *BackingStore::broken_invariant(const PageTable &pages) const {
  uint32_t reading = 0, staged = 0, moving = 0, idle = 0;
  for (const Request &q : requests_) {
    if (!q.busy) continue;
    reading += !q.write;
    staged += !q.write || q.copied ? q.pages : 0;
    moving += q.write ? q.pages : 0;
    idle += q.idle ? q.pages : 0;
    const PageState state = q.write ? PageState::kWriting : PageState::kReading;
    for (uint32_t s = q.slot; s < q.slot + q.pages; ++s)
      if (pages[s].state != state && !(q.shelved && pages[s].state == PageState::kShelved))
        return "a request moves a page that is in another state";
  }
  if (!requests_.is_valid()) return "a request is neither free nor under way, or both";
  if (reading != reading_) return "the reads under way are miscounted";
  if (moving != pages_writing_) return "pages are being written without a request";
  if (idle != pages_cleaning_) return "the pages being cleaned are miscounted";
  if (staged + staging_.free_pages() != staging_.pages()) return "staging memory is lost";
  return nullptr;
}

} // namespace pagecast
