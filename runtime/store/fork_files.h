// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backing files of a process and of those that it shares pages with since a fork.
//
//   fork     from then on both processes only read the files that they have, and write to new ones of their
//            own: a page's contents are where its slot is, in the file that `file_of` names
//   token    a socket pair, one end on either side of a fork. When all holders of the other end are gone
//            (exit, exec, a kill), the files may be written again, if no other token speaks against it
//
// A page that is written goes to the oldest file that is not shared, so that files which a short-lived child
// left behind empty by themselves. Nothing is copied at a fork unless kCrowded files have come together.
// Pager's thread, or the thread that forks while the pager holds still.
#pragma once
#include "runtime/store/store.h"
#include "runtime/store/stripes.h"

#include <cstddef>
#include <cstdint>

namespace pagecast {

class ForkFiles {
public:
  static constexpr unsigned kFiles = Store::kFiles;
  static constexpr unsigned kCrowded = 8; ///< files in a store from which on they are merged at the next fork

  /// Makes a file in each of the stores, which must outlive this: Store::make. `need`: of one store alone.
  int start(Store *const *stores, unsigned count, uint64_t need, char *why, unsigned capacity);

  /// The file of the store that may be written; made if there is none. Its number, or -errno. Cost: a poll while shared.
  int home(unsigned store = 0);
  /// Where the slot's contents are.
  unsigned file_of(uint32_t slot) const { return split_ ? file_numbers_[slot] : 0; }
  /// How many of the `pages` slots have their contents in the same file as the first.
  uint32_t run(uint32_t slot, uint32_t pages) const;
  /// The slots' contents are in `file` from now on.
  void put(uint32_t slot, uint32_t pages, unsigned file);
  Store &store(unsigned file) { return *store_[store_of_[file]]; }
  /// The number of the store that the file is in.
  unsigned store_of(unsigned file) const { return store_of_[file]; }
  bool is_open(unsigned file) const { return room_[file] != nullptr; }
  /// The room of a file that is open.
  Room &room(unsigned file) { return *room_[file]; }

  /// Files in use.
  unsigned count(unsigned store = 0) const;
  /// Whether those of the store are to be merged.
  bool crowded(unsigned store) const { return count(store) >= (stores_ > 3 ? kFiles / stores_ - 1 : kCrowded); }
  bool shared(unsigned file) const { return sharers_[file] != 0; }
  /// Makes a file of this process's own. Its number, or -errno.
  int open_own(unsigned store);
  void close_file(unsigned file);
  /// Looks which processes have gone.
  void look_for_ends();
  /// Others of a fork may have pages of this process, as far as look_for_ends() has seen.
  bool has_others() const { return tokens_ != 0 || untold_; }
  /// The last child has yet to take what it takes at once, as far as look_for_ends() has seen.
  bool child_starts() const { return starting_ >= 0; }

  // --- fork ---
  /// Before: what both sides will know each other by. 0 or -errno.
  int before_fork();
  /// After, in either process: all files are shared with the other.
  void after_fork(bool child);
  /// In the child: it has taken what it takes at once.
  void started() const;

private:
  static constexpr unsigned kTokens = 256; ///< processes that live at once; beyond them files stay shared for good
  struct Token {
    int fd;
    uint32_t files; ///< bit per file
  };
  Store *store_[Stripes::kMost] = {};
  unsigned stores_ = 0;
  uint8_t store_of_[kFiles] = {};
  Room *room_[kFiles] = {}; ///< NULL: there is no such file
  uint16_t sharers_[kFiles] = {};
  bool split_ = false; ///< some slot may be in another file than number 0
  uint8_t *file_numbers_ = nullptr;
  Token token_[kTokens];
  unsigned tokens_ = 0;
  bool untold_ = false; ///< there is a process with which no token is shared
  int pair_[2] = {-1, -1};
  int starting_ = -1; ///< the token of a child, until it has started
};

} // namespace pagecast
