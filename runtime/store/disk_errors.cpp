// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/disk_errors.h"

#include "runtime/kernel/message.h"
#include "runtime/state/options.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pagecast {
namespace {

using ull = unsigned long long;

const char *reason(int result) { return result < 0 ? error_text(-result) : "it ended early"; }
bool is_lack_of_room(int error) { return error == -ENOSPC || error == -EDQUOT; }

/// Whether to speak, after `last` (0: never yet).
bool silent_for_long(uint64_t *last, uint64_t now) {
  if (*last && now - *last < DiskErrors::kSilence) return false;
  *last = now;
  return true;
}

} // namespace

void DiskErrors::start(const char *directory, DiskErrorCounts *counts, bool others) {
  others_ = others;
  directory_ = directory;
  kind_ = is_server_address(directory) ? "server" : "disk of";
  counts_ = counts;
}

/// Time without room is counted as it passes, since the program may be ended before there is some.
void DiskErrors::count_full(uint64_t now) {
  const uint64_t until = full_counted_until_;
  if (until && now > until) counts_->full_ns += now - until; // what watch() is told is the time at which its turn began
  full_counted_until_ = full_since_ || (failing_since_ && fails_for_room_) ? std::max(now, until) : 0;
}

void DiskErrors::no_room(int error, uint64_t now) {
  ++counts_->no_room;
  reserve_again_ = now + kRetry;
  const bool known = full_since_ != 0;
  if (!known) full_since_ = now;
  count_full(now);
  if (known) return;
  if (others_)
    say("there is no room left in %s (%s): the program's data go to the other stores as long as these have room", directory_,
        reason(error));
  else if (error == -EFBIG)
    say("the file for the program's data in %s may not grow (ulimit -f): what is in memory stays there, and the program waits when "
        "memory is full. End it with Ctrl-C, and start it again without that limit",
        directory_);
  else
    say("there is no room left in %s (%s): the program's data stay in memory, and it waits when memory is full. It goes on as soon as "
        "files there are removed; end it with Ctrl-C, and choose another directory with --backing or PAGECAST_BACKING",
        directory_, reason(error));
}

void DiskErrors::space_again(uint64_t now) {
  if (!full_since_) return;
  say("there is room in %s again, after %llu s: the program goes on", directory_, ull((now - full_since_) / 1000000000));
  full_since_ = 0;
  count_full(now);
}

void DiskErrors::write_failed(int result, uint64_t now) {
  fails_for_room_ = is_lack_of_room(result);
  ++(fails_for_room_ ? counts_->no_room : counts_->write_errors);
  write_again_ = now + kRetry;
  failing_since_ = now;
  failed_meanwhile_ = true;
  count_full(now);
  if (silent_for_long(&failure_said_, now))
    say(others_
            ? "writing the program's data to %s failed (%s): they stay in memory, and go to the other stores until it works again"
            : "writing the program's data to %s failed (%s): they stay in memory, and the write is tried again. The program waits when "
              "memory is full; nothing is lost while it runs",
        directory_, reason(result));
}

void DiskErrors::wrote(uint64_t started, uint64_t now) {
  if (!failing_since_ || started <= failing_since_) return;
  failing_since_ = 0;
  count_full(now);
  if (silent_for_long(&failure_said_, now)) say("writing to %s works again", directory_);
}

void DiskErrors::read_failed(int result, unsigned lost, uint64_t now) {
  ++counts_->read_errors;
  counts_->lost_pages += lost;
  failed_meanwhile_ = true;
  if (!silent_for_long(&read_said_, now) && !(lost && counts_->lost_pages == lost)) return;
  if (lost)
    say("reading the program's data back from %s failed (%s): a page is lost, and touching it raises SIGBUS; pages lost so far: %llu",
        directory_, reason(result), ull(counts_->lost_pages));
  else
    say("reading the program's data back from %s failed (%s): what the program comes to is read again, page by page", directory_,
        reason(result));
}

void DiskErrors::watch(uint64_t oldest, uint64_t now, bool for_room) {
  count_full(now);
  const bool late = oldest && oldest < now && now - oldest >= kStall; // it may have been started since `now`
  if (late) counts_->longest_io_ns = std::max(counts_->longest_io_ns, now - oldest);
  if (late && !stalled_since_) {
    stalled_since_ = oldest;
    failed_meanwhile_ = false;
    ++counts_->stalls;
    say(for_room
            ? "the %s %s has not answered for %llu s when asked for room: the program waits for it when memory is full, and loses nothing"
            : "the %s %s has not answered for %llu s: the program waits for it, and loses nothing",
        kind_, directory_, ull((now - oldest) / 1000000000));
  } else if (!late && stalled_since_) {
    if (!failed_meanwhile_)
      say("the %s %s answers again, after %llu s", kind_, directory_, ull((now - stalled_since_) / 1000000000));
    stalled_since_ = 0;
  }
}

} // namespace pagecast
