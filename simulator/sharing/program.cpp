// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/sharing/program.h"

namespace pagecast::simulator {

namespace {

/// A number below 1 that depends on `i` alone.
double even_noise(uint32_t i) {
  uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return double(x >> 11) / double(uint64_t{1} << 53);
}

} // namespace

void Phase::append(uint32_t i, std::vector<Access> *out) const {
  const uint32_t set = is_cyclic ? i % sets : uint32_t(uint64_t(i) * sets / iterations);
  const auto time = uint32_t(micros * (1 + imbalance * (2 * even_noise(i) - 1)));
  const uint32_t total = shared + own;
  for (uint32_t k = 0, shared_done = 0, own_done = 0; k < total; ++k) {
    // Evenly mixed: the one that is further behind its share comes next.
    const bool is_shared = uint64_t(shared_done) * own <= uint64_t(own_done) * shared ? shared_done < shared : own_done == own;
    if (is_shared) out->push_back({first_shared + set * shared + shared_done++, time});
    else out->push_back({first_own + i * own + own_done++, time});
  }
}

std::vector<uint32_t> Phase::iterations_of(uint32_t p, uint32_t count) const {
  std::vector<uint32_t> out;
  if (is_cyclic)
    for (uint32_t i = p; i < iterations; i += count) out.push_back(i);
  else
    for (uint32_t i = p * iterations / count; i < (p + 1) * iterations / count; ++i) out.push_back(i);
  return out;
}

namespace {

constexpr uint32_t kIterations = 240; ///< so that few processors get one more than others

/// Gives phases blocks that no other phase has.
struct Maker {
  Program program;

  Phase &add(const char *name, uint32_t shared, uint32_t sets, uint32_t own, uint32_t micros, double imbalance) {
    Phase phase;
    phase.name = name;
    phase.iterations = kIterations;
    phase.sets = sets;
    phase.first_shared = program.blocks;
    phase.shared = shared;
    phase.first_own = program.blocks + shared * sets;
    phase.own = own;
    phase.micros = micros;
    phase.imbalance = imbalance;
    program.blocks = phase.first_own + own * kIterations;
    program.phases.push_back(phase);
    return program.phases.back();
  }
};

/// Two functions by turns, until the energy has converged. In the first, even processors share one set of integrals and odd
/// ones another. The second reads the file of all integrals, each processor its own part; it is the same file every time.
Program hf() {
  Maker m{{"HF", {}, 0}};
  m.add("Fock matrix", 160, 2, 0, 80'000, 0.05).is_cyclic = true;
  m.add("integrals", 0, 1, 20, 80'000, 0.05);
  const std::vector<Phase> once = m.program.phases;
  m.program.phases.insert(m.program.phases.end(), once.begin(), once.end());
  return m.program;
}

/// Volumes one after the other: slices are rendered by each processor for itself, and iso-surfaces take all of the volume.
Program vis() {
  Maker m{{"3D-vis", {}, 0}};
  for (unsigned volume = 0; volume < 3; ++volume) {
    m.add("slices", 0, 1, 12, 45'000, 0.05);
    m.add("iso-surface", 200, 1, 0, 45'000, 0.05);
    m.add("tetrahedra", 160, 2, 1, 45'000, 0.05);
  }
  return m.program;
}

/// Left-looking, by slabs: each processor has columns of the next slab in memory, and all stream the factored slabs.
Program cholesky() {
  Maker m{{"Cholesky", {}, 0}};
  m.add("first slabs", 0, 1, 40, 70'000, 0.05);
  for (uint32_t slab = 1; slab <= 4; ++slab) m.add("update", 100 * slab, 1, 1, 70'000, 0.05);
  return m.program;
}

/// V-cycles: on fine grids each processor sweeps over planes of its own, on coarser ones over some of its neighbours', too,
/// and the coarsest are all of everyone's.
Program mgrid() {
  Maker m{{"Mgrid", {}, 0}};
  for (unsigned cycle = 0; cycle < 3; ++cycle) {
    m.add("smooth", 0, 1, 12, 45'000, 0.05);
    m.add("restrict", 160, 2, 1, 45'000, 0.05);
    m.add("coarse", 180, 1, 0, 45'000, 0.05);
  }
  return m.program;
}

} // namespace

std::vector<Program> shared_programs() { return {hf(), vis(), cholesky(), mgrid()}; }

} // namespace pagecast::simulator
