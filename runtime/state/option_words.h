// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words that options of some kinds are (options.def), in the order of what they mean, and the least of some sizes. For the runtime,
// which reads them, and for the command, which says what is none of them.
#pragma once

#include "runtime/state/options.h"

namespace pagecast {

inline constexpr const char *kYesWords[] = {"1", "on", "yes"}, *kNoWords[] = {"0", "off", "no"};
inline constexpr const char *kReleaseWords[] = {"none", "aggressive", "buffered"}; ///< ReleasePolicy
inline constexpr const char *kBackEndWords[] = {"auto", "pager", "advise"}; ///< BackEnd
inline constexpr const char *kFarWords[] = {"none", "independent", "reserved", "adaptive", "live"}; ///< FarScheme
inline constexpr const char *kScheduleWords[] = {"single", "nested", "continuous"}; ///< core::Schedule

/// The sizes below which an option has no meaning. `text`: the least as people write it.
inline constexpr struct {
  const char *name;
  uint64_t least;
  const char *text;
} kLeastSizes[] = {{"MEMORY", kLeastMemory, "16M"}, {"LARGE", kLeastLarge, "4K"}, {"IO", kLeastIo, "4K"}};

} // namespace pagecast
