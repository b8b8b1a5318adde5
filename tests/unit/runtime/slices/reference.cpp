// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second interpreter of slices: one iteration, one byte, one page at a time.
#include "tests/unit/runtime/slices/program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace pagecast::test {
namespace {

using Wide = __int128;

/// The value of the low `width` bits as a signed number.
Wide as_signed(uint64_t x, unsigned width) {
  const Wide modulus = static_cast<Wide>(1) << width, low = static_cast<Wide>(x) % modulus;
  return low * 2 >= modulus ? low - modulus : low;
}

class Reference {
public:
  Hints hints;
  uint64_t steps = 0;
  std::map<unsigned, uint64_t> carried; ///< by number, what is known

  Reference(Program &p, const pagecast_nest &nest, unsigned stage, const PagedMemory &memory, const Regions &regions)
      : p_(p), nest_(nest), stage_(stage), memory_(memory), regions_(regions), s_(PAGECAST_MAX_SCALARS),
        v_(PAGECAST_MAX_VECTORS) {}

  void run(uint64_t first, uint64_t count) {
    unsigned r = 0;
    for (uint64_t x : p_.live) s_[r++] = x;
    for (uint64_t x : p_.index) s_[r++] = x;
    loop(0, p_.ops.size(), p_.has_loops ? r : V(0), first, count);
  }

private:
  bool gave_up() { return ++steps > (1ull << 22); }
  uint64_t &at(unsigned r) { return r >= PAGECAST_VECTOR ? v_[r - PAGECAST_VECTOR] : s_[r]; }
  uint64_t read(unsigned r) { return r == kNone ? 0 : at(r); }

  void loop(size_t begin, size_t end, unsigned to, uint64_t first, uint64_t count) {
    for (uint64_t i = 0; i < count && !gave_up(); ++i) {
      at(to) = first + i;
      const size_t left = body(begin, end);
      for (size_t k = begin; k < end; k = after(k))
        if (p_.ops[k].code == PAGECAST_OP_PREVIOUS) carry(p_.ops[k], begin, left);
    }
  }

  bool opens(size_t n) const { return p_.ops[n].code == PAGECAST_OP_LOOP || p_.ops[n].code == PAGECAST_OP_SEARCH; }
  size_t after(size_t n) const { return opens(n) ? p_.ops[n].extra + 1 : n + 1; }

  /// Where the iteration ends, if it does, or found_ says that the search does; else `end`.
  size_t body(size_t begin, size_t end) {
    size_t n = begin;
    while (n < end && step(n)) n = after(n);
    return n;
  }

  bool search(size_t n) {
    const pagecast_op &o = p_.ops[n];
    for (unsigned k = 0; k < PAGECAST_SEARCH_STEPS; ++k) {
      if (o.to != kNone) at(o.to) = k;
      if (body(n + 1, o.extra) >= o.extra) continue;
      return std::exchange(found_, false);
    }
    ++memory_.missing; // as what is not there
    return false;
  }

  /// An iteration of the loop that begins at `begin` has ended at `left`: what the next one will be told.
  void carry(const pagecast_op &previous, size_t begin, size_t left) {
    bool computed = false;
    for (size_t n = begin; n < left; n = after(n)) computed |= p_.ops[n].code <= PAGECAST_OP_LOAD && p_.ops[n].to == previous.b;
    for (size_t n = begin; n < left; n = after(n))
      computed |= p_.ops[n].code == PAGECAST_OP_PREVIOUS && p_.ops[n].to == previous.b;
    if (computed) carried[previous.extra] = read(previous.b);
    else carried.erase(previous.extra);
  }

  /// False: the iteration ends.
  bool step(size_t n) {
    const pagecast_op &o = p_.ops[n];
    const bool hint = o.code == PAGECAST_OP_TOUCH || o.code == PAGECAST_OP_RANGE;
    if (o.depth > stage_ || (hint && o.depth != stage_)) return true;
    if (gave_up()) return false;
    const bool wanted = o.c == kNone || read(o.c) != 0;
    switch (o.code) {
    case PAGECAST_OP_PREVIOUS:
      if (!wanted && !carried.count(o.extra)) return ++memory_.missing, false;
      at(o.to) = wanted ? read(o.a) : carried[o.extra];
      return true;
    case PAGECAST_OP_LOOP:
      if (wanted) loop(n + 1, o.extra, o.to, 0, read(o.a));
      return true;
    case PAGECAST_OP_SEARCH: return !wanted || search(n);
    case PAGECAST_OP_CARRY: at(o.to) = read(o.a); return true;
    case PAGECAST_OP_UNTIL: found_ = read(o.a) != 0; return !found_;
    case PAGECAST_OP_LOAD: {
      uint64_t value = 0;
      const bool there = !wanted || memory_.load(read(o.a), o.width / 8, &value);
      at(o.to) = value;
      return there;
    }
    case PAGECAST_OP_TOUCH:
      if (wanted) touch(o.extra, read(o.a));
      return true;
    case PAGECAST_OP_RANGE:
      if (wanted) range(o.extra, read(o.a), as_signed(read(o.b), 64), read(o.to));
      return true;
    default: at(o.to) = expected(o, read(o.a), read(o.b), read(o.c)); return true;
    }
  }

  void touch(unsigned group, uint64_t address) {
    const Wide bytes = static_cast<Wide>(nest_.group[group].hi) - nest_.group[group].lo;
    const uint64_t begin = address + static_cast<uint64_t>(nest_.group[group].lo);
    if (bytes <= 0 || begin + bytes - 1 > static_cast<Wide>(~0ull)) return;
    const uint64_t page = 1ull << memory_.shift;
    for (Wide b = begin / page * page; b < begin + bytes; b += page) {
      const uint64_t inside = static_cast<uint64_t>(std::max<Wide>(b, begin));
      if (!regions_.in_region(inside) || regions_.resident(inside)) continue;
      hints.pages.insert({group, static_cast<uint64_t>(b)});
    }
  }

  void range(unsigned group, uint64_t address, Wide stride, uint64_t times) {
    const Wide lo = nest_.group[group].lo, hi = nest_.group[group].hi, page = Wide{1} << memory_.shift;
    if (hi <= lo || !times) return;
    const auto tell = [&](Wide begin, Wide end) {
      if (begin >= 0 && end <= static_cast<Wide>(~0ull))
        hints.ranges.push_back({group, static_cast<uint64_t>(begin), static_cast<uint64_t>(end)});
    };
    const Wide last = address + stride * static_cast<Wide>(times - 1);
    if (stride >= -page && stride <= page) return tell(std::min<Wide>(address, last) + lo, std::max<Wide>(address, last) + hi);
    Wide begin = address + lo;
    for (uint64_t k = 0; k < times && !gave_up(); ++k, begin += stride) {
      if (begin > static_cast<Wide>(~0ull) && stride > 0) return;
      if (begin + hi - lo < 0 && stride < 0) return;
      tell(begin, begin + hi - lo);
    }
  }

  Program &p_;
  const pagecast_nest &nest_;
  unsigned stage_;
  const PagedMemory &memory_;
  const Regions &regions_;
  std::vector<uint64_t> s_, v_;
  bool found_ = false; ///< by the search that has just ended
};

} // namespace

namespace {

/// A whole number as what holds it: the sign of zero is not kept.
template <class Number> Number whole(Number x, unsigned how) {
  switch (how) {
  case PAGECAST_DOWN: return std::floor(x) + 0;
  case PAGECAST_UP: return std::ceil(x) + 0;
  case PAGECAST_TO_EVEN: return std::nearbyint(x) + 0;
  case PAGECAST_AWAY: return std::round(x) + 0;
  default: return std::trunc(x) + 0;
  }
}

double number_of(uint64_t word, unsigned width) {
  return width == 32 ? double{std::bit_cast<float>(static_cast<uint32_t>(word))} : std::bit_cast<double>(word);
}

/// The integer nearest to x in [least, most]; 0 if x is no number.
Wide nearest(double x, Wide least, Wide most) {
  if (std::isnan(x)) return 0;
  if (std::fabs(x) > 1e30) return x < 0 ? least : most;
  return std::min(std::max(static_cast<Wide>(x), least), most);
}

/// Operations whose result is a number of type Number, held in a Word, or that compare such numbers.
template <class Number, class Word> uint64_t expected_number(const pagecast_op &o, uint64_t a, uint64_t b) {
  const auto x = std::bit_cast<Number>(static_cast<Word>(a)), y = std::bit_cast<Number>(static_cast<Word>(b));
  const auto word = [](Number n) { return uint64_t{std::bit_cast<Word>(n)}; };
  const Wide all = static_cast<Wide>(1) << o.width, most = static_cast<Wide>(1) << 63;
  switch (o.code) {
  case PAGECAST_OP_FADD: return word(x + y);
  case PAGECAST_OP_FSUB: return word(x - y);
  case PAGECAST_OP_FMUL: return word(x * y);
  case PAGECAST_OP_FDIV: return word(x / y);
  case PAGECAST_OP_FMIN: return word(y < x ? y : x);
  case PAGECAST_OP_FMAX: return word(x < y ? y : x);
  case PAGECAST_OP_FSQRT: return word(std::sqrt(x));
  case PAGECAST_OP_FWHOLE: return word(whole(x, o.extra));
  case PAGECAST_OP_FEQ: return x == y;
  case PAGECAST_OP_FLT: return x < y;
  case PAGECAST_OP_FLE: return x <= y;
  case PAGECAST_OP_FTOS: return static_cast<uint64_t>((nearest(number_of(a, o.extra), -most, most - 1) % all + all) % all);
  case PAGECAST_OP_FTOU: return static_cast<uint64_t>(nearest(number_of(a, o.extra), 0, 2 * most - 1) % all);
  case PAGECAST_OP_STOF: return word(static_cast<Number>(static_cast<int64_t>(as_signed(a, o.extra))));
  case PAGECAST_OP_UTOF:
    return word(static_cast<Number>(static_cast<uint64_t>(a % (static_cast<unsigned __int128>(1) << o.extra))));
  case PAGECAST_OP_FTOF: return word(static_cast<Number>(number_of(a, o.extra)));
  default: ADD_FAILURE() << "no arithmetic: " << unsigned{o.code}; return 0;
  }
}

} // namespace

uint64_t expected(const pagecast_op &o, uint64_t a, uint64_t b, uint64_t c) {
  const unsigned w = o.width;
  const Wide modulus = static_cast<Wide>(1) << w;
  const Wide ua = a % modulus, ub = b % modulus, sa = as_signed(a, w), sb = as_signed(b, w);
  const auto result = [modulus](Wide x) { return static_cast<uint64_t>((x % modulus + modulus) % modulus); };
  const bool far = ub >= w;
  switch (o.code) {
  case PAGECAST_OP_ADD: return result(ua + ub);
  case PAGECAST_OP_SUB: return result(ua - ub);
  case PAGECAST_OP_MUL: return result(static_cast<Wide>(static_cast<uint64_t>(ua) * static_cast<uint64_t>(ub)));
  case PAGECAST_OP_MADD: return result(static_cast<Wide>(static_cast<uint64_t>(ua) * static_cast<uint64_t>(ub)) + c % modulus);
  case PAGECAST_OP_AND: return result(ua & ub);
  case PAGECAST_OP_OR: return result(ua | ub);
  case PAGECAST_OP_XOR: return result(ua ^ ub);
  case PAGECAST_OP_SHL: return far ? 0 : result(static_cast<Wide>(static_cast<uint64_t>(ua) << static_cast<unsigned>(ub)));
  case PAGECAST_OP_LSHR: return far ? 0 : result(ua >> static_cast<unsigned>(ub));
  case PAGECAST_OP_ASHR: return result(far ? (sa < 0 ? -1 : 0) : sa >> static_cast<unsigned>(ub));
  case PAGECAST_OP_UDIV: return ub ? result(ua / ub) : 0;
  case PAGECAST_OP_UREM: return ub ? result(ua % ub) : 0;
  case PAGECAST_OP_SDIV: return sb ? result(sa / sb) : 0;
  case PAGECAST_OP_SREM: return sb ? result(sa % sb) : 0;
  case PAGECAST_OP_UMIN: return result(ua < ub ? ua : ub);
  case PAGECAST_OP_UMAX: return result(ua > ub ? ua : ub);
  case PAGECAST_OP_SMIN: return result(sa < sb ? sa : sb);
  case PAGECAST_OP_SMAX: return result(sa > sb ? sa : sb);
  case PAGECAST_OP_TRUNC: return result(ua);
  case PAGECAST_OP_SEXT: return result(as_signed(a, o.extra));
  case PAGECAST_OP_EQ: return ua == ub;
  case PAGECAST_OP_NE: return ua != ub;
  case PAGECAST_OP_ULT: return ua < ub;
  case PAGECAST_OP_ULE: return ua <= ub;
  case PAGECAST_OP_SLT: return sa < sb;
  case PAGECAST_OP_SLE: return sa <= sb;
  case PAGECAST_OP_SELECT: return a ? result(b % modulus) : result(c % modulus);
  default: return o.width == 32 ? expected_number<float, uint32_t>(o, a, b) : expected_number<double, uint64_t>(o, a, b);
  }
}

Hints expected_hints(Program &p, uint64_t first, uint64_t count, unsigned stage, const PagedMemory &memory,
                     const Regions &regions, uint64_t *steps) {
  Reference r(p, p.nest(), stage, memory, regions);
  r.run(first, count);
  *steps = r.steps;
  return r.hints;
}

} // namespace pagecast::test
