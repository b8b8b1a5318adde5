// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control and values: loops, batches of lanes, arithmetic. Loads and hints are in memory.cpp.
#include "runtime/slices/machine.h"

#include "runtime/slices/floating.h"

#include <algorithm>
#include <cstring>

namespace pagecast {
namespace {

constexpr unsigned kBlock = 8; ///< lanes computed together: lanes past the last are computed in vain, not used

unsigned vector_number(unsigned operand) { return operand - PAGECAST_VECTOR; }

/// Words of `width` bits.
struct Bits {
  uint64_t width, mask, sign;
  explicit Bits(unsigned w) : width(w), mask(~0ull >> (64 - w)), sign(1ull << (w - 1)) {}
  uint64_t low(uint64_t x) const { return x & mask; }
  int64_t extend(uint64_t x) const { return static_cast<int64_t>(((x & mask) ^ sign) - sign); }
};

uint64_t divide(int64_t x, int64_t y) {
  if (y == 0) return 0;
  return y == -1 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x / y);
}
uint64_t remainder(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : static_cast<uint64_t>(x % y); }

/// arithmetic() for numbers.
template <class Each> void floating(const pagecast_op &op, Each each) {
  using u = uint64_t;
  const Bits w(op.width), from(op.code >= PAGECAST_OP_FTOS ? op.extra : 64);
  const unsigned width = op.width, given = op.extra;
  switch (op.code) {
  case PAGECAST_OP_FADD: return floating_two(width, each, [](auto x, auto y) { return x + y; });
  case PAGECAST_OP_FSUB: return floating_two(width, each, [](auto x, auto y) { return x - y; });
  case PAGECAST_OP_FMUL: return floating_two(width, each, [](auto x, auto y) { return x * y; });
  case PAGECAST_OP_FDIV: return floating_two(width, each, [](auto x, auto y) { return x / y; });
  case PAGECAST_OP_FMIN: return floating_two(width, each, [](auto x, auto y) { return y < x || x != x ? y : x; });
  case PAGECAST_OP_FMAX: return floating_two(width, each, [](auto x, auto y) { return y > x || x != x ? y : x; });
  case PAGECAST_OP_FSQRT: return floating_one(width, each, [](double x) { return __builtin_sqrt(x); });
  case PAGECAST_OP_FWHOLE: return floating_one(width, each, [given](double x) { return slice_whole(x, given); });
  case PAGECAST_OP_FEQ: return floating_two(width, each, [](auto x, auto y) { return x == y; });
  case PAGECAST_OP_FLT: return floating_two(width, each, [](auto x, auto y) { return x < y; });
  case PAGECAST_OP_FLE: return floating_two(width, each, [](auto x, auto y) { return x <= y; });
  case PAGECAST_OP_FTOS: return each.one([=](u x) { return w.low(static_cast<u>(slice_signed(slice_number(x, given)))); });
  case PAGECAST_OP_FTOU: return each.one([=](u x) { return w.low(slice_unsigned(slice_number(x, given))); });
  case PAGECAST_OP_STOF:
    if (width == 32) return each.one([=](u x) { return slice_word(static_cast<float>(from.extend(x))); });
    return each.one([=](u x) { return slice_word(static_cast<double>(from.extend(x))); });
  case PAGECAST_OP_UTOF:
    if (width == 32) return each.one([=](u x) { return slice_word(static_cast<float>(from.low(x))); });
    return each.one([=](u x) { return slice_word(static_cast<double>(from.low(x))); });
  case PAGECAST_OP_FTOF: return each.one([=](u x) { return slice_word(slice_number(x, given), width); });
  }
}

/// Hands the operation's function to `each`, as a function of one, two or three words. Results have the
/// operation's width, whatever the operands are.
template <class Each> void arithmetic(const pagecast_op &op, Each each) {
  using u = uint64_t;
  const Bits w(op.width);
  switch (op.code) {
  case PAGECAST_OP_ADD: return each.two([w](u x, u y) { return w.low(x + y); });
  case PAGECAST_OP_SUB: return each.two([w](u x, u y) { return w.low(x - y); });
  case PAGECAST_OP_MUL: return each.two([w](u x, u y) { return w.low(x * y); });
  case PAGECAST_OP_MADD: return each.three([w](u x, u y, u z) { return w.low(x * y + z); });
  case PAGECAST_OP_AND: return each.two([w](u x, u y) { return w.low(x & y); });
  case PAGECAST_OP_OR: return each.two([w](u x, u y) { return w.low(x | y); });
  case PAGECAST_OP_XOR: return each.two([w](u x, u y) { return w.low(x ^ y); });
  case PAGECAST_OP_SHL: return each.two([w](u x, u y) { return w.low(y) < w.width ? w.low(x << (w.low(y) & 63)) : 0; });
  case PAGECAST_OP_LSHR: return each.two([w](u x, u y) { return w.low(y) < w.width ? w.low(x) >> (w.low(y) & 63) : 0; });
  case PAGECAST_OP_ASHR:
    return each.two([w](u x, u y) { return w.low(static_cast<u>(w.extend(x) >> std::min<u>(w.low(y), 63))); });
  case PAGECAST_OP_UDIV: return each.two([w](u x, u y) { return w.low(y) ? w.low(x) / w.low(y) : 0; });
  case PAGECAST_OP_UREM: return each.two([w](u x, u y) { return w.low(y) ? w.low(x) % w.low(y) : 0; });
  case PAGECAST_OP_SDIV: return each.two([w](u x, u y) { return w.low(divide(w.extend(x), w.extend(y))); });
  case PAGECAST_OP_SREM: return each.two([w](u x, u y) { return w.low(remainder(w.extend(x), w.extend(y))); });
  case PAGECAST_OP_UMIN: return each.two([w](u x, u y) { return std::min(w.low(x), w.low(y)); });
  case PAGECAST_OP_UMAX: return each.two([w](u x, u y) { return std::max(w.low(x), w.low(y)); });
  case PAGECAST_OP_SMIN: return each.two([w](u x, u y) { return w.low(static_cast<u>(std::min(w.extend(x), w.extend(y)))); });
  case PAGECAST_OP_SMAX: return each.two([w](u x, u y) { return w.low(static_cast<u>(std::max(w.extend(x), w.extend(y)))); });
  case PAGECAST_OP_TRUNC: return each.one([w](u x) { return w.low(x); });
  case PAGECAST_OP_SEXT: {
    const Bits from(op.extra);
    return each.one([w, from](u x) { return w.low(static_cast<u>(from.extend(x))); });
  }
  case PAGECAST_OP_EQ: return each.two([w](u x, u y) { return static_cast<u>(w.low(x ^ y) == 0); });
  case PAGECAST_OP_NE: return each.two([w](u x, u y) { return static_cast<u>(w.low(x ^ y) != 0); });
  case PAGECAST_OP_ULT: return each.two([w](u x, u y) { return static_cast<u>(w.low(x) < w.low(y)); });
  case PAGECAST_OP_ULE: return each.two([w](u x, u y) { return static_cast<u>(w.low(x) <= w.low(y)); });
  case PAGECAST_OP_SLT: return each.two([w](u x, u y) { return static_cast<u>(w.extend(x) < w.extend(y)); });
  case PAGECAST_OP_SLE: return each.two([w](u x, u y) { return static_cast<u>(w.extend(x) <= w.extend(y)); });
  case PAGECAST_OP_SELECT: return each.three([w](u x, u y, u z) { return w.low(x ? y : z); });
  default: return floating(op, each);
  }
}

struct Scalars {
  uint64_t *to;
  uint64_t a, b, c;
  template <class F> void one(F f) { *to = f(a); }
  template <class F> void two(F f) { *to = f(a, b); }
  template <class F> void three(F f) { *to = f(a, b, c); }
};

/// `a` is a vector; `b` and `c` are if they are not NULL, and else the scalars `sb` and `sc`.
struct Vectors {
  uint64_t *to;
  const uint64_t *a, *b, *c;
  uint64_t sb, sc;
  unsigned lanes;

  template <class F> void blocks(F f) {
    uint64_t *const result = to;
    for (unsigned l = 0; l < lanes; l += kBlock) {
#pragma GCC ivdep // a result may be in an operand's place, lane by lane
      for (unsigned k = l; k < l + kBlock; ++k) result[k] = f(k);
    }
  }
  template <class F> void one(F f) {
    blocks([f, a = a](unsigned l) { return f(a[l]); });
  }
  template <class F> void two(F f) {
    if (b) blocks([f, a = a, b = b](unsigned l) { return f(a[l], b[l]); });
    else blocks([f, a = a, y = sb](unsigned l) { return f(a[l], y); });
  }
  template <class F> void three(F f) {
    if (b && c) blocks([f, a = a, b = b, c = c](unsigned l) { return f(a[l], b[l], c[l]); });
    else if (b) blocks([f, a = a, b = b, z = sc](unsigned l) { return f(a[l], b[l], z); });
    else if (c) blocks([f, a = a, y = sb, c = c](unsigned l) { return f(a[l], y, c[l]); });
    else blocks([f, a = a, y = sb, z = sc](unsigned l) { return f(a[l], y, z); });
  }
};

} // namespace

SliceOutcome SliceMachine::run(const SliceCall &call, const SliceFilter &filter, SliceMemory &memory, SliceSink &sink,
                               uint64_t *work) {
  const pagecast_slice &slice = *call.nest->slice;
  start(call, filter, memory, sink, *work);
  carried_.start(call);
  const unsigned chain = call.nest->live + call.nest->loops - 1;
  watching_ = in_order_ = call.every > 0 && slice_can_sample(*call.nest);
  const Flow flow = slice.loops                   ? scalar_loop(0, slice.ops, chain, call.first, call.count)
                    : watching_ && call.every > 1 ? sampled_loop(slice.ops, call.first, call.count, call.every)
                                                  : vector_loop(0, slice.ops, PAGECAST_VECTOR, call.first, call.count);
  *work = work_;
  if (flow == Flow::kOn && call.carried) carried_.end(call);
  return flow == Flow::kRefused ? SliceOutcome::kRefused : flow == Flow::kTired ? SliceOutcome::kTired : SliceOutcome::kDone;
}

void SliceMachine::start(const SliceCall &call, const SliceFilter &filter, SliceMemory &memory, SliceSink &sink, uint64_t work) {
  const pagecast_nest &nest = *call.nest;
  op_ = nest.slice->op;
  group_ = nest.group;
  memory_ = &memory;
  sink_ = &sink;
  residency_ = filter.residency;
  shift_ = filter.page_shift;
  page_ = 1ull << filter.page_shift;
  stage_ = call.stage;
  silent_ = call.silent;
  work_ = work;
  portion_end_ = work > kPortion ? work - kPortion : 0;
  for (unsigned i = 0; i < nest.slice->ops; ++i) last_[i].page = kNoPage;
  for (Translation &t : translation_) t.page = kNoPage;
  for (uint64_t &page : nowhere_) page = kNoPage;
  for (unsigned g = 0; g < nest.groups; ++g) region_[g] = {0, 0, 0};
  uint64_t *s = std::copy_n(call.live, nest.live, s_);
  s = std::copy_n(call.index, nest.loops - 1, s);
  std::fill(s, s_ + nest.slice->scalars, 0);
}

/// False: too little is left.
bool SliceMachine::spend(uint64_t work) {
  const bool enough = work <= work_;
  work_ = enough ? work_ - work : 0;
  return enough && (work_ >= portion_end_ || go_on());
}

/// At the end of a portion: whether there is still somebody for whom to work.
bool SliceMachine::go_on() {
  portion_end_ = work_ > kPortion ? work_ - kPortion : 0;
  if (sink_->wanted()) return true;
  work_ = 0;
  return false;
}

uint64_t SliceMachine::scalar(unsigned operand) const { return operand == PAGECAST_NONE ? 0 : s_[operand]; }

/// The operand as a vector: of a scalar, a copy per lane in spread_[scratch].
const uint64_t *SliceMachine::lanes(unsigned operand, unsigned scratch) {
  if (slice_is_vector(operand)) return v_[vector_number(operand)];
  std::fill_n(spread_[scratch], lanes_, scalar(operand));
  return spread_[scratch];
}

/// Hints belong to one stage; values to all from theirs on, since later stages need them.
bool SliceMachine::executed(const pagecast_op &op) const {
  return slice_is_hint(op) ? op.depth == stage_ && !silent_ : op.depth <= stage_;
}

SliceMachine::Flow SliceMachine::scalar_loop(unsigned begin, unsigned end, unsigned to, uint64_t first, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (!spend(1)) return Flow::kTired;
    s_[to] = first + i;
    const Flow flow = scalar_body(begin, end);
    if (flow >= Flow::kRefused) return flow;
    if (carried_.any())
      carried_.iteration_done(begin, flow == Flow::kLeave ? left_ : end, [&](unsigned operand) { return s_[operand]; });
  }
  return Flow::kOn;
}

SliceMachine::Flow SliceMachine::scalar_body(unsigned begin, unsigned end) {
  for (unsigned i = begin; i < end;) {
    const pagecast_op &op = op_[i];
    const unsigned next = slice_opens(op) ? op.extra + 1 : i + 1;
    if (executed(op)) {
      if (!spend(1)) return Flow::kTired;
      const Flow flow = scalar_op(i);
      if (flow != Flow::kOn) return left_ = i, flow;
    }
    i = next;
  }
  return Flow::kOn;
}

uint64_t slice_compute(const pagecast_op &op, uint64_t a, uint64_t b, uint64_t c) {
  uint64_t result = 0;
  arithmetic(op, Scalars{&result, a, b, c});
  return result;
}

SliceMachine::Flow SliceMachine::scalar_op(unsigned number) {
  const pagecast_op &op = op_[number];
  const uint64_t a = scalar(op.a);
  switch (op.code) {
  case PAGECAST_OP_LOOP: {
    if (op.c != PAGECAST_NONE && !scalar(op.c)) return Flow::kOn;
    const unsigned begin = number + 1, end = op.extra;
    return slice_is_vector(op.to) ? vector_loop(begin, end, op.to, 0, a) : scalar_loop(begin, end, op.to, 0, a);
  }
  case PAGECAST_OP_PREVIOUS: return previous(op, 0, &s_[op.to]) ? Flow::kOn : Flow::kLeave;
  case PAGECAST_OP_LOAD: {
    uint64_t value = 0;
    const bool wanted = op.c == PAGECAST_NONE || scalar(op.c);
    const bool there = !wanted || load_slowly(number, a, op.width / 8, &value);
    s_[op.to] = value;
    return there ? Flow::kOn : Flow::kLeave;
  }
  case PAGECAST_OP_TOUCH: return op.c == PAGECAST_NONE || scalar(op.c) ? touch(op.extra, a) : Flow::kOn;
  case PAGECAST_OP_RANGE:
    return op.c == PAGECAST_NONE || scalar(op.c) ? range(op.extra, a, scalar(op.b), scalar(op.to)) : Flow::kOn;
  case PAGECAST_OP_SEARCH: return scalar_search(number);
  case PAGECAST_OP_CARRY: s_[op.to] = a; return Flow::kOn;
  case PAGECAST_OP_UNTIL: return a ? Flow::kFound : Flow::kOn;
  default: arithmetic(op, Scalars{&s_[op.to], a, scalar(op.b), scalar(op.c)}); return Flow::kOn;
  }
}

SliceMachine::Flow SliceMachine::vector_loop(unsigned begin, unsigned end, unsigned to, uint64_t first, uint64_t count) {
  uint64_t *const number = v_[vector_number(to)];
  for (uint64_t i = 0; i < count; i += lanes_) {
    lanes_ = static_cast<unsigned>(std::min<uint64_t>(kLanes, count - i));
    if (!spend(lanes_)) return Flow::kTired;
    alive_count_ = lanes_;
    for (unsigned l = 0; l < lanes_; ++l) number[l] = first + i + l;
    const Flow flow = vector_body(begin, end);
    if (flow >= Flow::kRefused) return flow;
  }
  return Flow::kOn;
}

SliceMachine::Flow SliceMachine::vector_body(unsigned begin, unsigned end) {
  unsigned i = begin;
  for (; i < end && alive_count_; ++i) {
    const bool search = op_[i].code == PAGECAST_OP_SEARCH;
    if (executed(op_[i])) {
      Flow flow;
      if (op_[i].code == PAGECAST_OP_PREVIOUS) {
        unsigned after;
        flow = in_order(i, &after);
        i = after - 1;
      } else {
        flow = !spend(lanes_) ? Flow::kTired : search ? vector_search(i) : vector_op(i);
      }
      if (flow != Flow::kOn) return flow;
    }
    if (search) i = op_[i].extra;
  }
  if (carried_.any() && !alive_count_)
    carried_.lane_done(i, end, ended_[lanes_ - 1], [&](unsigned operand) { return lane_of(operand, lanes_ - 1); });
  return Flow::kOn;
}

SliceMachine::Flow SliceMachine::vector_op(unsigned number) {
  const pagecast_op &op = op_[number];
  switch (op.code) {
  case PAGECAST_OP_LOAD: return load_lanes(number);
  case PAGECAST_OP_TOUCH: return touch_lanes(op);
  case PAGECAST_OP_RANGE: return range_lanes(op);
  case PAGECAST_OP_CARRY: carry_lanes(op); return Flow::kOn;
  case PAGECAST_OP_UNTIL: leave_lanes(op); return Flow::kOn;
  default: break;
  }
  Vectors v{v_[vector_number(op.to)], nullptr, nullptr, nullptr, 0, 0, lanes_};
  v.a = lanes(op.a, 0);
  if (slice_is_vector(op.b)) v.b = v_[vector_number(op.b)];
  else v.sb = scalar(op.b);
  if (slice_is_vector(op.c)) v.c = v_[vector_number(op.c)];
  else v.sc = scalar(op.c);
  arithmetic(op, v);
  return Flow::kOn;
}

} // namespace pagecast
