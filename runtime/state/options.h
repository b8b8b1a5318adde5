// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of the run-time layer: one table (options.def) makes the fields, the parser, the help and
// docs/options.md's list. They come from PAGECAST_<NAME> in the environment, read once at start-up.
#pragma once
#include "core/types.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace pagecast {

/// kAuto: the pager for anonymous memory, advice for mapped files; the others restrict it to one of them.
enum class BackEnd : uint8_t { kAuto, kPager, kAdvise };
/// Who asks servers ahead for what nests touch of exports that are mapped (engine/far_hints.h).
enum class FarScheme : uint8_t { kNone, kIndependent, kReserved, kAdaptive, kLive };
enum class ReleasePolicy : uint8_t { kNone, kAggressive, kBuffered };

/// A size that was not given: the runtime finds it out.
inline constexpr uint64_t kAuto = ~uint64_t{0};
/// Less than this leaves no room for staging and the pages that one step needs.
inline constexpr uint64_t kLeastMemory = 16u << 20;
/// What the C library allocates for a thread of ours, while allocations become regions, must never be large itself.
inline constexpr uint64_t kLeastLarge = 4u << 10;
/// A request of less than a page would move nothing.
inline constexpr uint64_t kLeastIo = 4u << 10;

struct Options {
#define PAGECAST_OPTION(field, NAME, type, initial, kind, text) type field = initial;
#include "runtime/state/options.def"
#undef PAGECAST_OPTION
};

/// Reads the environment. Unknown PAGECAST_ variables and bad values are said on standard error, once,
/// with the nearest known name; the default is used.
void read_options(Options &);

/// Bytes of "256M", "4GiB", "1.5g", "1048576" (units are powers of 1024). False if it is not a size.
bool parse_size(const char *text, uint64_t *bytes);

/// The table as text.
const char *options_help();

// --- words and least sizes ---------------------------------------------------------------------
//
// The words that options of some kinds are (options.def), in the order of what they mean, and the least of some sizes. For the runtime,
// which reads them, and for the command, which says what is none of them.

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

// --- addresses of servers ----------------------------------------------------------------------
//
// Which parts of the list of backings are addresses of servers, and not directories. For the runtime and for the command.

/// Whether the text is the address of an NBD server's export. NULL is none.
inline bool is_server_address(const char *text) {
  for (const char *scheme : {"nbd://", "nbds://", "nbd+unix://", "nbds+unix://"})
    if (text && !strncmp(text, scheme, strlen(scheme))) return true;
  return false;
}

/// How many addresses are in a list, by what only they have. NULL has none.
inline unsigned addresses_in(const char *list) {
  unsigned n = 0;
  for (const char *at = list; at && (at = strstr(at, "://")); at += strlen("://")) ++n;
  return n;
}

} // namespace pagecast
