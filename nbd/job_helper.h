// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The helper of a job (runtime/nbd/job.h): a process that asks the servers of exports for what teams of the job's processes come
// to, each block once. It is started by pagecast run, and ends with the program that this becomes.
//
// When it ends early, or falls behind, its members ask for themselves, or read what nobody has asked for.
#pragma once
#include "core/sharing/meeting_price.h"
#include "nbd/connections.h"
#include "nbd/job_report.h"
#include "nbd/job_teams.h"
#include "runtime/nbd/job.h"

#include <map>
#include <memory>
#include <vector>

namespace pagecast::nbd {

class JobHelper {
public:
  /// `ended`: a descriptor that is readable when the job is over.
  JobHelper(Job &job, const JobScheme &scheme, int ended);
  /// Until the job is over.
  void run();

private:
  /// An export that members have named.
  struct Served {
    std::unique_ptr<Connections> connections;
    uint64_t bytes = 0, cache_bytes = 0;
    unsigned under_way = 0;
  };
  static int asked(void *served, int *error);
  void learn_exports();
  bool look();
  bool read_entry(uint32_t place, uint32_t entry, Opened *);
  bool is_alive(uint32_t place) const;
  bool can_ask(const std::vector<Opened> &members) const;
  void wake(const Opened &);
  void tell(const Opened &, uint64_t asked);
  bool is_in_team(const Opened &) const;
  void say_misfits();
  void regroup();
  uint64_t most_blocks(size_t teams) const;
  void answer(const Opened &, uint8_t kind, uint64_t intervals);
  uint64_t intervals_alone(const Opened &) const;
  bool answer_alone();
  void follow();
  uint64_t met_ns(const JobTeam &) const;
  bool is_too_dear(JobTeam &);
  void ask(const std::vector<uint64_t> &blocks);
  void wait(int timeout_ms);

  Job &job_;
  const JobScheme scheme_;
  int ended_;
  std::vector<Served> exports_;
  std::vector<core::DataSetBlocks> sets_;
  uint64_t words_ = 0;
  std::vector<Opened> opened_, alone_;
  std::vector<std::unique_ptr<JobTeam>> teams_;
  std::map<uint64_t, core::MeetingPrice> price_; ///< of the teams of each phase
  core::MeetingPrice price_of_all_; ///< of those of all phases: a program may have many short ones
  uint64_t checked_ns_ = 0;
  int64_t ranks_ = 0; ///< that there have been
  bool misfits_said_ = false;
  JobReport report_;
};

} // namespace pagecast::nbd
