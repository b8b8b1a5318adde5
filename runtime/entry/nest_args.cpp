// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/entry/nest_args.h"

#include "runtime/slices/machine.h"

namespace pagecast {
namespace {

constexpr unsigned kRegisters = PAGECAST_MAX_SCALARS;

/// The registers of the prologue, as far as the first `ops` of its operations fill them. False when its numbers are out of
/// range.
bool run_prologue(const pagecast_nest &d, uint32_t ops, const uint64_t *dynamic, uint64_t *registers) {
  if (d.dynamic > kRegisters || d.constants > kRegisters || d.prologue_ops > kRegisters) return false;
  const unsigned first = d.dynamic + d.constants;
  if (first + d.prologue_ops > kRegisters) return false;
  for (unsigned i = 0; i < d.dynamic; ++i) registers[i] = dynamic[i];
  for (unsigned i = 0; i < d.constants; ++i) registers[d.dynamic + i] = d.constant[i];
  for (unsigned i = 0; i < ops; ++i) {
    const pagecast_op &op = d.prologue[i];
    if (op.a >= first + i || op.b >= first + i || op.code >= PAGECAST_OP_LOAD) return false;
    registers[first + i] = slice_compute(op, registers[op.a], registers[op.b], 0);
  }
  return true;
}

bool in_range(const pagecast_nest &d) {
  return d.loops != 0 && d.loops <= PAGECAST_MAX_LOOPS && d.ticked < d.loops && d.groups <= PAGECAST_MAX_GROUPS &&
         d.live <= PAGECAST_MAX_LIVE;
}

uint64_t value(const pagecast_word &w, const uint64_t *registers) {
  return w.scale ? w.constant + static_cast<uint64_t>(int64_t{w.scale}) * registers[w.from] : w.constant;
}

} // namespace

bool ticked_trips(const pagecast_nest &d, const uint64_t *dynamic, uint64_t *trips) {
  if (!in_range(d)) return false;
  const pagecast_word &w = d.word[d.ticked];
  const unsigned first = d.dynamic + d.constants;
  if (w.scale && w.from >= first + d.prologue_ops) return false;
  uint64_t registers[kRegisters];
  if (!run_prologue(d, w.scale && w.from >= first ? w.from - first + 1 : 0, dynamic, registers)) return false;
  *trips = value(w, registers);
  return true;
}

bool expand_args(const pagecast_nest &d, const uint64_t *dynamic, uint64_t *full) {
  if (!in_range(d)) return false;
  uint64_t registers[kRegisters];
  if (!run_prologue(d, d.prologue_ops, dynamic, registers)) return false;
  const unsigned known = d.dynamic + d.constants + d.prologue_ops;
  const unsigned count = d.loops + d.groups * (1 + d.loops) + d.live;
  for (unsigned i = 0; i < count; ++i) {
    const pagecast_word &w = d.word[i];
    if (w.scale && w.from >= known) return false;
    full[i] = value(w, registers);
  }
  return true;
}

} // namespace pagecast
