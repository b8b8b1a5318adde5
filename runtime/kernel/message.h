// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sentences to the user on standard error, without stdio: safe in malloc, in helper threads, at exit.
//
// Nothing here uses printf of the C library. A library may register specifiers of its own there, as libquadmath does, whose tables are on
// the heap. If these are paged, the pager's thread would wait for itself.
#pragma once

#include <cstddef>

namespace pagecast {

/// One line, prefixed "pagecast: ". Only for what the user must know: bad options, data at risk.
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// The same, only with PAGECAST_VERBOSE=1.
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void set_verbose(bool);

/// snprintf for these sentences: %s, %c, %d, %u and %x with ll, l or z, widths with zeros, precisions of strings. Ends with a zero if `size`
/// is not 0. Returns how long the whole is, which may be more than there is room for.
int write_text(char *to, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/// What an errno means, in English: strerror may come to the heap for a translation.
const char *error_text(int error);

} // namespace pagecast
