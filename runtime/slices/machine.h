// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine that runs slices (pagecast_slice in pagecast/abi.h): the address computations of a nest, as
// operations on vectors of iterations. It reads the program's memory only through SliceMemory, writes none of
// it, does bounded work, and is given values that may be garbage.
//
// Where memory that a slice wants to load from cannot be read, the iteration that wanted it ends: a lane of a
// vector loop is dead until the loop's end, an iteration of a scalar loop is left at once. What depends on the
// value is not touched.
#pragma once
#include "pagecast/abi.h"

#include <cstdint>

namespace pagecast {

/// Where slices read.
class SliceMemory {
public:
  /// Bytes from which the whole page `page` (an address, page-aligned) can be read until the next call of
  /// run(), or NULL if it cannot be read (now). May be the page itself.
  virtual const uint8_t *readable(uint64_t page) = 0;

protected:
  ~SliceMemory() = default;
};

/// Where hints go. `group` is the number in the nest's table.
class SliceSink {
public:
  /// The page at this page-aligned address is in a region and its bit in the residency map is clear.
  /// False: no more hints for now; the run stops there.
  virtual bool page(unsigned group, uint64_t page) = 0;
  /// Bytes [begin, end) are touched, in a sweep. Not filtered. False as above.
  virtual bool range(unsigned group, uint64_t begin, uint64_t end) = 0;
  /// Asked every kPortion of work, or sooner. False: the run stops there, as if its work were used up.
  virtual bool wanted() { return true; }
  /// The region that holds `address`: false if none does. Its result is remembered for one run.
  virtual bool region(uint64_t address, uint64_t *begin, uint64_t *end) = 0;
  /// How many bytes beyond what groups store to in the region that holds `address` they will store to soon; 0: nothing is
  /// known. Remembered likewise.
  virtual uint64_t look_ahead(uint64_t) { return 0; }
  /// As page(), of a page that is so far ahead.
  virtual bool page_ahead(unsigned, uint64_t) { return true; }

protected:
  ~SliceSink() = default;
};

/// The residency map: bit (page number & 7) of origin[page number >> 3].
struct SliceFilter {
  const uint8_t *residency;
  unsigned page_shift;
};

/// Whether the machine can run it: every register, jump, width, depth and group number is in range, loops nest
/// properly, and vectors are used inside vector loops only. Cost: one pass over the operations.
bool slice_valid(const pagecast_nest &);

/// Whether its iterations are vectors of their own, do the same things, and touch places one by one: then a sample of them says
/// what the others touch, as long as the places follow each other.
bool slice_can_sample(const pagecast_nest &);

/// What the iteration before the first handed on, by the number of the PREVIOUS.
struct SliceCarried {
  uint64_t value[PAGECAST_MAX_CARRIED];
  uint32_t known; ///< bit k: value[k] is
};

/// One position of the chain.
struct SliceCall {
  const pagecast_nest *nest;
  const uint64_t *live;  ///< nest->live values
  const uint64_t *index; ///< iteration numbers of the chain's loops but the last
  uint64_t first, count; ///< iterations of the last one
  unsigned stage;        ///< 1 .. slice->depths
  SliceCarried *carried = nullptr; ///< of a run that is done, what its last iteration hands on; NULL: nothing is known
  bool silent = false;   ///< no hints
  uint64_t every = 1;    ///< of so many iterations one is run, if slice_can_sample(): see SliceMachine::in_order()
};

enum class SliceOutcome : uint8_t {
  kDone,
  kRefused, ///< the sink wants no more
  kTired,   ///< `work` was used up
};

/// Whether the operation writes a value to its register, other than an iteration number.
inline bool slice_computes(const pagecast_op &op) { return op.code <= PAGECAST_OP_LOAD || op.code == PAGECAST_OP_PREVIOUS; }
/// Whether it has operations inside, up to number `extra`.
inline bool slice_opens(const pagecast_op &op) { return op.code == PAGECAST_OP_LOOP || op.code == PAGECAST_OP_SEARCH; }
inline bool slice_is_hint(const pagecast_op &op) { return op.code == PAGECAST_OP_TOUCH || op.code == PAGECAST_OP_RANGE; }
inline bool slice_is_vector(unsigned operand) { return operand != PAGECAST_NONE && operand >= PAGECAST_VECTOR; }
/// The result of one arithmetic operation.
uint64_t slice_compute(const pagecast_op &, uint64_t a, uint64_t b, uint64_t c);

/// The values that iterations of a run hand on, one for each PREVIOUS of the slice, in the order of their operations.
class CarriedValues {
public:
  struct Value {
    unsigned at, computed; ///< numbers of the operation, and of the one that computes its b
    unsigned loop;         ///< number of the first operation in its loop
    bool known;
    uint64_t value; ///< of b, in the iteration before
  };
  void start(const SliceCall &);
  /// Tells the caller what the last iteration hands on.
  void end(const SliceCall &) const;
  bool any() const { return count_ != 0; }
  /// That of the PREVIOUS with this number.
  const Value &of(unsigned number) const {
    const Value *v = value_;
    while (v->at != number) ++v;
    return *v;
  }
  /// Behind the operations that are run in order from the PREVIOUS at `begin` on.
  unsigned section_end(unsigned begin) const;
  /// An iteration of the scalar loop that begins at operation `begin` has got as far as operation `left`. `read`: the value of
  /// an operand.
  template <class Read> void iteration_done(unsigned begin, unsigned left, Read read) {
    for (Value *v = value_; v < value_ + count_; ++v)
      if (v->loop == begin) v->known = v->computed < left, v->value = read(op_[v->at].b);
  }
  /// A lane has got as far as operation `left`. Of what the operations from `begin` to `end` are told.
  template <class Read> void lane_done(unsigned begin, unsigned end, unsigned left, Read read) {
    for (Value *v = value_; v < value_ + count_; ++v)
      if (v->at >= begin && v->at < end) v->known = v->computed < left, v->value = read(op_[v->at].b);
  }

private:
  const pagecast_op *op_;
  Value value_[PAGECAST_MAX_CARRIED];
  unsigned count_;
};

class SliceMachine {
public:
  static constexpr unsigned kLanes = 128;
  static constexpr uint64_t kPortion = 1u << 14; ///< of work; mostly some 30 us

  /// Runs a valid slice. `work` counts operations times lanes, and is used up.
  SliceOutcome run(const SliceCall &, const SliceFilter &, SliceMemory &, SliceSink &, uint64_t *work);
  /// Whether the last run of a slice that can be sampled touched places in ascending order. If it did, what lies between two
  /// iterations that were run is in their pages; where they were more than a page apart, all between them were run, too.
  bool in_order() const { return in_order_; }
  /// Loads that found no memory, since the start: for statistics.
  uint64_t failed_loads() const { return failed_loads_; }

private:
  static constexpr unsigned kTranslations = 64;
  static constexpr unsigned kNowhere = 64;
  struct Translation {
    uint64_t page; ///< page number; kNoPage: none
    const uint8_t *bytes;
  };
  struct Region {
    uint64_t begin, size, ahead;
  };
  /// How operations end: kFound ends a search, kLeave the iteration, the last two the run.
  enum class Flow : uint8_t { kOn, kFound, kLeave, kRefused, kTired };

  void start(const SliceCall &, const SliceFilter &, SliceMemory &, SliceSink &, uint64_t work);
  bool spend(uint64_t work);
  bool go_on();

  // machine.cpp: control and values
  Flow scalar_loop(unsigned begin, unsigned end, unsigned to, uint64_t first, uint64_t count);
  Flow scalar_body(unsigned begin, unsigned end);
  Flow scalar_op(unsigned number);
  Flow vector_loop(unsigned begin, unsigned end, unsigned to, uint64_t first, uint64_t count);
  Flow vector_body(unsigned begin, unsigned end);
  Flow vector_op(unsigned number);
  Flow sampled_loop(unsigned end, uint64_t first, uint64_t count, uint64_t every);
  void watch(const uint64_t *address);
  bool executed(const pagecast_op &) const;
  uint64_t scalar(unsigned operand) const;
  const uint64_t *lanes(unsigned operand, unsigned scratch);

  // search.cpp: searches
  Flow scalar_search(unsigned number);
  Flow vector_search(unsigned number);
  void carry_lanes(const pagecast_op &);
  void leave_lanes(const pagecast_op &);

  // carried.cpp: what iterations hand on
  bool previous(const pagecast_op &, unsigned lane, uint64_t *value) const;
  /// The section that begins with the PREVIOUS at `begin`; `end`: where it can be left for vectors again.
  Flow in_order(unsigned begin, unsigned *end);
  Flow lane_op(unsigned number, unsigned lane);
  uint64_t lane_of(unsigned operand, unsigned lane) const;
  bool is_alive(unsigned lane) const { return alive_count_ == lanes_ || alive_[lane]; }

  // memory.cpp: loads and hints
  const uint8_t *translate(uint64_t page);
  bool load_slowly(unsigned number, uint64_t address, unsigned bytes, uint64_t *value);
  Flow load_lanes(unsigned number);
  template <class Word> void load_words(unsigned number, const uint64_t *address, uint64_t *to);
  template <class Word, bool kMasked> void load_each(unsigned number, const uint64_t *address, uint64_t *to);
  bool locate(unsigned group, uint64_t address);
  Flow touch(unsigned group, uint64_t address);
  Flow touch_lanes(const pagecast_op &);
  template <bool kMasked>
  unsigned next_absent_lane(const uint64_t *address, unsigned lane, uint64_t lo, uint64_t bytes, Region) const;
  template <bool kMasked> Flow touch_each(unsigned group, const uint64_t *address);
  template <bool kMasked> Flow touch_ahead(unsigned group, const uint64_t *address);
  Flow range(unsigned group, uint64_t address, uint64_t stride, uint64_t times);
  Flow range_lanes(const pagecast_op &);
  bool some_do_not(const pagecast_op &);
  void kill(unsigned lane, unsigned number);

  static constexpr uint64_t kNoPage = ~0ull;

  // One run:
  const pagecast_op *op_;
  const pagecast_group *group_;
  SliceMemory *memory_;
  SliceSink *sink_;
  const uint8_t *residency_;
  unsigned shift_, stage_;
  uint64_t page_; ///< bytes
  uint64_t work_; ///< left
  uint64_t portion_end_; ///< the work left at which the sink is asked whether it wants more
  Translation last_[PAGECAST_MAX_OPS]; ///< of each load: a page that can be read
  Translation translation_[kTranslations]; ///< by page number; bytes NULL: cannot be read
  Region region_[PAGECAST_MAX_GROUPS]; ///< where the group touched last; size 0: nowhere
  uint64_t nowhere_[kNowhere]; ///< pages that are in no region, by page number
  uint64_t s_[PAGECAST_MAX_SCALARS];
  CarriedValues carried_;
  unsigned left_;    ///< where the last iteration of a scalar loop ended
  bool silent_;

  // The batch of iterations that a vector loop is at:
  unsigned lanes_;
  unsigned alive_count_; ///< alive_ holds nothing while it is lanes_
  uint8_t alive_[kLanes];
  uint16_t ended_[kLanes]; ///< of lanes that are dead: the operation where they ended
  uint8_t active_[kLanes]; ///< alive, and the predicate of the operation holds
  uint8_t *found_; ///< of the innermost search open: the lanes whose search has ended
  alignas(64) uint64_t v_[PAGECAST_MAX_VECTORS][kLanes];
  alignas(64) uint64_t spread_[3][kLanes]; ///< scalar operands, once per lane

  // Of runs that can be sampled:
  bool watching_ = false, in_order_ = false;
  uint8_t far_[kLanes]; ///< what the lane touches is more than a page from what the one before it does

  uint64_t failed_loads_ = 0;
};

} // namespace pagecast
