// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random slices on the machine and on the second interpreter; and slices with something wrong in them, of which
// only those that slice_valid takes are run.
#include "tests/unit/runtime/slices/program.h"

#include "runtime/slices/stage.h"

#include <random>

using namespace pagecast;
using namespace pagecast::test;

namespace {

constexpr unsigned kShift = 8, kPages = 48;
constexpr uint64_t kPage = 1 << kShift, kData = 0x8000, kWork = 8000;
constexpr uint64_t kRegion[][2] = {{0x20000, 0x24000}, {0x40000, 0x40300}, {0x24000, 0x24100}};

/// Small pages, so that much happens at their ends; some of them missing.
class World {
public:
  PagedMemory memory{kShift};
  Regions regions{kShift};

  explicit World(std::mt19937_64 &random) {
    for (unsigned page = 0; page < kPages; ++page)
      if (random() % 8) memory.put(kData + page * kPage, words(random));
    for (auto [begin, end] : kRegion) regions.regions.push_back({begin, end});
    for (uint64_t a = 0x20000; a < 0x41000; a += kPage)
      if (random() & 1) regions.set_resident(a);
  }

private:
  static std::vector<uint64_t> words(std::mt19937_64 &random) {
    std::vector<uint64_t> w(kPage / 8);
    for (uint64_t &x : w) x = random() % 4 == 0 ? kData + random() % (kPages * kPage) : random() >> random() % 64;
    return w;
  }
};

/// Makes slices that are right by construction: registers are read where they have been written, in stages
/// that have them.
class Generator {
public:
  explicit Generator(std::mt19937_64 &random) : random_(random) {}

  Program make() {
    p_ = Program();
    p_.has_loops = below(2);
    p_.depths = 1 + below(PAGECAST_MAX_DEPTH);
    p_.live = {7,    kData, kPages * kPage - 1, 0x20000, 0x3fff, 1, 8, 1 + below(below(4) ? 10 : 150), random_() >> below(64),
               ~0ull};
    for (unsigned n = below(3); n; --n) p_.index.push_back(below(10));
    for (unsigned n = 1 + below(4); n; --n) {
      const int64_t lo = static_cast<int64_t>(below(64)) - 32;
      p_.add_group(lo, lo + static_cast<int64_t>(below(5) ? below(16) : below(600)));
    }
    const unsigned chain = static_cast<unsigned>(p_.live.size() + p_.index.size());
    scalars_ = chain + p_.has_loops;
    vectors_ = !p_.has_loops;
    carried_ = 0;
    known_.clear();
    for (unsigned r = 0; r < chain; ++r) known_.push_back({static_cast<uint16_t>(r), 1});
    known_.push_back({p_.has_loops ? static_cast<uint16_t>(chain) : V(0), 1});
    block(0, !p_.has_loops);
    p_.scalars = PAGECAST_MAX_SCALARS;
    p_.vectors = PAGECAST_MAX_VECTORS;
    return p_;
  }

private:
  struct Known {
    uint16_t reg;
    unsigned depth; ///< the first stage that has it
  };

  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  Known any() { return known_[below(2) ? known_.size() - 1 - below(std::min<size_t>(known_.size(), 4)) : below(known_.size())]; }
  Known maybe() { return below(3) ? Known{kNone, 1} : any(); }
  bool full() { return scalars_ + 4 > PAGECAST_MAX_SCALARS || vectors_ + 4 > PAGECAST_MAX_VECTORS || p_.ops.size() > 120; }

  Known emit(unsigned code, unsigned width, bool vector, Known a, Known b, Known c, unsigned extra = 0) {
    const uint16_t to = vector ? V(vectors_++) : static_cast<uint16_t>(scalars_++);
    const unsigned depth = std::max({a.depth, b.depth, c.depth});
    p_.ops.push_back(op(code, width, to, a.reg, b.reg, c.reg, extra, depth));
    const Known result{to, code == PAGECAST_OP_LOAD ? depth + 1 : depth};
    if (result.depth <= p_.depths) known_.push_back(result);
    return result.depth <= p_.depths ? result : known_[below(5)];
  }

  /// Something that is likely an address in memory or in a region.
  Known address(bool vector) {
    const unsigned region = below(2) * 2;
    const Known inside = emit(PAGECAST_OP_AND, 64, vector, any(), known_[2 + region], {kNone, 1});
    return emit(PAGECAST_OP_MADD, 64, vector, inside, known_[5], known_[1 + region]);
  }

  void hint(bool vector) {
    const Known a = below(5) ? address(vector) : any(), c = maybe();
    const unsigned group = below(static_cast<unsigned>(p_.groups.size()));
    if (below(3)) {
      p_.ops.push_back(op(PAGECAST_OP_TOUCH, 0, kNone, a.reg, kNone, c.reg, group, std::max(a.depth, c.depth)));
      return;
    }
    const Known times = below(8) ? emit(PAGECAST_OP_AND, 64, vector, any(), known_[0], {kNone, 1}) : any();
    const Known stride = any();
    p_.ops.push_back(op(PAGECAST_OP_RANGE, 0, times.reg, a.reg, stride.reg, c.reg, group,
                        std::max({a.depth, c.depth, times.depth, stride.depth})));
  }

  void loop(unsigned level) {
    const bool vector = level + 1 == PAGECAST_MAX_SLICE_LOOPS || below(2);
    const Known trips = below(30) == 0 ? known_[8 + below(2)]
                        : vector       ? known_[7]
                                       : emit(PAGECAST_OP_AND, 64, false, any(), known_[0], {kNone, 1});
    const Known when = maybe();
    const size_t begin = p_.ops.size(), known = known_.size();
    const uint16_t to = vector ? V(vectors_++) : static_cast<uint16_t>(scalars_++);
    const unsigned depth = std::max(trips.depth, when.depth);
    p_.ops.push_back(op(PAGECAST_OP_LOOP, 64, to, trips.reg, kNone, when.reg, 0, depth));
    known_.push_back({to, depth});
    block(level + 1, vector);
    if (!vector) { // scalar only because of a loop inside
      const size_t last = p_.ops.size();
      p_.ops.push_back(op(PAGECAST_OP_LOOP, 64, V(vectors_++), 7, kNone, kNone, static_cast<unsigned>(last + 1), depth));
      p_.ops.push_back(op(PAGECAST_OP_END, 0, kNone, kNone));
    }
    p_.ops[begin].extra = static_cast<uint32_t>(p_.ops.size());
    p_.ops.push_back(op(PAGECAST_OP_END, 0, kNone, kNone));
    known_.resize(known); // what a loop computes stays in it
  }

  /// What an operation of this loop, or of its part of the program, hands to the next iteration, as something to be
  /// computed with: it is said later which. False: no more numbers.
  bool previous(bool vector) {
    if (carried_ == PAGECAST_MAX_CARRIED) return false;
    const Known a = any(), c = any();
    const unsigned least = std::max(a.depth, c.depth), depth = least + below(p_.depths - least + 1);
    const uint16_t to = vector ? V(vectors_++) : static_cast<uint16_t>(scalars_++);
    p_.ops.push_back(op(PAGECAST_OP_PREVIOUS, 64, to, a.reg, kNone, c.reg, carried_++, depth));
    known_.push_back({to, depth});
    return true;
  }

  /// Those of the loop that begins at operation `begin`: each gets something that the loop computes, with no search in between.
  void close_carried(size_t begin) {
    const auto after = [&](size_t n) { return slice_opens(p_.ops[n]) ? p_.ops[n].extra + 1 : n + 1; };
    const auto of_a_search = [&](uint16_t r) {
      return std::any_of(p_.ops.begin(), p_.ops.end(), [&](auto &o) { return o.code == PAGECAST_OP_CARRY && o.to == r; });
    };
    for (size_t n = begin; n < p_.ops.size(); n = after(n)) {
      if (p_.ops[n].code != PAGECAST_OP_PREVIOUS) continue;
      std::vector<uint16_t> computed; // in time: itself, if nothing else
      for (size_t k = begin; k < p_.ops.size(); k = after(k)) {
        if (k > n && p_.ops[k].code == PAGECAST_OP_SEARCH) break;
        if (slice_computes(p_.ops[k]) && p_.ops[k].depth <= p_.ops[n].depth && !of_a_search(p_.ops[k].to))
          computed.push_back(p_.ops[k].to);
      }
      p_.ops[n].b = computed[below(static_cast<unsigned>(computed.size()))];
    }
  }

  /// A chain of loads, or whatever the block makes, that ends by a condition.
  void search(unsigned level, bool vector) {
    const Known start = any(), when = maybe();
    const uint16_t carried = vector ? V(vectors_++) : static_cast<uint16_t>(scalars_++);
    const unsigned depth = std::max({start.depth, when.depth, 1u});
    p_.ops.push_back(op(PAGECAST_OP_OR, 64, carried, start.reg, start.reg, kNone, 0, depth));
    known_.push_back({carried, depth});
    const uint16_t count = below(2) ? kNone : vector ? V(vectors_++) : static_cast<uint16_t>(scalars_++);
    const size_t begin = p_.ops.size(), known = known_.size();
    p_.ops.push_back(op(PAGECAST_OP_SEARCH, 64, count, kNone, kNone, when.reg, 0, depth));
    if (count != kNone) known_.push_back({count, depth});
    ++searches_;
    block(level, vector);
    --searches_;
    const Known ends = emit(PAGECAST_OP_ULE, 2, vector, any(), any(), {kNone, 1}), next = any();
    p_.ops.push_back(op(PAGECAST_OP_UNTIL, 64, kNone, ends.reg, kNone, kNone, 0, ends.depth));
    p_.ops.push_back(op(PAGECAST_OP_CARRY, 64, carried, next.reg, kNone, kNone, 0, next.depth));
    p_.ops[begin].extra = static_cast<uint32_t>(p_.ops.size());
    p_.ops.push_back(op(PAGECAST_OP_FOUND, 0, kNone, kNone));
    known_.resize(known); // what is computed inside is not defined where no search begins
  }

  void block(unsigned level, bool vector) {
    const size_t begin = p_.ops.size();
    operations(level, vector);
    close_carried(begin);
  }

  void operations(unsigned level, bool vector) {
    for (unsigned n = 2 + below(8); n && !full(); --n) {
      const unsigned kind = below(11);
      if (searches_ == 0 && below(6) == 0 && previous(vector)) continue;
      if (kind == 10 && searches_ < PAGECAST_MAX_SEARCHES) search(level, vector);
      else if (kind < 4) hint(vector);
      else if (kind < 6) emit(PAGECAST_OP_LOAD, 8u << below(4), vector, below(8) ? address(vector) : any(), {kNone, 1}, maybe());
      else if (kind < 7 && !vector && searches_ == 0 && level + 1 < PAGECAST_MAX_SLICE_LOOPS) loop(level);
      else {
        // What is no number has several words: operations that would hand one on have tests of their own.
        const unsigned most =
            below(8) ? unsigned{PAGECAST_OP_SELECT} : PAGECAST_OP_FEQ + below(PAGECAST_OP_FTOF - PAGECAST_OP_FEQ);
        const unsigned code = most == PAGECAST_OP_SELECT ? below(most + 1) : most;
        const bool integer = code <= PAGECAST_OP_SELECT || code == PAGECAST_OP_FTOS || code == PAGECAST_OP_FTOU;
        const unsigned width = !integer ? 32u << below(2) : below(2) ? 64 : 1 + below(64);
        const unsigned extra = code == PAGECAST_OP_SEXT ? 1 + below(width) : code > PAGECAST_OP_SELECT ? 32u << below(2) : 0;
        emit(code, width, vector, any(), any(), any(), extra);
      }
    }
  }

  std::mt19937_64 &random_;
  Program p_;
  std::vector<Known> known_;
  unsigned scalars_ = 0, vectors_ = 0, carried_ = 0, searches_ = 0;
};

unsigned stage_with_hints(const Program &p, std::mt19937_64 &random) {
  unsigned stage = 1 + random() % p.depths;
  for (const pagecast_op &o : p.ops)
    if ((o.code == PAGECAST_OP_TOUCH || o.code == PAGECAST_OP_RANGE) && random() & 1) stage = o.depth;
  return stage;
}

void corrupt(Program &p, std::mt19937_64 &random) {
  if (p.ops.empty()) return;
  for (unsigned n = 1 + random() % 4; n; --n) {
    pagecast_op &o = p.ops[random() % p.ops.size()];
    const auto reg = [&] { return static_cast<uint16_t>(random() & 1 ? random() % 260 : V(random() % 130)); };
    switch (random() % 11) {
    case 0: o.code = static_cast<uint8_t>(random() % (PAGECAST_OPS + 1)); break;
    case 1: o.depth = static_cast<uint8_t>(random() % 6); break;
    case 2: o.width = static_cast<uint8_t>(random() % 67); break;
    case 3: o.to = reg(); break;
    case 4: o.a = reg(); break;
    case 5: o.b = reg(); break;
    case 6: o.c = random() & 1 ? kNone : reg(); break;
    case 7: o.extra = static_cast<uint32_t>(random() % (random() & 1 ? 5 : 130)); break;
    case 8: p.ops.insert(p.ops.begin() + static_cast<long>(random() % p.ops.size()), o); break;
    case 9: p.has_loops ^= 1; break;
    default: p.live[random() % p.live.size()] = random() >> random() % 64; break;
    }
  }
}

} // namespace

TEST(SliceFuzz, AsTheSecondInterpreter) {
  std::mt19937_64 random(20240601);
  Generator generator(random);
  World world(random);
  unsigned done = 0, with_pages = 0, with_ranges = 0;
  for (unsigned n = 0; n < 10000; ++n) {
    Program p = generator.make();
    const uint64_t first = random() % 16 ? random() % 300 : random(), count = random() % (random() % 4 ? 20 : 300);
    const unsigned stage = stage_with_hints(p, random);
    ASSERT_TRUE(slice_valid(p.nest())) << "program " << n;
    world.regions.hints = {};
    uint64_t work = kWork;
    const SliceOutcome outcome = run(p, first, count, stage, world.memory, world.regions, &work);
    if (outcome != SliceOutcome::kDone) {
      EXPECT_EQ(outcome, SliceOutcome::kTired);
      EXPECT_EQ(work, 0u);
      continue;
    }
    ++done;
    uint64_t steps = 0;
    Hints wanted = expected_hints(p, first, count, stage, world.memory, world.regions, &steps);
    EXPECT_LE(steps, kWork - work) << "program " << n; // lanes that end early are paid for
    Hints &hints = world.regions.hints;
    hints.join_ranges();
    wanted.join_ranges();
    ASSERT_EQ(hints, wanted) << "program " << n << ", stage " << stage;
    with_pages += !hints.pages.empty();
    with_ranges += !hints.ranges.empty();
  }
  EXPECT_GT(done, 7000u);
  EXPECT_GT(with_pages, 1500u);
  EXPECT_GT(with_ranges, 1500u);
}

TEST(SliceFuzz, PartsHandOnToEachOther) {
  std::mt19937_64 random(20240604);
  Generator generator(random);
  World world(random);
  unsigned compared = 0, carrying = 0;
  for (unsigned n = 0; n < 10000; ++n) {
    Program p = generator.make();
    const pagecast_nest &nest = p.nest();
    const uint64_t first = random() % 300, count = 1 + random() % 300, middle = random() % count;
    const unsigned stage = stage_with_hints(p, random);
    const auto part = [&](uint64_t from, uint64_t to, SliceCarried *carried) {
      const SliceCall call{&nest, p.live.data(), p.index.data(), from, to - from, stage, carried};
      uint64_t work = kWork;
      return machine().run(call, world.regions.filter(), world.memory, world.regions, &work) == SliceOutcome::kDone;
    };
    Hints &hints = world.regions.hints;
    hints = {};
    SliceCarried whole{}, parts{};
    if (!part(first, first + count, &whole)) continue;
    const Hints wanted = hints;
    hints = {};
    ASSERT_TRUE(part(first, first + middle, &parts) && part(first + middle, first + count, &parts)) << "program " << n;
    Hints at_once = wanted;
    hints.join_ranges();
    at_once.join_ranges();
    ASSERT_EQ(hints, at_once) << "program " << n << ", stage " << stage;
    ASSERT_EQ(parts.known, whole.known) << "program " << n;
    ++compared;
    carrying += whole.known != 0 && !hints.pages.empty();
  }
  EXPECT_GT(compared, 5000u);
  EXPECT_GT(carrying, 300u);
}

/// A load that nothing needs may be left out, and does not end its iteration then: more is hinted, never less.
TEST(SliceFuzz, StagesByThemselvesHintWhatTheSliceDoes) {
  std::mt19937_64 random(20240603);
  Generator generator(random);
  World world(random);
  static SliceStage part; // large
  unsigned exact = 0, in_vectors = 0, shorter = 0, empty = 0, ended_early = 0;
  for (unsigned n = 0; n < 12000; ++n) {
    Program p = generator.make();
    const uint64_t first = random() % 300, count = random() % 40;
    const unsigned stage = stage_with_hints(p, random);
    const uint32_t ignored = random() & 1 ? 0 : 1u << random() % 4;
    const pagecast_nest &nest = p.nest();
    part.prepare(nest, stage, ignored);
    ASSERT_TRUE(part.empty() || slice_valid(part.nest())) << "program " << n;
    Hints &hints = world.regions.hints;
    hints = {};
    uint64_t work = kWork;
    const SliceCall call{&part.nest(), p.live.data(), p.index.data(), first, count, part.stage()};
    if (!part.empty() && machine().run(call, world.regions.filter(), world.memory, world.regions, &work) != SliceOutcome::kDone)
      continue;
    const Hints got = hints;
    hints = {};
    if (run(p, first, count, stage, world.memory, world.regions, &(work = kWork)) != SliceOutcome::kDone) continue;
    hints = got;
    const uint64_t missing = world.memory.missing;
    uint64_t steps = 0;
    Hints wanted = expected_hints(p, first, count, stage, world.memory, world.regions, &steps);
    for (Hints *h : {&hints, &wanted}) {
      h->drop_groups(ignored);
      h->join_ranges();
    }
    in_vectors += !part.empty() && nest.slice->loops && !part.nest().slice->loops;
    shorter += !part.empty() && part.nest().slice->ops < nest.slice->ops;
    empty += part.empty();
    ASSERT_TRUE(hints.include(wanted)) << "program " << n << ", stage " << stage;
    if (world.memory.missing != missing) {
      ++ended_early;
      continue;
    }
    ASSERT_EQ(hints, wanted) << "program " << n << ", stage " << stage;
    exact += !part.empty();
  }
  EXPECT_GT(exact, 2000u);
  EXPECT_GT(ended_early, 1000u);
  EXPECT_GT(in_vectors, 200u);
  EXPECT_GT(shorter, 3000u);
  EXPECT_GT(empty, 100u);
}

TEST(SliceFuzz, CorruptedSlicesAreHarmless) {
  std::mt19937_64 random(20240602);
  Generator generator(random);
  World world(random);
  unsigned taken = 0, refused = 0;
  for (unsigned n = 0; n < 10000; ++n) {
    Program p = generator.make();
    corrupt(p, random);
    if (!slice_valid(p.nest())) {
      ++refused;
      continue;
    }
    ++taken;
    world.regions.told = 0;
    world.regions.hints = {};
    uint64_t work = kWork;
    (void)run(p, random() >> random() % 64, random() >> random() % 64, 1 + random() % p.depths, world.memory, world.regions,
              &work);
    ASSERT_LE(work, kWork);
    ASSERT_LE(world.regions.told, 3 * (kWork - work) + 3) << "program " << n; // two pages a touch, and the last
  }
  EXPECT_GT(taken, 2000u);
  EXPECT_GT(refused, 2000u);
}
