// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types.h"
#include "runtime/state/options.h"

#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sys/auxv.h>

extern char **environ;

namespace pagecast {
namespace {

constexpr const char *kNames[] = {
#define PAGECAST_OPTION(field, NAME, type, initial, kind, text) NAME,
#include "runtime/state/options.def"
#undef PAGECAST_OPTION
};

/// Which of the words it is; `n`: none of them.
template <unsigned n> unsigned number_of(const char *text, const char *const (&words)[n]) {
  unsigned i = 0;
  while (i < n && strcmp(text, words[i])) ++i;
  return i;
}

template <typename Enum, unsigned n> bool parse_word(const char *text, Enum *value, const char *const (&words)[n]) {
  const unsigned i = number_of(text, words);
  if (i < n) *value = static_cast<Enum>(i);
  return i < n;
}

bool parse(const char *text, bool *value, const char *) {
  *value = number_of(text, kYesWords) < std::size(kYesWords);
  return *value || number_of(text, kNoWords) < std::size(kNoWords);
}

bool parse(const char *text, uint64_t *value, const char *kind) {
  if (!strcmp(kind, "size")) return (!strcmp(text, "auto") && (*value = kAuto)) || parse_size(text, value);
  char *end = nullptr;
  *value = strtoull(text, &end, 10);
  return isdigit(static_cast<unsigned char>(*text)) && *end == 0;
}

/// A copy that stays: programs that show their state in `ps` store over their environment. There is no heap yet.
const char *kept(const char *text) {
  const size_t bytes = strlen(text) + 1;
  void *copy = os::map_memory(bytes, false);
  return copy ? static_cast<const char *>(memcpy(copy, text, bytes)) : nullptr;
}

bool parse(const char *text, const char **value, const char *) {
  *value = *text ? kept(text) : nullptr;
  return *value != nullptr;
}

bool parse(const char *text, FarScheme *value, const char *) { return parse_word(text, value, kFarWords); }
bool parse(const char *text, ReleasePolicy *value, const char *) { return parse_word(text, value, kReleaseWords); }
bool parse(const char *text, BackEnd *value, const char *) { return parse_word(text, value, kBackEndWords); }
bool parse(const char *text, core::Schedule *value, const char *) { return parse_word(text, value, kScheduleWords); }

template <typename T> T at_least(const char *, T value) { return value; }

/// A size of less than the least that has a meaning becomes that, which is said.
uint64_t at_least(const char *name, uint64_t value) {
  for (const auto &known : kLeastSizes) {
    if (strcmp(known.name, name) || value >= known.least) continue;
    say("PAGECAST_%s is %llu bytes, less than the least of %s; %s is used", name, static_cast<unsigned long long>(value),
        known.text, known.text);
    return known.least;
  }
  return value;
}

/// Levenshtein distance of two short names.
unsigned edit_distance(const char *a, size_t a_length, const char *b) {
  unsigned row[64];
  const size_t n = strlen(b);
  if (n >= 64) return 64;
  for (size_t j = 0; j <= n; ++j) row[j] = static_cast<unsigned>(j);
  for (size_t i = 1; i <= a_length; ++i) {
    unsigned diagonal = row[0];
    row[0] = static_cast<unsigned>(i);
    for (size_t j = 1; j <= n; ++j) {
      const unsigned above = row[j];
      unsigned best = diagonal + (a[i - 1] != b[j - 1]);
      if (above + 1 < best) best = above + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
      diagonal = above;
    }
  }
  return row[n];
}

/// Names a PAGECAST_ variable that no option reads. The compiler commands read a few more (docs/compile.md), and so does the command.
void check_name(const char *name, size_t length) {
  static const char *const others[] = {"CC_VERBOSE", "CC_PASSTHROUGH", "CLANG", "FLANG",
                                       "PLUGIN",     "LLVM_BIN",       "OUT",   "STATS_PROCESS"};
  const char *nearest = kNames[0];
  unsigned least = ~0u;
  for (const char *known : kNames) {
    if (strlen(known) == length && !memcmp(known, name, length)) return;
    const unsigned d = edit_distance(name, length, known);
    if (d < least) least = d, nearest = known;
  }
  for (const char *known : others)
    if (strlen(known) == length && !memcmp(known, name, length)) return;
  say("there is no option PAGECAST_%.*s; the nearest is PAGECAST_%s", static_cast<int>(length), name, nearest);
}

} // namespace

bool parse_size(const char *text, uint64_t *bytes) {
  if (!isdigit(static_cast<unsigned char>(*text)) || tolower(static_cast<unsigned char>(text[1])) == 'x') return false;
  char *end = nullptr;
  const double number = strtod(text, &end);
  const char *units = "kmgt";
  double scale = 1;
  if (*end) {
    const char *unit = strchr(units, tolower(static_cast<unsigned char>(*end)));
    if (unit) {
      for (const char *u = units; u <= unit; ++u) scale *= 1024;
      ++end;
      if (*end == 'i' && (end[1] == 'B' || end[1] == 'b')) end += 2;
      else if (*end == 'B' || *end == 'b') ++end;
    } else if ((*end == 'B' || *end == 'b')) {
      ++end;
    }
  }
  if (*end || number * scale >= 9e18) return false;
  *bytes = static_cast<uint64_t>(number * scale);
  return true;
}

void read_options(Options &options) {
  const bool trusted = getauxval(AT_SECURE) == 0; // a program that has more rights than its user takes no orders
  for (char **entry = environ; trusted && entry && *entry; ++entry) {
    if (strncmp(*entry, "PAGECAST_", 9)) continue;
    const char *name = *entry + 9;
    if (const char *equals = strchr(name, '=')) check_name(name, static_cast<size_t>(equals - name));
  }
#define PAGECAST_OPTION(field, NAME, type, initial, kind, text)                      \
  if (const char *given = secure_getenv("PAGECAST_" NAME)) {                         \
    type value = initial;                                                            \
    if (parse(given, &value, #kind)) options.field = at_least(NAME, value);          \
    else say("PAGECAST_" NAME "=%s is not a %s; the default is used", given, #kind); \
  }
#include "runtime/state/options.def"
#undef PAGECAST_OPTION
}

const char *options_help() {
  return
#define PAGECAST_OPTION(field, NAME, type, initial, kind, text) "PAGECAST_" NAME " (" #kind ")\n    " text "\n"
#include "runtime/state/options.def"
#undef PAGECAST_OPTION
      ;
}

} // namespace pagecast
