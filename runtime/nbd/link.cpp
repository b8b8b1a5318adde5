// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/nbd/link.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/nbd/helper_start.h"
#include "runtime/state/options.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>

namespace pagecast {
namespace {
constexpr uint64_t kStartNs = 10'000'000'000; ///< that a server may take to answer at first
}

void NbdLink::find_helper(const char *option) {
  if (addresses_in(option)) find_helper();
}

void NbdLink::find_helper() {
  static const char here = 0;
  Dl_info ours;
  if (os::has_helper() || !dladdr(&here, &ours)) return;
  const char *slash = strrchr(ours.dli_fname, '/');
  char path[1024];
  write_text(path, sizeof path, "%.*s/pagecast/pagecast-nbd", slash ? static_cast<int>(slash - ours.dli_fname) : 1,
             slash ? ours.dli_fname : ".");
  os::note_helper(path);
}

int NbdLink::make_channel() {
  const uint64_t bytes = kHeader + buffer_bytes_;
  memory_ = os::make_shared_memory("pagecast-nbd", bytes);
  if (memory_ < 0) return memory_;
  channel_ = reinterpret_cast<NbdChannel *>(os::map_shared_memory(memory_, bytes));
  if (!channel_) return -ENOMEM;
  work_ = os::event_open();
  answers_ = os::event_open();
  free_count_ = 0;
  while (free_count_ < NbdChannel::kPieces) give(NbdChannel::kPieces - 1 - free_count_);
  return work_ < 0 ? work_ : answers_ < 0 ? answers_ : 0;
}

int NbdLink::start_helper(Staging staging) {
  int ends[2];
  if (const int error = os::token_pair(ends)) return error;
  if (staging.fd < 0) staging = {memory_, kHeader}; // which it then has twice
  channel_->version = NbdChannel::kVersion;
  channel_->process = os::process_id();
  channel_->patience_s = patience_s_;
  channel_->channel_bytes = kHeader + buffer_bytes_;
  channel_->staging_bytes = staging.bytes;
  channel_->page_bytes = static_cast<uint32_t>(os::page_size());
  channel_->bytes = bytes_;
  channel_->writes = needs_ != kMap;
  write_text(channel_->uri, sizeof channel_->uri, "%s", uri_);
  channel_->state.store(NbdChannel::kStarting);
  channel_->asked.clear();
  channel_->answered.clear();
  const int descriptors[] = {ends[1], memory_, staging.fd, work_, answers_};
  const int error = os::start_helper(descriptors, NbdChannel::kDescriptors - NbdChannel::kControl);
  close_own(ends[1]);
  control_ = ends[0];
  return error;
}

int NbdLink::wait_until_ready(char *why, unsigned capacity) {
  const uint64_t until = os::now_ns() + kStartNs;
  auto state = [&] { return channel_->state.load(std::memory_order_acquire); };
  for (uint64_t now; state() == NbdChannel::kStarting && !ended() && (now = os::now_ns()) < until;)
    os::wait_readable(control_, until - now); // a byte, or the helper's end; a signal may come before
  if (state() == NbdChannel::kReady) return 0;
  if (state() == NbdChannel::kRefused) write_text(why, capacity, "%s %s: %.299s", role(), uri_, channel_->why);
  else if (ended())
    write_text(why, capacity, "%s %s: the helper for servers ended at once; it needs the library libnbd", role(), uri_);
  else
    write_text(why, capacity, "%s %s: the server does not answer within %u s", role(), uri_, unsigned{kStartNs / 1'000'000'000});
  return -ECONNREFUSED;
}

int NbdLink::start(const char *uri, uint64_t buffer_bytes, Staging staging, unsigned patience_s, Needs needs, char *why,
                   unsigned capacity) {
  needs_ = needs;
  uri_ = uri;
  buffer_bytes_ = buffer_bytes;
  patience_s_ = patience_s;
  int error = make_channel();
  if (error)
    write_text(why, capacity, "%s %s: no memory to share with the helper for servers (%s)", role(), uri, error_text(-error));
  else if ((error = start_helper(staging)))
    write_text(why, capacity,
               "%s %s: the helper for servers, pagecast/pagecast-nbd beside libpagecast.so, cannot be started (%s)", role(), uri,
               error_text(-error));
  else error = wait_until_ready(why, capacity);
  if (error) forget();
  else bytes_ = channel_->bytes, block_ = channel_->block, read_only_ = channel_->read_only;
  return error;
}

void NbdLink::forget() {
  for (int *fd : {&control_, &memory_, &work_, &answers_}) {
    close_own(*fd);
    *fd = -1;
  }
  if (channel_) os::unmap(channel_, kHeader + buffer_bytes_);
  channel_ = nullptr;
}

int NbdLink::start_own(Staging staging) {
  int error = make_channel();
  if (!error) error = start_helper(staging);
  if (error) forget();
  return error;
}

bool NbdLink::ended() const { return control_ < 0 || os::hung_up(control_); }

int NbdLink::start_again(Staging staging) {
  close_own(control_);
  control_ = -1;
  return start_helper(staging);
}

void NbdLink::ask(uint32_t piece) {
  channel_->asked.put(piece);
  if (channel_->asleep.load(std::memory_order_seq_cst)) os::event_post(work_);
}

} // namespace pagecast
