// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What this process and an export that is mapped know of each other. Others may read and write the export, too, so that both are
// made to agree when the program says so, as files are that ranks share in MPI:
//
//   flush      what the program has stored is the export's, and outlasts a loss of power if the server knows how
//   refresh    what is read from now on is as the export has it; what was stored here and not flushed stays
//
// Writer: store, flush, barrier. Reader: barrier, refresh, read. A page that two of them store to holds what came last.
//
// Pager's thread.
#pragma once
#include "runtime/memory/discards.h"
#include "runtime/memory/write_back.h"
#include "runtime/pager/marks.h"
#include "runtime/store/backing_store.h"

#include <cstdint>

namespace pagecast {

class MapSync {
public:
  MapSync(PagedMemory &memory, BackingStore &store, Placement &placement, Discards &discards, WriteBack &write_back, Marks &marks)
      : memory_(memory), store_(store), placement_(placement), discards_(discards), write_back_(write_back), marks_(marks) {}
  static constexpr int kNotYet = 1;
  /// Flushes the range; to be called again until it says something else: 0 or -errno. Data that could not be written stay dirty.
  int flush(uint64_t begin, uint64_t end);
  /// Refreshes the range, in which no request is under way.
  void refresh(uint64_t begin, uint64_t end);
  /// Before a fork, with nothing under way: flushes everything at once, so that parent and child begin with the same.
  void flush_now();
  /// In the child of a fork: nobody waits for a flush here.
  void forked() { step_ = Step::kNone; }

private:
  enum class Step : uint8_t { kNone, kSend, kArrive, kSync };
  template <typename Do> bool each_page(uint64_t *from, uint64_t end, Do);
  uint32_t maps_in(uint64_t begin, uint64_t end, uint64_t *failures);
  uint32_t send(PagedRegion &, uint32_t slot);
  void drop(PagedRegion &, uint32_t first, uint32_t end);
  bool sync();

  PagedMemory &memory_;
  BackingStore &store_;
  Placement &placement_;
  Discards &discards_;
  WriteBack &write_back_;
  Marks &marks_;
  // Of the flush under way.
  Step step_ = Step::kNone;
  uint64_t at_ = 0; ///< the step has come so far
  uint64_t failures_ = 0; ///< before it
  uint32_t syncing_ = 0; ///< exports that have been asked, a bit each
  int error_ = 0;
};

} // namespace pagecast
