// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The helper's work: it takes what the runtime asks (runtime/nbd/channel.h), has it done by the server, and answers. Where the
// connections are lost, what was under way is sent again over new ones. Where they stay lost, it is answered with an error.
#pragma once
#include "nbd/connections.h"
#include "runtime/nbd/channel.h"

#include <cstdint>
#include <vector>

namespace pagecast::nbd {

class Exchange {
public:
  /// Over the channel and the staging memory, which must stay. `abandoned`: a descriptor that is readable when who started this
  /// has gone.
  Exchange(NbdChannel &channel, char *staging, int abandoned);
  /// Connects for the first time, and says so. False: it cannot be, and the reason is in the channel.
  bool begin();
  /// Until who started this has gone.
  void run();

private:
  enum class Step : uint8_t { kNone, kWaits, kSent, kDone };
  /// A piece on its way to the server.
  struct Flight {
    Exchange *of;
    uint32_t piece;
    int error; ///< errno
    Step step;
  };
  static int piece_done(void *flight, int *error);
  const char *unfit() const;
  void take_pieces();
  char *memory_of(const NbdPiece &);
  void send(Flight &);
  void settle();
  void lose();
  void note_loss();
  void tell();
  void reconnect();
  void give_up_waiting();
  void answer(Flight &);
  void wait();
  bool is_abandoned() const;

  NbdChannel &channel_;
  char *staging_;
  int abandoned_;
  Connections connections_;
  std::vector<Flight> flights_; ///< by piece
  std::vector<uint32_t> waiting_, done_;
  bool answered_ = false; ///< since the runtime was last told
  uint64_t lost_since_ns_ = 0; ///< 0: not lost
};

} // namespace pagecast::nbd
