// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/sharing/arm.h"
#include <algorithm>

namespace pagecast::simulator {

void Arm::hurry(uint64_t token) {
  const auto at = std::find_if(foretold_.begin(), foretold_.end(), [&](const Request &r) { return r.token == token; });
  if (at == foretold_.end()) return;
  waited_for_.push_back(*at);
  foretold_.erase(at);
}

bool Arm::take_neighbour(std::deque<Request> *from, std::vector<Request> *run) {
  const uint64_t begin = run->front().offset, end = run->back().offset + run->back().bytes;
  for (auto at = from->begin(); at != from->end(); ++at) {
    if (at->offset != end && at->offset + at->bytes != begin) continue;
    run->insert(at->offset == end ? run->end() : run->begin(), *at);
    from->erase(at);
    return true;
  }
  return false;
}

std::vector<Arm::Request> Arm::take(bool *is_write) {
  const bool has_read = !waited_for_.empty() || !foretold_.empty();
  *is_write = !writes_.empty() && (was_read_ || !has_read);
  std::vector<Request> run;
  if (!*is_write && !has_read) return run;
  std::deque<Request> &from = *is_write ? writes_ : !waited_for_.empty() ? waited_for_ : foretold_;
  run.push_back(from.front());
  from.pop_front();
  const auto has_room = [&] { return run.back().offset + 2 * run.back().bytes - run.front().offset <= kLargest; };
  if (*is_write)
    while (has_room() && take_neighbour(&writes_, &run)) {}
  else
    while (has_room() && (take_neighbour(&waited_for_, &run) || take_neighbour(&foretold_, &run))) {}
  was_read_ = !*is_write;
  ++(*is_write ? writes_made_ : reads_);
  return run;
}

} // namespace pagecast::simulator
