// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/fork_files.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/os.h"
#include "runtime/state/pages.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits.h>

namespace pagecast {

int ForkFiles::start(Store *const *stores, unsigned count, uint64_t need, char *why, unsigned capacity) {
  stores_ = count;
  split_ = count > 1;
  for (unsigned i = 0; i < count; ++i) {
    store_[i] = stores[i];
    store_of_[i] = static_cast<uint8_t>(i);
    if (const int error = stores[i]->make(i, count == 1 ? need : 0, &room_[i], why, capacity)) return error;
  }
  file_numbers_ = static_cast<uint8_t *>(os::reserve(PageTable::kSlots));
  return file_numbers_ ? 0 : -ENOMEM;
}

unsigned ForkFiles::count(unsigned store) const {
  unsigned n = 0;
  for (unsigned i = 0; i < kFiles; ++i) n += is_open(i) && store_of_[i] == store;
  return n;
}

int ForkFiles::open_own(unsigned store) {
  for (unsigned i = 0; i < kFiles; ++i) {
    if (is_open(i)) continue;
    char why[400];
    if (const int error = store_[store]->make(i, 0, &room_[i], why, sizeof why)) return error;
    sharers_[i] = 0;
    store_of_[i] = static_cast<uint8_t>(store);
    return static_cast<int>(i);
  }
  return -EMFILE;
}

void ForkFiles::close_file(unsigned file) {
  store(file).remove(file);
  room_[file] = nullptr;
  sharers_[file] = 0;
  for (unsigned t = 0; t < tokens_; ++t) token_[t].files &= ~(1u << file);
}

void ForkFiles::look_for_ends() {
  if (starting_ >= 0 && os::answered(starting_)) starting_ = -1;
  for (unsigned t = 0; t < tokens_;) {
    if (!os::hung_up(token_[t].fd)) {
      ++t;
      continue;
    }
    for (unsigned i = 0; i < kFiles; ++i) sharers_[i] = static_cast<uint16_t>(sharers_[i] - (token_[t].files >> i & 1));
    close_own(token_[t].fd);
    token_[t] = token_[--tokens_];
  }
}

int ForkFiles::home(unsigned store) {
  if (tokens_) look_for_ends();
  for (unsigned i = 0; i < kFiles; ++i)
    if (is_open(i) && store_of_[i] == store && !shared(i)) return static_cast<int>(i);
  return open_own(store);
}

uint32_t ForkFiles::run(uint32_t slot, uint32_t pages) const {
  if (!split_) return pages;
  uint32_t n = 1;
  while (n < pages && file_numbers_[slot + n] == file_numbers_[slot]) ++n;
  return n;
}

void ForkFiles::put(uint32_t slot, uint32_t pages, unsigned file) {
  if (!split_ && file == 0) return;
  split_ = true;
  memset(file_numbers_ + slot, static_cast<int>(file), pages);
}

int ForkFiles::before_fork() { return os::token_pair(pair_); }

void ForkFiles::after_fork(bool child) {
  close_own(pair_[child ? 0 : 1]);
  uint32_t files = 0;
  for (unsigned i = 0; i < kFiles; ++i) {
    if (!is_open(i)) continue;
    files |= 1u << i;
    ++sharers_[i];
  }
  starting_ = child || tokens_ == kTokens ? -1 : pair_[0];
  if (tokens_ < kTokens) token_[tokens_++] = {pair_[child ? 1 : 0], files};
  else untold_ = true;
  pair_[0] = pair_[1] = -1;
}

void ForkFiles::started() const {
  if (tokens_ && !untold_) os::answer(token_[tokens_ - 1].fd);
}

} // namespace pagecast
