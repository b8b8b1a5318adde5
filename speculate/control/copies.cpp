// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy's life as the controller sees it.
#include "speculate/control/controller.h"
#include "speculate/watch/clock.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

constexpr uint32_t kSeconds = 20; ///< a copy's life
constexpr uint64_t kOld = (kSeconds - 1) * 1000000000ull;
constexpr uint64_t kFewHints = 16;
constexpr unsigned kNoGainCounts = 3; ///< useless copies: it was on track, so the next will hardly be of more use
constexpr uint32_t kMostCareful = 2;
constexpr int kDeathPatience = 2000; ///< ms

} // namespace

void Controller::refuse(Watched &one, const char *reason) {
  if (is_ending(one.thread.process())) return; // then nothing of it can be read, and nothing is to be said
  one.refused = true;
  warn(reason);
}

void Controller::warn(const char *reason) {
  if (warned_) return;
  warned_ = true;
  snprintf(statistics_.reason, sizeof statistics_.reason, "%s", reason);
  char text[256];
  const int length = snprintf(text, sizeof text, "pagecast: warning: the program runs without hints: %s\n", reason);
  if (length > 0 && write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) {} // there is nobody to tell
}

void Controller::make_copy(Watched &one, uint64_t now, const Call &call, bool brief) {
  if (const char *const reason = refusal(one.thread.process())) return refuse(one, reason);
  if (shared_ == 0) follow_memory(now);
  {
    const std::lock_guard lock(feeding_);
    channel_->stop = 0;
    channel_->careful = one.careful;
    channel_->unlisted = prefetcher_.listings_of(0).is_in_vain();
    channel_->progress = channel_->position = 0;
    channel_->ended = channel_->call = 0;
    channel_->calls = channel_->reads = channel_->answered_reads = channel_->hinted_reads = 0;
    channel_->waited_reads = channel_->guesses = channel_->writes = 0;
    channel_->tail = channel_->head = 0;
    copy_number_++;
  }
  prefetcher_.done_for(copy_number_); // counted from now on: it gives hints before it is known to have been made
  CopyPlan plan;
  plan.number = copy_number_;
  plan.unreaped = one.unreaped;
  plan.seconds = kSeconds;
  plan.channel = channel_file_;
  plan.any_wait = brief;
  plan.in_fault = call.is_fault();
  plan.tracer = tracer_;
  const CopyMade made = maker_.make(one.thread, one.last, plan);
  if (made.process) {
    one.unreaped = made.process;
    one.worth.made();
    one.was_copied = true;
    statistics_.copies++;
    statistics_.stopped_ns += made.stopped;
    statistics_.most_stopped_ns = std::max(statistics_.most_stopped_ns, made.stopped);
  }
  if (made.outcome == Made::kNoUse) return one.worth.ended(now, 0, 1);
  if (made.outcome == Made::kNever) return refuse(one, made.reason);
  if (made.outcome != Made::kCopy) {
    if (made.outcome == Made::kNotNow) return;
    const bool gone = one.thread.is_ending(); // copies die with the thread that they were cloned from
    statistics_.ended[static_cast<unsigned>(gone ? Ending::kOriginal : Ending::kSetUp)]++;
    if (!gone) statistics_.last_call = channel_->call;
    one.worth.ended(now, 0, 1);
    return;
  }
  copied_ = &one;
  copy_ = made.process;
  copy_original_ = one.thread.process();
  copy_handle_ = made.handle;
  copy_made_ = now;
  copy_missed_ = copy_hit_ = 0;
  on_trial_ = brief || call.is_fault(); // what is waited for in a fault is not known
  trial_ = 0;
  share_before_ =
      one.since && now > one.since ? static_cast<double>(one.last.ran - one.ran) / static_cast<double>(now - one.since) : 1;
  read_ = mapped_ = 0;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/io", copy_original_);
  io_.open(path);
  snprintf(path, sizeof path, "/proc/%d/statm", copy_original_);
  statm_.open(path);
  prefetcher_.limit_depth(Prefetcher::kWorkers);
  // Several threads of one process have one parent for all copies.
  for (unsigned i = 0; i < count_; i++)
    if (watched_[i].thread.process() == copy_original_) watched_[i].unreaped = copy_;
}

/// Copies that end early have probably gone on with what they had not read: the next one waits for more. When waiting does
/// not help, guessing is tried again: programs have phases. True: there is another way to be tried at once, which is so only
/// while no copy has been useless.
bool Controller::learn(Ending why, uint64_t given) {
  const bool early = given < kFewHints && why == Ending::kFinished;
  if (!early && why != Ending::kAstray && why != Ending::kCrashed) return false;
  copied_->careful = copied_->careful == kMostCareful ? 0 : copied_->careful + 1;
  return copied_->careful != 0 && copied_->worth.useless() == 0;
}

/// Its hints stay in the queue, unless it went astray.
void Controller::end_copy(Ending why) {
  channel_->stop = 1;
  syscall(SYS_pidfd_send_signal, copy_handle_, SIGKILL, nullptr, 0);
  pollfd dead = {copy_handle_, POLLIN, 0};
  poll(&dead, 1, kDeathPatience);
  close(copy_handle_);
  const Usage usage = usage_of(copy_); // it stays until the original reaps it, or ends
  statistics_.copy_faults += usage.page_faults;
  statistics_.copy_seconds += usage.seconds;
  statistics_.add(*channel_);
  statistics_.ended[static_cast<unsigned>(why)]++;
  if (why == Ending::kCall) statistics_.last_call = channel_->call;
  const uint64_t given = std::max(prefetcher_.done_for(copy_number_), channel_->head);
  if (why == Ending::kAstray || why == Ending::kNoGain) prefetcher_.cancel(copy_number_);
  if (why == Ending::kNoGain)
    for (unsigned i = 0; i < kNoGainCounts; i++) copied_->worth.ended(monotonic_now(), 0, 1);
  else if (!learn(why, given)) copied_->worth.ended(monotonic_now(), given, copy_missed_);
  io_.close();
  statm_.close();
  copied_->since = 0;
  copied_ = nullptr;
  copy_handle_ = -1;
  copy_ = 0;
}

Ending Controller::ending_of_dead(uint64_t now) const {
  switch (static_cast<Ended>(channel_->ended)) {
  case Ended::kFinished: return Ending::kFinished;
  case Ended::kCall: return Ending::kCall;
  case Ended::kWritten: return Ending::kWritten;
  case Ended::kUnreadable: return Ending::kUnreadable;
  case Ended::kDescriptors: return Ending::kDescriptors;
  case Ended::kSetUp: return Ending::kSetUp;
  default: break;
  }
  if (copied_->thread.is_ending()) return Ending::kOriginal; // copies die with it
  return now - copy_made_ > kOld ? Ending::kOld : Ending::kCrashed;
}

/// Has it ended by itself?
void Controller::check_copy(uint64_t now) {
  if (!copied_) return;
  pollfd dead = {copy_handle_, POLLIN, 0};
  if (poll(&dead, 1, 0) <= 0) return;
  const Ending why = ending_of_dead(now);
  end_copy(why);
}

} // namespace pagecast::speculate
