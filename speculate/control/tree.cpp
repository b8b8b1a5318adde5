// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which threads there are: the program's, and those of the processes that it has started.
#include "speculate/control/controller.h"
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/types.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

constexpr unsigned kThreads = 16, kChildren = 64;

} // namespace

/// Whether any process or thread has begun since the last time: the kernel tells the last number that it has given to one.
bool Controller::has_new_tasks() {
  char text[128] = "";
  if (tasks_.is_open() || tasks_.open("/proc/loadavg")) tasks_.read(text, sizeof text);
  const char *const last = strrchr(text, ' ');
  const uint64_t number = last ? strtoull(last, nullptr, 10) : 0;
  const bool fresh = number == 0 || number != last_task_;
  last_task_ = number;
  return fresh;
}

Watched *Controller::watched(pid_t process, pid_t thread) {
  for (unsigned i = 0; i < count_; i++)
    if (watched_[i].thread.process() == process && watched_[i].thread.number() == thread) return &watched_[i];
  return nullptr;
}

void Controller::visit(pid_t process) {
  pid_t threads[kThreads];
  const unsigned found = threads_of(process, threads, kThreads);
  bool overlaps = false; // its descriptor may be closed: threads tell of an io_uring all the same
  for (unsigned i = 0; i < found; i++) {
    Watched *one = watched(process, threads[i]);
    if (!one && count_ < kWatched) {
      Watched fresh;
      if (!fresh.thread.open(process, threads[i])) continue;
      if (fresh.thread.works_for_ring()) {
        fresh.thread.close();
        overlaps = true;
        continue;
      }
      one = new (&watched_[count_++]) Watched(fresh);
    }
    if (one) one->present = true;
  }
  for (unsigned i = 0; i < count_ && overlaps; i++)
    if (watched_[i].thread.process() == process && !watched_[i].refused) refuse(watched_[i], kOwnIo);
}

void Controller::refresh_tree(pid_t program) {
  for (unsigned i = 0; i < count_; i++) watched_[i].present = false;
  pid_t pending[kChildren], children[kChildren];
  unsigned known = 0;
  pending[known++] = program;
  for (unsigned next = 0; next < known; next++) {
    if (pending[next] == copy_ || pending[next] == getpid()) continue; // a copy and the controller are the program's children
    visit(pending[next]);
    const unsigned found = children_of(pending[next], children, kChildren);
    for (unsigned i = 0; i < found && known < kChildren; i++) pending[known++] = children[i];
  }
  for (unsigned i = 0; i < count_;) {
    if (watched_[i].present || &watched_[i] == copied_) {
      i++;
      continue;
    }
    watched_[i].thread.close();
    count_--;
    if (copied_ == &watched_[count_]) copied_ = &watched_[i];
    watched_[i] = watched_[count_];
  }
}

} // namespace pagecast::speculate
