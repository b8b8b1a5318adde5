// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sentences to the user on standard error, without stdio: safe in malloc, in helper threads, at exit.
#pragma once

namespace pagecast {

/// One line, prefixed "pagecast: ". Only for what the user must know: bad options, data at risk.
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// The same, only with PAGECAST_VERBOSE=1.
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void set_verbose(bool);

} // namespace pagecast
