// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The locks of the runtime that guard state which fork copies, in the order in which a thread may take several.
// fork.cpp holds all of them while the process is copied, so that the child finds them free and what they
// guard whole. (Not here: those of regions.cpp and guards.h, whose writers hold locks of this list.)
#pragma once
#include "runtime/kernel/lock.h"

namespace pagecast::locks {

inline constinit Lock forks;           ///< fork.cpp: what a child needs at once; threads fork one after the other
inline constinit Lock program_break;  ///< break.cpp: what the program got at the break last
inline constinit Lock library_heap;   ///< library_heap.cpp: how far the C library's heap is noted
inline constinit Lock medium_growth; ///< medium_blocks.cpp: making room for more of them
inline constinit Lock named_maps;      ///< named_maps.cpp: paths that stand for exports
inline constinit Lock maps;            ///< maps.cpp: exports that are mapped
inline constinit Lock allocations;     ///< allocations.cpp; the pager's commands are given under it
inline constinit Lock options;     ///< runtime.cpp: reading the options
inline constinit Lock modules;     ///< modules.cpp: the table of modules
inline constinit Lock sites;       ///< statistics.cpp: handing out sites
inline constinit Lock freed_cache; ///< heap.cpp: blocks that were freed
inline constinit Lock medium;       ///< medium_blocks.cpp: the table of them
inline constinit Lock nest_table;   ///< open_nests.cpp: nests that are claimed for the first time
inline constinit Lock profile;      ///< runtime/profile: what the program touches of files

} // namespace pagecast::locks
