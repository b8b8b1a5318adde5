// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slice machine's PREVIOUS: what one iteration hands to the next, as the state of a random generator or a rolling hash.
// In a vector loop the operations from a PREVIOUS to the one that computes what it hands on are run lane by lane, all others
// for all lanes at once:
//
//     h = previous(start, g)       in order
//     c = load sequence[i]         in order
//     g = h << 2 | c               in order
//     touch table + g              128 lanes at a time
//
// Where a value that is handed on could not be computed, all iterations end up to the next one that starts anew.
#include "runtime/slices/machine.h"

#include <algorithm>

namespace pagecast {

void CarriedValues::start(const SliceCall &call) {
  const pagecast_slice &slice = *call.nest->slice;
  op_ = slice.op;
  count_ = 0;
  if (!slice.carried) return;
  unsigned loop[PAGECAST_MAX_SLICE_LOOPS + 1] = {0}, depth = 0;
  for (unsigned i = 0; i < slice.ops; ++i) {
    const pagecast_op &op = op_[i];
    if (op.code == PAGECAST_OP_LOOP) loop[++depth] = i + 1;
    if (op.code == PAGECAST_OP_END) --depth;
    if (op.code != PAGECAST_OP_PREVIOUS) continue;
    unsigned computed = loop[depth];
    while (op_[computed].to != op.b || !slice_computes(op_[computed])) // there is one: slice_valid()
      computed = slice_opens(op_[computed]) ? op_[computed].extra : computed + 1;
    const bool known = call.carried && call.carried->known >> op.extra & 1;
    value_[count_++] = {i, computed, loop[depth], known, known ? call.carried->value[op.extra] : 0};
  }
}

void CarriedValues::end(const SliceCall &call) const {
  SliceCarried &out = *call.carried;
  out.known = 0;
  for (const Value *v = value_; v < value_ + count_; ++v) {
    const uint32_t number = op_[v->at].extra;
    out.value[number] = v->value;
    out.known |= static_cast<uint32_t>(v->known) << number;
  }
}

unsigned CarriedValues::section_end(unsigned begin) const {
  unsigned end = begin + 1;
  for (const Value *v = value_; v < value_ + count_; ++v) // in the order of their operations
    if (v->at >= begin && v->at < end) end = std::max(end, v->computed + 1);
  return end;
}

SliceMachine::Flow SliceMachine::in_order(unsigned begin, unsigned *section_end) {
  const unsigned end = *section_end = carried_.section_end(begin);
  if (!spend(uint64_t{lanes_} * (end - begin))) return Flow::kTired;
  for (unsigned l = 0; l < lanes_; ++l) {
    unsigned i = is_alive(l) ? begin : ended_[l];
    for (; i >= begin && i < end; ++i) {
      if (!executed(op_[i])) continue;
      const Flow flow = lane_op(i, l);
      if (flow >= Flow::kRefused) return flow;
      if (flow == Flow::kLeave) {
        kill(l, i);
        break;
      }
    }
    carried_.lane_done(begin, end, i, [&](unsigned operand) { return lane_of(operand, l); });
  }
  return Flow::kOn;
}

uint64_t SliceMachine::lane_of(unsigned operand, unsigned lane) const {
  return slice_is_vector(operand) ? v_[operand - PAGECAST_VECTOR][lane] : scalar(operand);
}

/// Lanes are those of vectors: any will do in a scalar loop. False: the iteration ends.
bool SliceMachine::previous(const pagecast_op &op, unsigned lane, uint64_t *value) const {
  const CarriedValues::Value &before = carried_.of(static_cast<unsigned>(&op - op_));
  const bool anew = lane_of(op.c, lane);
  *value = anew ? lane_of(op.a, lane) : before.value;
  return anew || before.known;
}

SliceMachine::Flow SliceMachine::lane_op(unsigned number, unsigned lane) {
  const pagecast_op &op = op_[number];
  const uint64_t a = lane_of(op.a, lane);
  const bool wanted = op.c == PAGECAST_NONE || lane_of(op.c, lane);
  switch (op.code) {
  case PAGECAST_OP_PREVIOUS: return previous(op, lane, &v_[op.to - PAGECAST_VECTOR][lane]) ? Flow::kOn : Flow::kLeave;
  case PAGECAST_OP_LOAD: {
    uint64_t value = 0;
    const bool there = !wanted || load_slowly(number, a, op.width / 8, &value);
    v_[op.to - PAGECAST_VECTOR][lane] = value;
    return there ? Flow::kOn : Flow::kLeave;
  }
  case PAGECAST_OP_TOUCH: return wanted ? touch(op.extra, a) : Flow::kOn;
  case PAGECAST_OP_RANGE: return wanted ? range(op.extra, a, lane_of(op.b, lane), lane_of(op.to, lane)) : Flow::kOn;
  default: v_[op.to - PAGECAST_VECTOR][lane] = slice_compute(op, a, lane_of(op.b, lane), lane_of(op.c, lane)); return Flow::kOn;
  }
}

} // namespace pagecast
