// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parallel programs as an I/O node sees them: phases, one after the other, in which each processor has iterations of its
// own and reads blocks in order. Made from the descriptions of the four programs of PACT 2008 (section 5, figure 4), not
// from their sources, which no one has. A block is 1 MiB: the programs read by collective I/O, in large pieces.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pagecast::simulator {

/// One block read, and what is computed before the next one.
struct Access {
  uint32_t block;
  uint32_t micros;
};

/// A nest. Each iteration sweeps over a set of blocks that others sweep over, too, and reads blocks of its own in between.
struct Phase {
  std::string name;
  uint32_t iterations = 48;
  uint32_t sets = 1;       ///< shared ones; which one an iteration sweeps over follows from its number
  bool is_cyclic = false;  ///< iteration i is of processor i % P and of set i % sets; else both go by even parts
  uint32_t first_shared = 0, shared = 0; ///< blocks of each set
  uint32_t first_own = 0, own = 0;       ///< of each iteration
  uint32_t micros = 0;                   ///< computed on each block
  double imbalance = 0;                  ///< how far iterations are faster and slower than that, as a share of it

  /// The iterations of processor `p` of `count`.
  std::vector<uint32_t> iterations_of(uint32_t p, uint32_t count) const;
  /// What iteration `i` reads.
  void append(uint32_t i, std::vector<Access> *out) const;
};

struct Program {
  std::string name;
  std::vector<Phase> phases;
  uint32_t blocks = 0; ///< of all data
};

/// HF, 3D-vis, Cholesky and MGRID.
std::vector<Program> shared_programs();

} // namespace pagecast::simulator
