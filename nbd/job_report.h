// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happened in a job, as JSON: what each member did and for how long it waited for others, what was asked for, and which nests
// were open when, with what they touched.
#pragma once
#include "nbd/job_teams.h"
#include "runtime/nbd/job.h"

#include <string>
#include <vector>

namespace pagecast::nbd {

class JobReport {
public:
  /// `file`: empty: nothing is kept.
  void start(const std::string &file, uint64_t now_ns);
  void opened(const Opened &);
  void closed(const Opened &, uint64_t now_ns);
  void team(size_t members, uint64_t intervals);
  /// A team, since its members waited for each other for most of the time.
  void given_up() { ++given_up_; }
  void asked(uint64_t blocks) { asked_ += blocks; }
  /// No room for so many requests, or no server.
  void left(uint64_t blocks) { left_ += blocks; }
  /// Beside the file first, so that who waits for it never sees half of it. False: it cannot be written.
  bool write(const Job &job, const std::vector<core::DataSetBlocks> &sets, uint64_t now_ns) const;

private:
  static constexpr size_t kMostNests = 1u << 16; ///< later ones are counted alone
  struct Nest {
    Opened what;
    uint64_t closed_ns;
  };
  std::string file_;
  uint64_t since_ns_ = 0, asked_ = 0, left_ = 0, teams_ = 0, served_ = 0, intervals_ = 0, nests_ = 0, given_up_ = 0;
  std::vector<Nest> nest_;
};

} // namespace pagecast::nbd
