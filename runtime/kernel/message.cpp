// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/message.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast {
namespace {

bool verbose = false;

void write_line(const char *format, va_list arguments) {
  const int saved = errno;
  char line[512] = "pagecast: ";
  int n = vsnprintf(line + 10, sizeof line - 12, format, arguments);
  if (n < 0) n = 0;
  unsigned length = 10u + static_cast<unsigned>(n);
  if (length > sizeof line - 2) length = sizeof line - 2;
  line[length++] = '\n';
  syscall(SYS_write, STDERR_FILENO, line, length); // if that fails, there is nobody to tell
  errno = saved;
}

} // namespace

void set_verbose(bool on) { verbose = on; }

void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

void tell(const char *format, ...) {
  if (!verbose) return;
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

} // namespace pagecast
