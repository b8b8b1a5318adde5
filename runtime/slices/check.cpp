// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a slice's table is what abi.h says, so that the machine need not look.
#include "runtime/slices/machine.h"

namespace pagecast {
namespace {

enum : unsigned { kTo = 1, kA = 2, kB = 4, kC = 8 };

/// Operands that an operation must have. Others, predicates among them, may be PAGECAST_NONE.
unsigned operands(unsigned code) {
  switch (code) {
  case PAGECAST_OP_TRUNC:
  case PAGECAST_OP_SEXT:
  case PAGECAST_OP_FSQRT:
  case PAGECAST_OP_FWHOLE:
  case PAGECAST_OP_FTOS:
  case PAGECAST_OP_FTOU:
  case PAGECAST_OP_STOF:
  case PAGECAST_OP_UTOF:
  case PAGECAST_OP_FTOF:
  case PAGECAST_OP_CARRY:
  case PAGECAST_OP_LOAD: return kTo | kA;
  case PAGECAST_OP_UNTIL:
  case PAGECAST_OP_TOUCH: return kA;
  case PAGECAST_OP_PREVIOUS:
  case PAGECAST_OP_MADD:
  case PAGECAST_OP_SELECT: return kTo | kA | kB | kC;
  default: return kTo | kA | kB;
  }
}

class Checker {
public:
  explicit Checker(const pagecast_nest &nest) : nest_(nest), slice_(*nest.slice) {}

  bool run() {
    if (!sizes_fit()) return false;
    for (number_ = 0; number_ < slice_.ops; ++number_) {
      if (!fits(slice_.op[number_])) return false;
    }
    return open_ == 0 && searches_ == 0 && carried_ == slice_.carried;
  }

private:
  bool fits(const pagecast_op &op) {
    switch (op.code) {
    case PAGECAST_OP_LOOP: return open(op);
    case PAGECAST_OP_END: return close();
    case PAGECAST_OP_SEARCH: return search(op);
    case PAGECAST_OP_FOUND: return searches_ && found_[--searches_] == number_;
    case PAGECAST_OP_CARRY:
    case PAGECAST_OP_UNTIL: return searches_ && operation_fits(op);
    case PAGECAST_OP_PREVIOUS: return operation_fits(op) && carries(op);
    default: return operation_fits(op);
    }
  }

  bool sizes_fit() const {
    return nest_.loops >= 1 && nest_.loops <= PAGECAST_MAX_LOOPS && nest_.live <= PAGECAST_MAX_LIVE &&
           nest_.groups <= PAGECAST_MAX_GROUPS && slice_.loops <= 1 && slice_.ops <= PAGECAST_MAX_OPS &&
           (slice_.op || !slice_.ops) && slice_.depths >= 1 && slice_.depths <= PAGECAST_MAX_DEPTH &&
           slice_.scalars <= PAGECAST_MAX_SCALARS && slice_.scalars >= nest_.live + nest_.loops - 1 + slice_.loops &&
           slice_.vectors <= PAGECAST_MAX_VECTORS && slice_.vectors + slice_.loops >= 1;
  }

  bool in_vector_loop() const { return !slice_.loops || (open_ && vector_); }
  bool is_scalar(unsigned r) const { return r < slice_.scalars; }
  bool is_vector(unsigned r) const { return r != PAGECAST_NONE && r >= PAGECAST_VECTOR && r - PAGECAST_VECTOR < slice_.vectors; }
  bool readable(unsigned r) const { return is_scalar(r) || (in_vector_loop() && is_vector(r)); }
  bool may_read(unsigned r, bool must) const { return readable(r) || (!must && r == PAGECAST_NONE); }
  bool depth_fits(const pagecast_op &op) const { return op.depth >= 1 && op.depth <= slice_.depths; }

  bool operation_fits(const pagecast_op &op) const {
    return op.code < PAGECAST_OPS && depth_fits(op) && registers_fit(op) && width_fits(op) && extra_fits(op);
  }

  /// A PREVIOUS: its number is its own, and what it hands on is computed in its loop, when it is, with no search in between.
  bool carries(const pagecast_op &op) {
    if (searches_ || op.extra >= PAGECAST_MAX_CARRIED || numbers_ >> op.extra & 1) return false;
    numbers_ |= 1u << op.extra;
    ++carried_;
    const unsigned end = open_ ? end_[open_ - 1] : slice_.ops;
    bool searches = false; // since it
    for (unsigned i = open_ ? begin_[open_ - 1] : 0; i < end && i < slice_.ops; ++i) {
      const pagecast_op &other = slice_.op[i];
      if (slice_opens(other)) {
        if (other.extra <= i) return false;
        searches |= i > number_ && other.code == PAGECAST_OP_SEARCH;
        i = other.extra;
      } else if (slice_computes(other) && other.to == op.b) {
        return other.depth <= op.depth && !searches && !is_carried(op.b);
      }
    }
    return false;
  }

  bool is_carried(unsigned r) const {
    for (unsigned i = 0; i < slice_.ops; ++i)
      if (slice_.op[i].code == PAGECAST_OP_CARRY && slice_.op[i].to == r) return true;
    return false;
  }

  bool registers_fit(const pagecast_op &op) const {
    const unsigned needed = operands(op.code);
    const bool result = (needed & kTo) && op.code != PAGECAST_OP_RANGE; // which reads it
    if (result && !(in_vector_loop() ? is_vector(op.to) : is_scalar(op.to))) return false;
    if (!result && (needed & kTo) && !readable(op.to)) return false;
    // Those that it has no use for may be there, for the machine reads them.
    return may_read(op.a, needed & kA) && may_read(op.b, needed & kB) && may_read(op.c, needed & kC);
  }

  static bool width_fits(const pagecast_op &op) {
    if (op.code == PAGECAST_OP_TOUCH || op.code == PAGECAST_OP_RANGE || op.code == PAGECAST_OP_UNTIL) return true; // have none
    if (op.code == PAGECAST_OP_LOAD) return op.width == 8 || op.width == 16 || op.width == 32 || op.width == 64;
    const bool number =
        op.code >= PAGECAST_OP_FADD && op.code <= PAGECAST_OP_FTOF && op.code != PAGECAST_OP_FTOS && op.code != PAGECAST_OP_FTOU;
    return number ? is_number(op.width) : op.width >= 1 && op.width <= 64;
  }
  static bool is_number(uint32_t bits) { return bits == 32 || bits == 64; }

  bool extra_fits(const pagecast_op &op) const {
    if (op.code == PAGECAST_OP_TOUCH || op.code == PAGECAST_OP_RANGE) return op.extra < nest_.groups;
    switch (op.code) {
    case PAGECAST_OP_SEXT: return op.extra >= 1 && op.extra <= op.width;
    case PAGECAST_OP_STOF:
    case PAGECAST_OP_UTOF: return op.extra >= 1 && op.extra <= 64;
    case PAGECAST_OP_FTOS:
    case PAGECAST_OP_FTOU:
    case PAGECAST_OP_FTOF: return is_number(op.extra);
    default: return true;
    }
  }

  /// A LOOP: in a scalar loop, and with a vector as its iteration number just where no loop is inside.
  bool open(const pagecast_op &op) {
    if (in_vector_loop() || searches_ || open_ == PAGECAST_MAX_SLICE_LOOPS || !depth_fits(op)) return false;
    if (!is_scalar(op.a) || (op.c != PAGECAST_NONE && !is_scalar(op.c))) return false;
    const unsigned end = op.extra;
    if (end >= slice_.ops) return false; // close() sees whether it is the END
    bool innermost = true;
    for (unsigned i = number_ + 1; i < end; ++i) innermost = innermost && slice_.op[i].code != PAGECAST_OP_LOOP;
    if (!(innermost ? is_vector(op.to) : is_scalar(op.to))) return false;
    begin_[open_] = number_ + 1;
    end_[open_++] = end;
    vector_ = innermost;
    return true;
  }

  bool close() {
    if (!open_ || searches_ || end_[open_ - 1] != number_) return false;
    --open_;
    vector_ = false; // loops around a loop are scalar
    return true;
  }

  /// A SEARCH: anywhere but around loops, which open() sees, and ended where it began.
  bool search(const pagecast_op &op) {
    if (searches_ == PAGECAST_MAX_SEARCHES || !depth_fits(op) || op.a != PAGECAST_NONE || op.b != PAGECAST_NONE) return false;
    if (op.to != PAGECAST_NONE && !(in_vector_loop() ? is_vector(op.to) : is_scalar(op.to))) return false;
    if (!may_read(op.c, false) || op.extra <= number_ || op.extra >= slice_.ops) return false;
    found_[searches_++] = op.extra;
    return true;
  }

  const pagecast_nest &nest_;
  const pagecast_slice &slice_;
  unsigned number_ = 0, open_ = 0;
  unsigned begin_[PAGECAST_MAX_SLICE_LOOPS], end_[PAGECAST_MAX_SLICE_LOOPS];
  unsigned carried_ = 0;
  uint32_t numbers_ = 0; ///< bit k: some PREVIOUS has it
  unsigned searches_ = 0; ///< open, in the innermost loop open
  unsigned found_[PAGECAST_MAX_SEARCHES];
  bool vector_ = false; ///< the innermost loop open
};

} // namespace

bool slice_valid(const pagecast_nest &nest) { return nest.slice && Checker(nest).run(); }

} // namespace pagecast
