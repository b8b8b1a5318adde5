// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/reference.h"

#include "core/arithmetic.h"

namespace pagecast::core {

Touched touched_by(const uint64_t *const *sets, uint32_t count, uint64_t words) {
  Touched out;
  for (uint64_t w = 0; w < words && count; ++w) {
    uint64_t all = ~uint64_t{0}, any = 0;
    for (uint32_t m = 0; m < count; ++m) {
      all &= sets[m][w];
      any |= sets[m][w];
    }
    out.by_all += uint64_t(__builtin_popcountll(all));
    out.by_any += uint64_t(__builtin_popcountll(any));
  }
  return out;
}

void pair_densities(const uint64_t *const *sets, uint32_t count, uint64_t words, double *matrix) {
  for (uint32_t a = 0; a < count; ++a) {
    matrix[a * count + a] = 1;
    for (uint32_t b = 0; b < a; ++b) {
      const uint64_t *const pair[] = {sets[a], sets[b]};
      matrix[a * count + b] = matrix[b * count + a] = touched_by(pair, 2, words).density();
    }
  }
}

uint64_t next_block(const uint64_t *set, uint64_t words, uint64_t from) {
  for (uint64_t w = from / 64; w < words; ++w) {
    const uint64_t rest = w == from / 64 ? set[w] & ~uint64_t{0} << from % 64 : set[w];
    if (rest) return w * 64 + uint64_t(__builtin_ctzll(rest));
  }
  return words * 64;
}

namespace {

using Wide = __int128; ///< strides and trip counts are the program's: their products need not fit in 64 bits

struct Walk {
  uint64_t stride, count;
};

/// Equal spans at even distances: the loops that leave no whole block between two iterations have become part of the span.
struct Touches {
  Wide first;
  Wide span;
  unsigned walks = 0;
  Walk walk[kMaxLoops]; ///< smallest stride first
};

/// A part of a nest's iterations: of each loop those of a range.
struct Box {
  Iterations of[kMaxLoops];
};

Touches touches_of(const Reference &r, const Box &box, uint64_t block) {
  Touches out{r.first, r.span, 0, {}};
  for (uint32_t k = 0; k < r.loops; ++k) {
    const auto [begin, end] = box.of[k];
    if (begin >= end) return {0, 0, 0, {}};
    const uint64_t count = end - begin;
    out.first += Wide(r.stride[k]) * Wide(r.stride[k] < 0 ? end - 1 : begin); // the same set from its other end
    if (count == 1 || r.stride[k] == 0) continue;
    const Walk walk{magnitude(r.stride[k]), count};
    unsigned i = out.walks++;
    for (; i > 0 && out.walk[i - 1].stride > walk.stride; --i) out.walk[i] = out.walk[i - 1];
    out.walk[i] = walk;
  }
  unsigned left = 0;
  for (unsigned i = 0; i < out.walks; ++i) {
    if (left == 0 && Wide(out.walk[i].stride) < out.span + Wide(block))
      out.span += Wide(out.walk[i].stride) * Wide(out.walk[i].count - 1);
    else out.walk[left++] = out.walk[i];
  }
  out.walks = left;
  return out;
}

void insert_span(Wide first, Wide span, uint64_t block, uint64_t *set, uint64_t words) {
  const Wide end = Wide(words) * 64 * Wide(block);
  const Wide from = first < 0 ? 0 : first, to = first + span < end ? first + span : end;
  for (Wide at = from / Wide(block); at * Wide(block) < to; ++at) insert_block(set, uint64_t(at));
}

void insert_box(const Reference &r, const Box &box, uint64_t block, uint64_t *set, uint64_t words) {
  const Touches t = touches_of(r, box, block);
  if (t.span <= 0) return;
  uint64_t at[kMaxLoops] = {};
  Wide first = t.first;
  for (uint64_t piece = 0; piece < kMostTouchedPieces; ++piece) {
    insert_span(first, t.span, block, set, words);
    unsigned k = 0;
    for (; k < t.walks && ++at[k] == t.walk[k].count; ++k) {
      first -= Wide(t.walk[k].stride) * Wide(t.walk[k].count - 1);
      at[k] = 0;
    }
    if (k == t.walks) return;
    first += Wide(t.walk[k].stride);
  }
}

/// Cuts iterations that count through loops from `loop` on into boxes, the ones before it being fixed.
struct Cutter {
  const Reference &r;
  uint32_t loops;
  uint64_t block, *set, words;

  void cut(Box &box, uint32_t loop, Iterations shared) const {
    if (shared.begin >= shared.end) return;
    uint64_t inner = 1; // less than 2^64, as all of them are
    for (uint32_t k = loop + 1; k < loops; ++k) inner *= r.trips[k];
    uint64_t first = shared.begin / inner;
    const uint64_t last = shared.end / inner, head = shared.begin % inner, tail = shared.end % inner;
    if (head) {
      box.of[loop] = {first, first + 1};
      cut(box, loop + 1, {head, first == last ? tail : inner});
      if (first++ == last) return;
    }
    if (first < last) {
      box.of[loop] = {first, last};
      for (uint32_t k = loop + 1; k < r.loops; ++k) box.of[k] = {0, r.trips[k]};
      insert_box(r, box, block, set, words);
    }
    if (!tail) return;
    box.of[loop] = {last, last + 1};
    cut(box, loop + 1, {0, tail});
  }
};

} // namespace

uint32_t shared_loops(const Reference &r) {
  uint64_t iterations = 1;
  uint32_t loops = 0;
  while (loops < r.loops && iterations < kEnoughIterations && !__builtin_mul_overflow(iterations, r.trips[loops], &iterations))
    ++loops;
  return loops;
}

uint64_t shared_iterations(const Reference &r) {
  uint64_t iterations = 1;
  for (uint32_t k = 0; k < shared_loops(r); ++k) iterations *= r.trips[k];
  return iterations;
}

Iterations interval_of(const Reference &r, uint64_t k, uint64_t count) {
  const uint64_t all = shared_iterations(r);
  if (all == 1 || count == 0) return {0, all};
  const auto part = [&](uint64_t n) { return uint64_t(Wide(all) * Wide(least(n, count)) / Wide(count)); };
  return {part(k), part(k + 1)};
}

void insert_touched(const Reference &r, Iterations shared, uint64_t block, uint64_t *set, uint64_t words) {
  Box box;
  if (r.loops == 0) return insert_box(r, box, block, set, words);
  Cutter{r, shared_loops(r), block, set, words}.cut(box, 0, shared);
}

} // namespace pagecast::core
