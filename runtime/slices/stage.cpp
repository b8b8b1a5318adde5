// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slices/stage.h"

#include "runtime/slices/machine.h"

namespace pagecast {
namespace {

constexpr unsigned kNoLoop = ~0u;

bool closes(const pagecast_op &op) { return op.code == PAGECAST_OP_END || op.code == PAGECAST_OP_FOUND; }
bool has_result(const pagecast_op &op) {
  return !slice_is_hint(op) && !closes(op) && op.code != PAGECAST_OP_UNTIL && op.to != PAGECAST_NONE;
}

constexpr unsigned kInside = PAGECAST_MAX_SLICE_LOOPS + PAGECAST_MAX_SEARCHES;

/// Calls `each(operand)` for the operands that the operation reads: references, so that they can be renamed.
template <class Op, class Each> void for_each_operand(Op &op, Each each) {
  if (closes(op)) return;
  each(op.a);
  each(op.b);
  each(op.c);
  if (op.code == PAGECAST_OP_RANGE) each(op.to);
}

/// A set of registers.
class Registers {
public:
  void add(unsigned r) {
    if (r != PAGECAST_NONE) of(r) = true;
  }
  bool has(unsigned r) const { return r != PAGECAST_NONE && const_cast<Registers *>(this)->of(r); }

private:
  bool &of(unsigned r) { return slice_is_vector(r) ? vector_[r - PAGECAST_VECTOR] : scalar_[r]; }
  bool scalar_[PAGECAST_MAX_SCALARS] = {}, vector_[PAGECAST_MAX_VECTORS] = {};
};

} // namespace

/// Which operations the stage needs: those that its hints depend on, and the loops around them.
struct SliceStage::Kept {
  bool op[PAGECAST_MAX_OPS] = {};
  bool any = false;

  Kept(const pagecast_slice &s, unsigned stage, uint32_t ignored) {
    Registers wanted;
    for (bool changed = true; changed;) {
      changed = false;
      unsigned inside[kInside], depth = 0;
      for (unsigned i = 0; i < s.ops; ++i) {
        const pagecast_op &o = s.op[i];
        if (closes(o)) {
          op[i] = op[inside[--depth]];
          continue;
        }
        if (o.depth > stage) { // not executed, nor what is in it
          if (slice_opens(o)) i = o.extra;
          continue;
        }
        const bool needed = slice_is_hint(o)              ? o.depth == stage && !(ignored >> o.extra & 1)
                            : o.code == PAGECAST_OP_UNTIL ? op[inside[depth - 1]]
                                                          : wanted.has(o.to);
        if (slice_opens(o)) inside[depth++] = i;
        else if (!op[i] && needed) {
          changed = any = op[i] = true;
          for_each_operand(o, [&](unsigned r) { wanted.add(r); });
          for (unsigned d = 0; d < depth; ++d) {
            op[inside[d]] = true;
            for_each_operand(s.op[inside[d]], [&](unsigned r) { wanted.add(r); });
          }
        }
      }
    }
  }
};

/// Copies them. Returns how many loops there are among them.
unsigned SliceStage::copy(const pagecast_slice &s, const Kept &kept) {
  unsigned open[kInside], depth = 0, loops = 0, n = 0;
  for (unsigned i = 0; i < s.ops; ++i) {
    if (!kept.op[i]) continue;
    op_[n] = s.op[i];
    op_[n].depth = 1;
    if (slice_opens(op_[n])) open[depth++] = n, loops += op_[n].code == PAGECAST_OP_LOOP;
    if (closes(op_[n])) op_[open[--depth]].extra = n;
    ++n;
  }
  slice_ = s;
  slice_.op = op_;
  slice_.ops = n;
  slice_.carried = 0;
  for (unsigned i = 0; i < n; ++i) slice_.carried += op_[i].code == PAGECAST_OP_PREVIOUS;
  slice_.depths = 1;
  return loops;
}

/// Has the operations [begin, end), which are all that operation `loop` has inside, compute vectors. `iteration`: the
/// register of the iteration number. False if their registers are used in ways that vectors cannot be, or are too many.
bool SliceStage::make_vectors(unsigned loop, unsigned begin, unsigned end, unsigned iteration) {
  uint16_t name[PAGECAST_MAX_SCALARS] = {}; // 0: it stays a scalar
  unsigned vectors = loop == kNoLoop ? 0 : slice_.vectors;
  const auto rename = [&](uint16_t &r) {
    if (r < PAGECAST_MAX_SCALARS && name[r]) r = name[r];
  };
  const auto reads = [](const pagecast_op &op, uint16_t &r) { return op.code != PAGECAST_OP_PREVIOUS || &r != &op.b; };
  const auto make = [&](unsigned r) {
    if (r >= slice_.scalars || name[r] || vectors == PAGECAST_MAX_VECTORS) return false;
    name[r] = static_cast<uint16_t>(PAGECAST_VECTOR + vectors++);
    return true;
  };
  Registers read; // before it is computed
  for (unsigned i = 0; i < slice_.ops; ++i)
    if (i < begin || i >= end) for_each_operand(op_[i], [&](unsigned r) { read.add(r); });
  if (read.has(iteration) || !make(iteration)) return false;
  for (unsigned i = begin; i < end; ++i) {
    for_each_operand(op_[i], [&](uint16_t &r) {
      if (reads(op_[i], r)) read.add(r), rename(r); // what was handed on is of another iteration
    });
    if (!has_result(op_[i])) continue;
    const bool carried = op_[i].code == PAGECAST_OP_CARRY && op_[i].to < PAGECAST_MAX_SCALARS && name[op_[i].to];
    if (!carried && (read.has(op_[i].to) || !make(op_[i].to))) return false;
    rename(op_[i].to);
  }
  for (unsigned i = begin; i < end; ++i)
    if (op_[i].code == PAGECAST_OP_PREVIOUS) rename(op_[i].b);
  if (loop != kNoLoop) rename(op_[loop].to);
  slice_.vectors = static_cast<uint16_t>(vectors);
  return true;
}

void SliceStage::prepare(const pagecast_nest &nest, unsigned stage, uint32_t ignored) {
  const pagecast_slice &s = *nest.slice;
  const Kept kept(s, stage, ignored);
  run_ = &nest;
  stage_ = stage;
  empty_ = !kept.any;
  searches_ = false;
  for (unsigned i = 0; i < s.ops; ++i) searches_ |= kept.op[i] && s.op[i].code == PAGECAST_OP_SEARCH;
  if (empty_) return;
  const unsigned loops = copy(s, kept);
  bool fits = true;
  for (unsigned i = 0, inner = kNoLoop; i < slice_.ops && fits; ++i) {
    if (op_[i].code == PAGECAST_OP_LOOP) inner = i;
    if (op_[i].code != PAGECAST_OP_END || inner == kNoLoop) continue;
    if (!slice_is_vector(op_[inner].to)) fits = make_vectors(inner, inner + 1, i, op_[inner].to);
    inner = kNoLoop;
  }
  if (s.loops && loops == 0 && make_vectors(kNoLoop, 0, slice_.ops, nest.live + nest.loops - 1)) slice_.loops = 0;
  else fits &= !s.loops || loops > 0;
  nest_ = nest;
  nest_.slice = &slice_;
  if (!fits || !slice_valid(nest_)) return; // as it was, then
  run_ = &nest_;
  stage_ = 1;
}

} // namespace pagecast
