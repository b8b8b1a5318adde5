// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/nbd_store.h"

#include "core/arithmetic.h"
#include "core/sharing/reference.h"
#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/nbd/helper_start.h"
#include "runtime/state/pages.h"
#include "runtime/state/options.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace pagecast {
namespace {

constexpr uint64_t kExtent = Room::kExtent;
constexpr uint64_t kMostExtents = 1u << 22; ///< of an export that are used
/// Memory for what is being written, which is there twice.
constexpr uint64_t kLeastBuffers = 1u << 20, kMostBuffers = 4u << 20, kBufferShare = 16;
/// A helper's own, measured: 1 MiB that is its alone, 2 of libraries that may have to be read, and the kernel's.
constexpr uint64_t kHelperBytes = 4u << 20;
constexpr uint64_t kMostBlock = 16u << 20;
constexpr uint64_t kLookNs = 200'000'000;

/// Not 0, which no page has.
uint32_t sum_of(const void *page, uint64_t bytes) {
  uint64_t lane[4] = {1, 2, 3, 4}, word[4];
  for (const char *at = static_cast<const char *>(page), *end = at + bytes; at < end; at += sizeof word) {
    memcpy(word, at, sizeof word);
    for (unsigned i = 0; i < 4; ++i) {
      lane[i] = (lane[i] ^ word[i]) * 0x9E3779B97F4A7C15u;
      lane[i] ^= lane[i] >> 29;
    }
  }
  const uint64_t all = ((lane[0] * 31 + lane[1]) * 31 + lane[2]) * 31 + lane[3];
  return static_cast<uint32_t>(all ^ all >> 32) | 1;
}

} // namespace

static uint64_t buffer_bytes_for(uint64_t budget) { return std::clamp(budget / kBufferShare, kLeastBuffers, kMostBuffers); }

uint64_t NbdStore::bytes_to_start(const char *list, uint64_t budget) {
  return addresses_in(list) * (kHelperBytes + sizeof(NbdChannel) + buffer_bytes_for(budget));
}

/// One program on this machine may use an export; relatives by fork share the claim.
int NbdStore::claim() {
  char name[64];
  write_text(name, sizeof name, "pagecast-nbd-%016llx", static_cast<unsigned long long>(core::hash_of(uri_)));
  return claim_ = os::claim(name);
}

int NbdStore::start(const char *uri, const Staging &staging, uint64_t budget, unsigned patience_s, char *why, unsigned capacity) {
  if (strlen(uri) >= sizeof uri_) return write_text(why, capacity, "the backing address is too long"), -E2BIG;
  strcpy(uri_, uri);
  staging_ = &staging;
  if (claim() < 0)
    return write_text(why, capacity, "backing %s: another program on this machine uses that export", uri_), -EADDRINUSE;
  if (const int error = link_.start(uri_, buffer_bytes_for(budget), shared(), patience_s, NbdLink::kBacking, why, capacity))
    return close_own(claim_), error;
  extents_ = std::min(link_.bytes() / kExtent, kMostExtents);
  used_ = static_cast<uint8_t *>(os::reserve_shared(extents_ + 1));
  sum_ = static_cast<uint32_t *>(os::reserve(PageTable::kSlots * sizeof *sum_));
  buffers_.start_at(link_.buffers(), link_.buffer_bytes());
  return used_ && sum_ ? 0 : (write_text(why, capacity, "no address space for the map of %s", uri_), -ENOMEM);
}

uint64_t NbdStore::bytes_of_map() { return kHelperBytes + sizeof(NbdChannel) + kMostBuffers; }

int NbdStore::start_map(const char *uri, unsigned patience_s, char *why, unsigned capacity) {
  if (strlen(uri) >= sizeof uri_) return write_text(why, capacity, "map: the address is too long"), -E2BIG;
  strcpy(uri_, uri);
  if (const int error = link_.start(uri_, kMostBuffers, shared(), patience_s, NbdLink::kMap, why, capacity)) return error;
  buffers_.start_at(link_.buffers(), link_.buffer_bytes());
  return 0;
}

int NbdStore::open() {
  if (link_.is_started()) return 0;
  const int error = link_.start_own(shared());
  if (!error) buffers_.start_at(link_.buffers(), link_.buffer_bytes());
  return error;
}

void NbdStore::recover() {
  link_.forget();
  losses_ = returns_ = 0;
  synced_ = 0;
  asked_ahead_ = 0;
  waiting_count_ = done_count_ = 0;
  room_done_ = {};
}

// --- files and room --------------------------------------------------------------------------------

uint64_t NbdStore::free_bytes() {
  uint64_t n = 0;
  for (uint64_t i = 0; i < extents_; ++i) n += !__atomic_load_n(&used_[i], __ATOMIC_RELAXED);
  return n * kExtent;
}

int NbdStore::make(unsigned file, uint64_t need, Room **room, char *why, unsigned capacity) {
  const uint64_t free = free_bytes();
  if (free < need || !extents_) {
    write_text(why, capacity, "backing %s has %llu MiB free, but %llu MiB may be needed", uri_,
               static_cast<unsigned long long>(free >> 20), static_cast<unsigned long long>(std::max(need, kExtent) >> 20));
    return -ENOSPC;
  }
  if (room_[file].start_room()) return write_text(why, capacity, "no address space for the map of %s", uri_), -ENOMEM;
  export_extent_[file] = static_cast<uint32_t *>(os::reserve(room_[file].most_extents() * sizeof(uint32_t)));
  *room = &room_[file];
  return export_extent_[file] ? 0 : -ENOMEM;
}

/// The export's extent behind one of a file's is free, if there is one.
void NbdStore::give_back(unsigned file, uint64_t extent) {
  uint32_t &extent_there = export_extent_[file][extent];
  if (extent_there) __atomic_store_n(&used_[extent_there - 1], 0, __ATOMIC_RELEASE);
  extent_there = 0;
}

void NbdStore::remove(unsigned file) {
  for (uint64_t e = 0; e < room_[file].most_extents(); ++e)
    if (room_[file].has_extent(e)) give_back(file, e);
  os::unmap(export_extent_[file], room_[file].most_extents() * sizeof(uint32_t));
  export_extent_[file] = nullptr;
  room_[file].stop_room();
}

int NbdStore::reserve_room_now(unsigned file, uint64_t offset, uint64_t bytes) {
  uint64_t at = 0;
  for (uint64_t e = offset / kExtent; e * kExtent < offset + bytes; ++e) {
    if (export_extent_[file][e]) continue;
    for (uint8_t none = 0; at < extents_; ++at, none = 0)
      if (__atomic_compare_exchange_n(&used_[at], &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) break;
    if (at == extents_) return -ENOSPC;
    export_extent_[file][e] = static_cast<uint32_t>(++at);
  }
  return 0;
}

bool NbdStore::reserve_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t tag) {
  return room_done(tag, reserve_room_now(file, offset, bytes));
}

bool NbdStore::give_back_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t tag) {
  for (uint64_t e = offset / kExtent; e * kExtent < offset + bytes; ++e) give_back(file, e);
  return room_done(tag, 0);
}

/// The answer to a request for room, which the pager finds as it finds those of the helper.
bool NbdStore::room_done(uint64_t tag, int result) {
  room_done_ = {tag, result};
  os::event_post(event());
  return true;
}

// --- requests --------------------------------------------------------------------------------------

bool NbdStore::is_staged(const char *memory) const {
  return !is_map() && memory >= staging_->base() && memory < staging_->base() + staging_->bytes();
}

bool NbdStore::finished(uint64_t tag) const {
  return open_request_[tag].asked == open_request_[tag].bytes && !open_request_[tag].pieces;
}

/// Where the request goes on.
uint64_t NbdStore::in_export(const OpenRequest &m) const {
  const uint64_t offset = m.offset + m.asked;
  return is_map() ? offset : (export_extent_[m.file][offset / kExtent] - 1ull) * kExtent + offset % kExtent;
}

/// Hands the next bytes of a request to the helper: they are at `memory` in staging, where `staged`, or else in the channel.
void NbdStore::ask(uint64_t tag, uint64_t bytes, bool staged, uint64_t memory) {
  OpenRequest &m = open_request_[tag];
  const uint32_t number = link_.take();
  const uint64_t offset = in_export(m), there = is_map() ? std::min(bytes, link_.bytes() - offset) : bytes;
  link_.piece(number) = {offset, memory, static_cast<uint32_t>(there), staged, m.write ? NbdPiece::kWrite : NbdPiece::kRead};
  tag_of_[number] = static_cast<uint16_t>(tag);
  m.asked += bytes;
  ++m.pieces;
  link_.ask(number);
}

void NbdStore::note_sums(const OpenRequest &m, const char *contents, uint64_t bytes) {
  const uint64_t page = os::page_size();
  for (uint64_t at = 0; at < bytes; at += page) sum_[(m.offset + m.asked + at) >> os::page_shift()] = sum_of(contents + at, page);
}

/// The next piece of a request: what is in one extent, and in one run of buffers. False: there are no buffers now.
bool NbdStore::ask_more(uint64_t tag) {
  OpenRequest &m = open_request_[tag];
  const uint64_t offset = m.offset + m.asked;
  const char *memory = m.memory + m.asked;
  uint64_t bytes = is_map() ? m.bytes - m.asked : std::min(m.bytes - m.asked, kExtent - offset % kExtent);
  if (is_staged(memory)) {
    if (m.write) note_sums(m, memory, bytes);
    ask(tag, bytes, true, static_cast<uint64_t>(memory - staging_->base()));
    return true;
  }
  uint32_t first = 0;
  const uint32_t pages = buffers_.take(static_cast<uint32_t>(bytes >> os::page_shift()), &first);
  if (!pages) return false;
  bytes = uint64_t{pages} << os::page_shift();
  char *copy = buffers_.address(first);
  const int error = m.write ? os::copy_protected_memory(copy, reinterpret_cast<uint64_t>(memory), bytes) : 0;
  if (error) {
    buffers_.give(first, pages);
    m.error = error;
    m.asked = m.bytes;
    return true;
  }
  if (!is_map()) note_sums(m, copy, bytes);
  ask(tag, bytes, false, link_.in_channel(copy));
  return true;
}

void NbdStore::ask_waiting() {
  while (waiting_count_) {
    const uint16_t tag = waiting_[first_waiting_];
    while (open_request_[tag].asked < open_request_[tag].bytes)
      if (!ask_more(tag)) return;
    first_waiting_ = (first_waiting_ + 1) % kTags;
    --waiting_count_;
    if (!finished(tag)) continue;
    done_[(first_done_ + done_count_++) % kTags] = tag; // it failed before anything was sent
    os::event_post(event());
  }
}

void NbdStore::begin(unsigned file, bool write, const void *memory, uint64_t bytes, uint64_t offset, uint64_t tag) {
  open_request_[tag] = {static_cast<const char *>(memory), offset, bytes, 0, 0, 0, static_cast<uint8_t>(file), write};
  if (is_staged(open_request_[tag].memory)) { // it wants no buffers, so that it need not wait for others
    while (open_request_[tag].asked < bytes) ask_more(tag);
    return;
  }
  waiting_[(first_waiting_ + waiting_count_++) % kTags] = static_cast<uint16_t>(tag);
  ask_waiting();
}

bool NbdStore::read(unsigned file, void *to, uint64_t bytes, uint64_t offset, uint64_t tag) {
  begin(file, false, to, bytes, offset, tag);
  return true;
}

bool NbdStore::write(unsigned file, const void *from, uint64_t bytes, uint64_t offset, uint64_t tag) {
  begin(file, true, from, bytes, offset, tag);
  return true;
}

/// Gives back the buffers of one, with what was read into them handed on. Behind the end of an export that is mapped are zeros.
void NbdStore::end_piece(const NbdPiece &p, OpenRequest &m, bool good) {
  const uint64_t at = p.memory - link_.in_channel(link_.buffers());
  const auto first = static_cast<uint32_t>(at >> os::page_shift()),
             pages = static_cast<uint32_t>((p.bytes + os::page_size() - 1) >> os::page_shift());
  if (good && p.kind == NbdPiece::kRead) {
    char *to = const_cast<char *>(m.memory) + (p.offset - m.offset);
    memcpy(to, buffers_.address(first), p.bytes);
    memset(to + p.bytes, 0, (uint64_t{pages} << os::page_shift()) - p.bytes);
  }
  buffers_.give(first, pages);
}

void NbdStore::piece_done(const NbdAnswer &a) {
  if (!link_.is_taken(a.piece)) return; // nobody asked
  const NbdPiece &p = link_.piece(a.piece);
  const uint16_t tag = tag_of_[a.piece];
  if (tag == kSyncTag) synced_ = a.error;
  if (tag == kAheadTag) --asked_ahead_, caches_ &= a.error != -EOPNOTSUPP;
  if (tag == kSyncTag || tag == kAheadTag) return link_.give(a.piece);
  OpenRequest &m = open_request_[tag];
  if (!p.staged) end_piece(p, m, a.error == 0);
  link_.give(a.piece);
  if (a.error) m.error = a.error;
  --m.pieces;
  if (finished(tag)) done_[(first_done_ + done_count_++) % kTags] = tag;
  ask_waiting();
}

/// The result of a request that is over: bytes or -errno. What a read has brought must be what was written.
int NbdStore::result_of(uint64_t tag) {
  const OpenRequest &m = open_request_[tag];
  if (m.error) return m.error;
  for (uint64_t at = 0; !m.write && !is_map() && at < m.bytes; at += os::page_size()) {
    if (sum_of(m.memory + at, os::page_size()) == sum_[(m.offset + at) >> os::page_shift()]) continue;
    if (!strange_said_)
      say("%s does not hold what was written to it: it was started anew, or another program uses it. What only it had is lost",
          uri_);
    strange_said_ = true;
    return -EBADMSG;
  }
  return static_cast<int>(m.bytes);
}

bool NbdStore::next(Completion *done) {
  say_changes();
  if (room_done_.tag) {
    *done = room_done_;
    room_done_ = {};
    return true;
  }
  for (NbdAnswer a; !done_count_ && link_.answer(&a);) piece_done(a);
  if (!done_count_) return false;
  const uint16_t tag = done_[first_done_];
  first_done_ = (first_done_ + 1) % kTags;
  --done_count_;
  *done = {tag, result_of(tag)};
  return true;
}

uint64_t NbdStore::block() const {
  const uint64_t block = link_.block();
  return block >= os::page_size() && block <= kMostBlock ? block : core::kStorageBlock;
}

bool NbdStore::ask_ahead(uint64_t offset, uint64_t bytes) {
  constexpr uint32_t kMostAhead = 1024;
  if (!caches_ || asked_ahead_ == kMostAhead || !link_.is_started() || offset >= link_.bytes()) return false;
  const uint32_t number = link_.take();
  link_.piece(number) = {offset, 0, static_cast<uint32_t>(std::min(bytes, link_.bytes() - offset)), false, NbdPiece::kCache};
  tag_of_[number] = kAheadTag;
  ++asked_ahead_;
  link_.ask(number);
  return true;
}

void NbdStore::sync() {
  const uint32_t number = link_.take();
  link_.piece(number) = {0, 0, 0, false, NbdPiece::kFlush};
  tag_of_[number] = kSyncTag;
  synced_ = 1;
  link_.ask(number);
}

// --- trouble ---------------------------------------------------------------------------------------

void NbdStore::say_changes() {
  const unsigned losses = link_.losses(), returns = link_.returns();
  if (losses != losses_) say("the connection to %s is lost: what needs it waits, and it is tried again", uri_);
  if (returns != returns_) say("the connection to %s is there again: the program goes on", uri_);
  losses_ = losses;
  returns_ = returns;
}

void NbdStore::look() {
  if (!link_.ended()) return;
  say_changes();
  for (NbdAnswer a; link_.answer(&a);) piece_done(a);
  const int error = link_.start_again(shared());
  say(error ? "the helper for %s has ended, and cannot be started again (%s)"
            : "the helper for %s has ended: another one goes on",
      uri_, error_text(-error));
  for (uint32_t number = 0; number < NbdChannel::kPieces; ++number) {
    if (!link_.is_taken(number)) continue;
    if (error) piece_done({number, error});
    else link_.ask(number);
  }
  os::event_post(event());
}

// --- at once ---------------------------------------------------------------------------------------

/// The answer to the only request under way.
int NbdStore::wait_now() {
  Completion done;
  while (!next(&done)) {
    os::wait_readable(event(), kLookNs);
    os::event_clear(event());
    look();
  }
  const auto bytes = static_cast<int>(open_request_[kNowTag].bytes);
  return done.result == bytes ? 0 : done.result < 0 ? done.result : -EIO;
}

int NbdStore::read_now(unsigned file, void *to, uint64_t bytes, uint64_t offset) {
  read(file, to, bytes, offset, kNowTag);
  return wait_now();
}

int NbdStore::write_now(unsigned file, const void *from, uint64_t bytes, uint64_t offset) {
  write(file, from, bytes, offset, kNowTag);
  return wait_now();
}

} // namespace pagecast
