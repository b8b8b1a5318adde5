// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/sharing/event_node.h"

namespace pagecast::simulator {
namespace {

using Found = core::StorageCache::Found;

constexpr uint64_t kAtOnce = 16; ///< blocks that the node holds for one request

} // namespace

EventNode::EventNode(Clock &clock, Processors &processors, const RunMachine &m, uint32_t clients)
    : clock_(clock), processors_(processors), turn_(m.turn), block_(m.block), frames_(uint32_t(m.cache / m.block)),
      clients_(clients), arm_(m.latency, m.rate), tables_(core::StorageCache::bytes(frames_, clients) / 8 + 1), waits_(frames_) {
  cache_.start(tables_.data(), core::StoragePolicy::kAging, frames_, clients, frames_ / 2, true);
}

void EventNode::read(uint64_t block, uint32_t client, bool is_filled, bool is_held, std::function<void(uint32_t)> then) {
  const core::StorageCache::Lookup found = cache_.reference(block, client);
  const uint32_t f = found.frame;
  if (found.found == Found::kFull) {
    for_room_.push_back([=, this, then = std::move(then)] { read(block, client, is_filled, is_held, then); });
    return;
  }
  const auto is_there = [=, this] {
    if (!is_held) let_go(f);
    then(f);
  };
  if (found.found == Found::kHere) return clock_.at(clock_.now(), is_there);
  if (found.found == Found::kFetch && is_filled) {
    filled_.insert(f);
    return clock_.at(clock_.now(), is_there);
  }
  waits_[f].push_back(is_there);
  if (found.found == Found::kFetch) fetch(block, f, true);
  else arm_.hurry(f);
}

void EventNode::prefetch(uint64_t block, uint32_t client) {
  const core::StorageCache::Lookup found = cache_.prefetch(block, client);
  if (found.found == Found::kFetch) fetch(block, found.frame, false);
}

void EventNode::write(uint64_t offset, uint64_t bytes, std::vector<uint32_t> held, Then then) {
  writes_.emplace(++token_, [=, this, then = std::move(then)] {
    for (const uint32_t f : held) {
      if (filled_.erase(f)) arrived(f);
      let_go(f);
    }
    then();
  });
  arm_.write({offset, bytes, token_});
  go_on();
}

uint64_t EventNode::share() const { return std::clamp<uint64_t>(frames_ / 2 / std::max(2u, serving_), 1, kAtOnce); }

void EventNode::report(RunReport *out) const {
  for (uint32_t c = 0; c < clients_; ++c) out->counts += cache_.final_counts(c);
  out->disk_reads = arm_.reads();
  out->disk_writes = arm_.writes();
  out->disk_bytes = bytes_;
}

void EventNode::fetch(uint64_t block, uint32_t f, bool is_waited_for) {
  arm_.read({block * block_, block_, f}, is_waited_for);
  go_on();
}

/// Others may ask at the same time, so that what they ask for is part of the same request.
void EventNode::go_on() {
  if (is_busy_) return;
  is_busy_ = true;
  clock_.at(clock_.now(), [this] { begin(); });
}

void EventNode::begin() {
  bool is_write;
  const std::vector<Arm::Request> run = arm_.take(&is_write);
  if (run.empty()) {
    is_busy_ = false;
    return;
  }
  clock_.at(clock_.now() + arm_.micros(run), [=, this] {
    for (const Arm::Request &r : run)
      if (is_write) {
        const auto at = writes_.find(r.token);
        const Then then = std::move(at->second);
        writes_.erase(at);
        then();
      } else {
        bytes_ += r.bytes;
        arrived(uint32_t(r.token));
      }
    processors_.work(turn_, [this] { begin(); });
  });
}

void EventNode::arrived(uint32_t f) {
  cache_.arrived(f);
  std::vector<Then> waiting;
  waiting.swap(waits_[f]);
  for (const Then &then : waiting) then();
  ask_again();
}

void EventNode::let_go(uint32_t f) {
  cache_.unpin(f);
  ask_again();
}

void EventNode::ask_again() {
  if (for_room_.empty()) return;
  std::vector<Then> waiting;
  waiting.swap(for_room_);
  for (Then &then : waiting) clock_.at(clock_.now(), std::move(then));
}

} // namespace pagecast::simulator
