// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the copy seems to have written: it goes nowhere, and is kept here in part, so that the copy reads it back as the
// program would. A pool of pages, each with a bit for every byte that was written. When the pool is full, the file's
// further writes are remembered by their range alone, and a read of those ends the copy.
#include "speculate/copy/state.h"

namespace pagecast::speculate {
namespace {

constexpr int64_t kPage = 4096;
constexpr unsigned kPages = 2048; ///< a power of two

struct Page {
  unsigned file; ///< its index in state.files, plus one; 0 = this page is free
  int64_t number;
  uint8_t written[kPage / 8];
  char bytes[kPage];
};
Page *pool = nullptr;
bool failed = false;

Page *find(unsigned file, int64_t number, bool make) {
  if (!pool && make && !failed) {
    const long memory = call6(__NR_mmap, 0, sizeof(Page) * kPages, 3, 0x22, -1, 0); // private memory, to be read and written
    failed = memory < 0 && memory > -4096;
    if (!failed) pool = reinterpret_cast<Page *>(memory);
  }
  if (!pool) return nullptr;
  const unsigned first = static_cast<unsigned>(file * 2654435761u + static_cast<uint64_t>(number) * 40503u);
  constexpr unsigned kNear = 32;
  Page *free = nullptr;
  for (unsigned i = 0; i < kNear; i++) {
    Page &page = pool[(first + i) & (kPages - 1)];
    if (page.file == file + 1 && page.number == number) return &page;
    if (!page.file && !free) free = &page;
  }
  if (!make || !free) return nullptr;
  memset(free->written, 0, sizeof free->written);
  free->file = file + 1;
  free->number = number;
  return free;
}

bool store(unsigned file, int64_t at, const char *from, int64_t length) {
  for (int64_t done = 0; done < length;) {
    const int64_t in_page = (at + done) % kPage, left = length - done;
    const int64_t piece = left < kPage - in_page ? left : kPage - in_page;
    Page *const page = find(file, (at + done) / kPage, true);
    if (!page) return false;
    memcpy(page->bytes + in_page, from + done, static_cast<unsigned long>(piece));
    for (int64_t i = in_page; i < in_page + piece; i++) page->written[i / 8] |= static_cast<uint8_t>(1 << (i % 8));
    done += piece;
  }
  return true;
}

} // namespace

Written *written_file(uint64_t device, uint64_t inode) {
  for (unsigned i = 0; i < state.written; i++)
    if (state.files[i].inode == inode && state.files[i].device == device) return &state.files[i];
  return nullptr;
}

Written *begin_written(uint64_t device, uint64_t inode, int64_t size) {
  if (Written *const known = written_file(device, inode)) return known;
  if (state.written == kWritten) end(Ended::kWritten, __NR_write);
  state.files[state.written] = {device, inode, size, 0, 0, 0};
  return &state.files[state.written++];
}

void empty_written(Written &file) {
  const unsigned number = static_cast<unsigned>(&file - state.files) + 1;
  for (unsigned i = 0; pool && file.size && i < kPages; i++)
    if (pool[i].file == number) pool[i].file = 0;
  file.size = file.lost = file.lost_end = 0;
}

void keep_written(Written &file, int64_t at, const char *from, int64_t length) {
  if (at + length > file.size) file.size = at + length;
  if (length <= 0 || store(static_cast<unsigned>(&file - state.files), at, from, length)) return;
  if (file.lost_end == 0 || at < file.lost) file.lost = at; // its first bytes may be in the pool all the same
  if (at + length > file.lost_end) file.lost_end = at + length;
}

void read_back(const Written &file, int64_t at, char *to, int64_t length) {
  if (at < file.lost_end && file.lost < at + length) end(Ended::kWritten, __NR_read);
  for (int64_t number = at / kPage; number * kPage < at + length; number++) {
    const Page *const page = find(static_cast<unsigned>(&file - state.files), number, false);
    if (!page) continue;
    const int64_t first = number * kPage < at ? at - number * kPage : 0;
    const int64_t last = at + length < (number + 1) * kPage ? at + length - number * kPage : kPage;
    for (int64_t i = first; i < last; i++)
      if (page->written[i / 8] & 1 << (i % 8)) to[number * kPage + i - at] = page->bytes[i];
  }
}

} // namespace pagecast::speculate
