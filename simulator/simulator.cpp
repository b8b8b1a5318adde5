// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/simulator.h"
#include "core/nest/nest.h"
#include "simulator/disk.h"
#include "simulator/memory.h"
#include "simulator/outstanding.h"
#include "simulator/workload.h"
#include <memory>

namespace pagecast::simulator {

namespace {

class Simulation final : public core::Sink {
public:
  Simulation(const core::Shape &, const Machine &);
  Report run();

  bool fetch(core::Extent, unsigned group, bool write) override;
  void release(core::Extent, unsigned group, unsigned priority) override;

private:
  void tick();
  void original_hints();
  void touch(unsigned group, uint64_t page);
  void wait(uint64_t from, uint64_t until);
  bool load(core::Extent, bool prefetch);
  void evicted(const Frame &);
  core::Extent extent(uint64_t page) const { return {page * machine_.page, (page + 1) * machine_.page}; }

  const core::Shape &shape_;
  const Machine &machine_;
  Walker walker_;
  Memory memory_;
  Disk disk_;
  Outstanding outstanding_;
  core::ResidencyMap map_;
  std::vector<uint64_t> map_words_;
  std::unique_ptr<core::Nest> nest_ = std::make_unique<core::Nest>();
  uint64_t now_ = 0, step_ = 0, wake_ = 0, in_strip_ = 0;
  bool changed_ = true; ///< memory lost a page since the last iteration
  Report report_;
};

Simulation::Simulation(const core::Shape &s, const Machine &m)
    : shape_(s), machine_(m), walker_(s), memory_(m.frames), disk_(m.latency, m.bandwidth), outstanding_(m.timeline) {
  const uint64_t pages = kMaxArrays * kArrayBytes / m.page;
  map_words_.resize(core::ResidencyMap::bytes(pages) / 8);
  map_.attach(reinterpret_cast<uint8_t *>(map_words_.data()), unsigned(__builtin_ctzll(m.page)), kArrays / m.page, pages);
  core::Conditions c;
  c.page = m.page;
  c.budget = m.frames * m.page;
  c.latency_ns = m.latency;
  c.queue_bytes = m.queue_bytes;
  c.max_io = m.max_io;
  c.fixed_distance = m.fixed_distance;
  c.schedule = m.schedule;
  c.release = m.release;
  nest_->start(s, c, 0);
  report_.outer_stalls.resize(s.trips[0]);
  report_.outer_stall_cycles.resize(s.trips[0]);
}

Report Simulation::run() {
  uint64_t last[core::kMaxGroups] = {};
  for (bool first = true; !walker_.done(); walker_.next(), first = false, ++now_) {
    // A step ends with its strip or with an execution of the ticked loop.
    if (first || walker_.begins(shape_.ticked)) {
      const bool execution = shape_.ticked > 0 && walker_.begins(shape_.ticked - 1);
      if (!first && (execution || ++in_strip_ == nest_->strip())) ++step_, in_strip_ = 0;
      if (execution) in_strip_ = 0;
      if (machine_.hints == Hints::kCore && step_ >= wake_) tick();
    }
    if (machine_.hints == Hints::kOriginal) original_hints();
    bool moved = changed_;
    for (unsigned g = 0; g < shape_.groups; ++g) moved |= walker_.address(g) / machine_.page != last[g];
    if (!moved) continue; // the same pages in the same order: the LRU order stays as it is
    changed_ = false;
    for (unsigned g = 0; g < shape_.groups; ++g) {
      last[g] = walker_.address(g) / machine_.page;
      touch(g, last[g]);
    }
  }
  for (const auto &[page, slot] : memory_.pages())
    report_.wasted += memory_.frame(slot).prefetched && !memory_.frame(slot).referenced;
  report_.cycles = now_;
  report_.requests = disk_.requests();
  report_.bytes = disk_.bytes();
  outstanding_.finish(&report_);
  return report_;
}

void Simulation::tick() {
  // Asked for at once means that a burst of work was used up; when the sink refused, later.
  do wake_ = nest_->advance(step_, now_, map_, *this);
  while (wake_ <= step_ && !nest_->blocked());
}

void Simulation::original_hints() {
  const unsigned inner = shape_.loops - 1;
  const uint64_t distance = machine_.fixed_distance ? machine_.fixed_distance : machine_.latency;
  for (unsigned g = 0; g < shape_.groups; ++g) {
    const uint64_t stride = uint64_t(shape_.group[g].stride[inner]), a = walker_.address(g);
    if (walker_.index(inner) == 0) // prolog: one block for all of the distance
      load({a / machine_.page * machine_.page, (a + stride * distance + machine_.page - 1) / machine_.page * machine_.page},
           true);
    else if (walker_.index(inner) + distance < shape_.trips[inner]) // steady state
      load(extent((a + stride * distance) / machine_.page), true);
  }
}

bool Simulation::fetch(core::Extent e, unsigned, bool) { return load(e, true); }

/// Brings in the pages of `e` that are not in memory.
bool Simulation::load(core::Extent e, bool prefetch) {
  for (uint64_t page = e.begin / machine_.page; page < e.end / machine_.page; ++page) {
    if (Frame *f = memory_.find(page)) {
      if (!memory_.is_released(*f)) continue;
      ++report_.rescued;
      memory_.touch(*f);
    } else {
      f = memory_.allocate(page, now_, [this](const Frame &old) { evicted(old); });
      if (!f) return false; // what has been loaded so far is in the map: it is not asked for again
      f->asked = now_;
      f->arrives = disk_.request(now_, machine_.page);
      f->prefetched = prefetch;
      report_.fetched += prefetch;
      if (prefetch) outstanding_.add(now_);
    }
    map_.set(extent(page));
  }
  return true;
}

void Simulation::release(core::Extent e, unsigned, unsigned priority) {
  for (uint64_t page = e.begin / machine_.page; page < e.end / machine_.page; ++page)
    if (Frame *f = memory_.find(page); f && f->arrives <= now_) {
      memory_.release(*f, priority);
      map_.clear(extent(page));
    }
}

void Simulation::evicted(const Frame &f) {
  changed_ = true;
  map_.clear(extent(f.page));
  if (!f.prefetched || f.referenced) return;
  ++report_.wasted;
  outstanding_.remove(now_);
  nest_->unused(1);
}

void Simulation::touch(unsigned group, uint64_t page) {
  Frame *f = memory_.find(page);
  if (!f) {
    ++report_.not_prefetched;
    const uint64_t asked = now_;
    while (!load(extent(page), false)) now_ = memory_.next_arrival(now_); // every frame is in flight
    f = memory_.find(page);
    f->referenced = true;
    wait(asked, f->arrives);
  } else if (f->prefetched && !f->referenced) {
    f->referenced = true;
    outstanding_.remove(now_);
    nest_->measured(f->arrives - f->asked);
    if (f->arrives > now_) {
      ++report_.late;
      nest_->late(group);
      wait(now_, f->arrives);
    } else {
      ++report_.prefetched_hits;
    }
  }
  memory_.touch(*f);
  map_.set(extent(page));
}

void Simulation::wait(uint64_t from, uint64_t until) {
  if (until <= from) return;
  ++report_.stalls;
  ++report_.outer_stalls[walker_.index(0)];
  report_.stall_cycles += until - from;
  report_.outer_stall_cycles[walker_.index(0)] += until - from;
  now_ = until;
  outstanding_.stalled(now_);
}

} // namespace

Report simulate(const core::Shape &shape, const Machine &machine) { return Simulation(shape, machine).run(); }

} // namespace pagecast::simulator
