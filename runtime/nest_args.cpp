// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/nest_args.h"

#include "runtime/slice_machine.h"

namespace pagecast {
namespace {

constexpr unsigned kRegisters = PAGECAST_MAX_SCALARS;

/// The registers of the prologue. False when its numbers are out of range.
bool run_prologue(const pagecast_nest &d, const uint64_t *dynamic, uint64_t *registers) {
  if (d.dynamic > kRegisters || d.constants > kRegisters || d.prologue_ops > kRegisters) return false;
  const unsigned first = d.dynamic + d.constants;
  if (first + d.prologue_ops > kRegisters) return false;
  for (unsigned i = 0; i < d.dynamic; ++i) registers[i] = dynamic[i];
  for (unsigned i = 0; i < d.constants; ++i) registers[d.dynamic + i] = d.constant[i];
  for (unsigned i = 0; i < d.prologue_ops; ++i) {
    const pagecast_op &op = d.prologue[i];
    if (op.a >= first + i || op.b >= first + i || op.code >= PAGECAST_OP_LOAD) return false;
    registers[first + i] = slice_compute(op, registers[op.a], registers[op.b], 0);
  }
  return true;
}

} // namespace

bool expand_args(const pagecast_nest &d, const uint64_t *dynamic, uint64_t *full) {
  if (d.loops == 0 || d.loops > PAGECAST_MAX_LOOPS || d.ticked >= d.loops || d.groups > PAGECAST_MAX_GROUPS ||
      d.live > PAGECAST_MAX_LIVE)
    return false;
  uint64_t registers[kRegisters];
  if (!run_prologue(d, dynamic, registers)) return false;
  const unsigned known = d.dynamic + d.constants + d.prologue_ops;
  const unsigned count = d.loops + d.groups * (1 + d.loops) + d.live;
  for (unsigned i = 0; i < count; ++i) {
    const pagecast_word &w = d.word[i];
    if (w.scale && w.from >= known) return false;
    full[i] = w.scale ? w.constant + static_cast<uint64_t>(int64_t{w.scale}) * registers[w.from] : w.constant;
  }
  return true;
}

} // namespace pagecast
