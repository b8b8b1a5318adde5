// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/memory_file.h"

#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/own_files.h"
#include "runtime/kernel/os_files.h"
#include "runtime/kernel/os_memory_file.h"
#include "runtime/kernel/sandbox.h"
#include "runtime/state/options.h"
#include "runtime/store/stripes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace pagecast {
namespace {

constexpr uint64_t kPiece = 4u << 20; ///< moved at a time: so much is in memory twice
constexpr unsigned kMappings = 32;    ///< looked at in one go
constexpr int kReadWrite = PROT_READ | PROT_WRITE;

} // namespace

int MemoryFile::start(const char *directory, uint64_t need, char *why, unsigned capacity) {
  StoreList list;
  if (list.read(directory)) directory = list[0]; // a mapping is of one file
  if (is_server_address(directory))
    return write_text(why, capacity, "memory in a file needs a directory, and %s is none", directory), -EINVAL;
  directory = Backing::directory(directory);
  if (!os::absolute_path(directory, directory_, sizeof directory_)) write_text(directory_, sizeof directory_, "%s", directory);
  if (const int error = file_.start(directory_, need, why, capacity)) return error;
  os::use_page_cache(file_.fd());
  request_bytes_ = os::file_facts(file_.fd()).request_bytes;
  const char *fails = os::reservation_fails(file_.fd());
  if (!fails) return 0;
  write_text(why, capacity, "backing directory %s: %s", directory_, fails);
  file_.stop();
  return -EOPNOTSUPP;
}

uint64_t MemoryFile::offset(const FileRegion &r, uint64_t address) const {
  return (static_cast<uint64_t>(r.first_slot) << os::page_shift()) + (address - r.base);
}

// --- moving in and out --------------------------------------------------------------------------------

/// Only plain memory that can be read and stored to all over, and that nobody can be using.
bool MemoryFile::may_move(uint64_t address, uint64_t bytes, bool fresh) const {
  const auto stack = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (stack - address < bytes) return false;
  uint64_t at = address;
  os::Mapping m[kMappings];
  const unsigned n = os::mappings(address, address + bytes, m, kMappings);
  for (unsigned i = 0; i < n; at = m[i++].end)
    if (m[i].begin != at || !m[i].plain() || m[i].protection != kReadWrite) return false;
  if (at != address + bytes) return false;
  if (!os::other_threads() && !os::may_have_io_under_way()) return true;
  if (!fresh) return false;
  uint8_t there[1024];
  const uint64_t page = os::page_size();
  for (at = address; at < address + bytes; at += sizeof there * page) {
    const uint64_t pages = std::min<uint64_t>((address + bytes - at) / page, sizeof there);
    if (os::populated(at, pages, there) || std::find(there, there + pages, 1) != there + pages) return false;
  }
  return true;
}

/// Contents first, then the mapping.
int MemoryFile::move_piece(uint64_t address, uint64_t bytes, uint64_t offset) {
  uint8_t there[kPiece >> 12];
  const unsigned shift = os::page_shift();
  const uint64_t pages = bytes >> shift;
  if (os::populated(address, pages, there)) memset(there, 1, pages); // cannot tell: assume contents
  for (uint64_t i = 0, n; i < pages; i += n) {
    n = os::alike(there, i, pages);
    if (!there[i]) continue;
    const int error =
        os::write_file(file_.fd(), reinterpret_cast<void *>(address + (i << shift)), n << shift, offset + (i << shift));
    if (error) return error;
  }
  return os::map_file(address, bytes, kReadWrite, file_.fd(), offset, true);
}

uint64_t MemoryFile::take(uint64_t address, uint64_t bytes, uint32_t slot, bool fresh) {
  const uint64_t at = static_cast<uint64_t>(slot) << os::page_shift();
  os::SignalsHeld held;
  if (sandboxed() || !may_move(address, bytes, fresh) || os::reserve_room(file_.fd(), at, bytes)) return 0;
  uint64_t done = 0;
  while (done < bytes) {
    const uint64_t n = std::min(bytes - done, kPiece);
    if (move_piece(address + done, n, at + done)) break;
    done += n;
  }
  if (done < bytes) os::free_room(file_.fd(), at + done, bytes - done);
  if (done) os::give_to_children(address, done, false);
  return done;
}

bool MemoryFile::give_back(const FileRegion &r, uint64_t begin, uint64_t end) {
  // Not before nobody can reach it: another block may have the room next.
  return os::map_zeros(begin, end - begin, kReadWrite) == 0 && !sandboxed() &&
         os::free_room(file_.fd(), offset(r, begin), end - begin) == 0;
}

void MemoryFile::clear(const FileRegion &r, uint64_t begin, uint64_t end) {
  if (sandboxed() || os::zero_room(file_.fd(), offset(r, begin), end - begin))
    memset(reinterpret_cast<void *>(begin), 0, end - begin);
}

void MemoryFile::clear_private(uint64_t begin, uint64_t end) {
  os::Mapping m[kMappings];
  for (uint64_t at = begin; at < end;) {
    const unsigned n = os::mappings(at, end, m, kMappings);
    if (n == 0) return;
    for (unsigned i = 0; i < n; at = m[i++].end) os::map_zeros(m[i].begin, m[i].end - m[i].begin, m[i].protection);
  }
}

// --- fork ---------------------------------------------------------------------------------------------

/// Puts `fd` in the place of a part of the region, with the protection that each page has.
int MemoryFile::remap(const FileRegion &r, uint64_t begin, uint64_t end, int fd, bool shared) {
  os::Mapping m[kMappings];
  for (uint64_t at = begin; at < end;) {
    const unsigned n = os::mappings(at, end, m, kMappings);
    if (n == 0) return -ENOENT;
    for (unsigned i = 0; i < n; at = m[i++].end)
      if (const int error = os::map_file(m[i].begin, m[i].end - m[i].begin, m[i].protection, fd, offset(r, m[i].begin), shared))
        return error;
  }
  return 0;
}

void MemoryFile::make_private(const FileRegion &r, uint64_t begin, uint64_t end) {
  // Its room stays taken: private pages that nobody has stored to since are still the file's.
  if (remap(r, begin, end, file_.fd(), false) == 0) os::wake_all(file_.fd(), offset(r, begin), end - begin);
}

int MemoryFile::copy(FileRegions &regions) {
  char why[1200];
  if (const int error = copy_.start(directory_, 0, why, sizeof why)) return error;
  os::use_page_cache(copy_.fd());
  int error = os::reservation_fails(copy_.fd()) ? -EOPNOTSUPP : 0;
  for (unsigned i = 0; i < regions.count() && !error; ++i) {
    const FileRegion &r = regions[i];
    if (r.kind != Region::kOwnFile) continue;
    error = os::reserve_room(copy_.fd(), offset(r, r.base), r.bytes);
    if (!error) error = os::copy_room(file_.fd(), copy_.fd(), offset(r, r.base), r.bytes);
  }
  if (error) {
    copy_.stop();
    return error;
  }
  for (unsigned i = 0; i < regions.count(); ++i)
    if (regions[i].kind == Region::kOwnFile) os::give_to_children(regions[i].base, regions[i].bytes, true);
  return 0;
}

void MemoryFile::copied(FileRegions &regions) {
  for (unsigned i = 0; i < regions.count(); ++i)
    if (regions[i].kind == Region::kOwnFile) os::give_to_children(regions[i].base, regions[i].bytes, false);
  copy_.stop();
}

int MemoryFile::take_over(FileRegions &regions) {
  for (unsigned i = 0; i < regions.count(); ++i) {
    if (regions[i].kind != Region::kOwnFile) continue;
    if (const int error = remap(regions[i], regions[i].base, regions[i].end(), copy_.fd(), true)) return error;
    os::give_to_children(regions[i].base, regions[i].bytes, false);
  }
  file_.stop();
  file_ = copy_;
  copy_ = Backing();
  return 0;
}

void MemoryFile::abandon(FileRegions &regions) {
  for (unsigned i = 0; i < regions.count(); ++i)
    if (regions[i].kind == Region::kOwnFile) os::unmap(reinterpret_cast<void *>(regions[i].base), regions[i].bytes);
}

} // namespace pagecast
