// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What launchers of parallel programs tell a process in its environment.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

namespace pagecast {

/// Its number among the ranks, as MPICH, Open MPI, PMIx and Slurm give it; -1: it has none.
inline int64_t rank_from_launcher() {
  for (const char *name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"})
    if (const char *text = getenv(name); text && *text >= '0' && *text <= '9') return strtol(text, nullptr, 10);
  return -1;
}

} // namespace pagecast
