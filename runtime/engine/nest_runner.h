// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Open nests: moving their cursors as the program goes on, which fetches what it comes to next and releases what it has
// finished with; in regions of memory and of files alike.
//
// Pager's thread, but for what is marked.
#pragma once
#include "runtime/engine/far_hints.h"
#include "runtime/engine/forecasts.h"
#include "runtime/engine/nest_keeper.h"
#include "runtime/files/advise.h"
#include "runtime/pager/pager.h"
#include "runtime/state/open_nests.h"

namespace pagecast {

class NestRunner {
public:
  NestRunner(Pager &pager, Advise &files, Forecasts &forecasts) : pager_(pager), files_(files), forecasts_(forecasts) {}
  /// Closes those that the program has left, starts those that it has entered, and moves the others on. Once in each turn of
  /// the loop. True: there was something to do.
  bool run();
  /// One of them is to be closed, started, or moved.
  static bool posted();

  /// Whether pages that will be overwritten may go unread: see handlers.h. Any thread.
  bool may_overwrite() const;
  /// From now on nothing is left unread for nests, so that somebody may look; or it may be again.
  void finish(bool finishing) { finishing_ = finishing; }
  bool finishing() const { return finishing_; }
  /// In the child of a fork.
  void forked() { far_.forked(); }
  /// Whether open nests have stored all that was left unread for them. A nest that is closing has.
  static bool all_stored();

private:
  class Sink;
  bool close_nests();
  void start_nests();
  void start(OpenNest &);
  void move_on(OpenNest &, uint64_t step);
  bool hints_far() const { return pager_.memory.options->far != FarScheme::kNone; }
  bool leaves_unread() const { return !finishing_ && may_overwrite(); }

  Pager &pager_;
  Advise &files_;
  Forecasts &forecasts_;
  NestKeeper keeper_{pager_.memory, pager_.limit, pager_.margins};
  FarHints far_{pager_};
  bool finishing_ = false;
};

} // namespace pagecast
