// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/message.h"

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast {
namespace {

bool verbose = false;

/// Text that is cut where its room ends.
class Text {
public:
  Text(char *to, size_t size) : to_(to), size_(size) {}
  void add(char c) {
    if (length_ + 1 < size_) to_[length_] = c;
    ++length_;
  }
  void add(const char *text, size_t most) {
    while (most-- && *text) add(*text++);
  }
  void add_number(uint64_t number, unsigned base, unsigned width, char fill) {
    char digits[20];
    unsigned n = 0;
    do digits[n++] = "0123456789abcdef"[number % base];
    while (number /= base);
    for (unsigned i = n; i < width; ++i) add(fill);
    while (n) add(digits[--n]);
  }
  size_t end() {
    if (size_) to_[length_ < size_ ? length_ : size_ - 1] = 0;
    return length_;
  }

private:
  char *to_;
  size_t size_, length_ = 0;
};

struct Arguments {
  va_list list; ///< in a structure, since a bare one may be an array, of which no reference can be passed on
};

/// One specifier, as it stands in the format behind its percent sign.
struct Specifier {
  char fill = ' ', kind = 0;
  bool is_long = false;
  unsigned width = 0;
  size_t most = ~size_t{0}; ///< characters of a string
};

unsigned read_number(const char *&at) {
  unsigned out = 0;
  while (*at >= '0' && *at <= '9') out = out * 10 + static_cast<unsigned>(*at++ - '0');
  return out;
}

/// A percent sign's specifier; `at` is behind it then.
Specifier read_specifier(const char *&at, Arguments &arguments) {
  Specifier out;
  if (*at == '0') out.fill = *at++;
  out.width = read_number(at);
  if (*at == '.') {
    const bool given = *++at == '*';
    out.most = given ? static_cast<size_t>(va_arg(arguments.list, int)) : read_number(at);
    at += given;
  }
  for (; *at == 'l' || *at == 'z'; ++at) out.is_long = true;
  if (*at) out.kind = *at++;
  return out;
}

void add_argument(Text &text, const Specifier &s, Arguments &arguments) {
  switch (s.kind) {
  case 's': {
    const char *string = va_arg(arguments.list, const char *);
    return text.add(string ? string : "(null)", s.most);
  }
  case 'c': return text.add(static_cast<char>(va_arg(arguments.list, int)));
  case 'd': {
    const int64_t number = s.is_long ? va_arg(arguments.list, int64_t) : va_arg(arguments.list, int);
    if (number < 0) text.add('-');
    return text.add_number(number < 0 ? -static_cast<uint64_t>(number) : static_cast<uint64_t>(number), 10, s.width, s.fill);
  }
  case 'u':
  case 'x': {
    const uint64_t number = s.is_long ? va_arg(arguments.list, uint64_t) : va_arg(arguments.list, unsigned);
    return text.add_number(number, s.kind == 'x' ? 16 : 10, s.width, s.fill);
  }
  default: return text.add(s.kind ? s.kind : '%'); // a percent sign; others are in no format
  }
}

size_t write_arguments(char *to, size_t size, const char *format, va_list list) {
  Arguments arguments;
  va_copy(arguments.list, list);
  Text text(to, size);
  while (*format) {
    const char c = *format++;
    if (c != '%') text.add(c);
    else {
      const Specifier s = read_specifier(format, arguments);
      add_argument(text, s, arguments);
    }
  }
  va_end(arguments.list);
  return text.end();
}

void write_line(const char *format, va_list arguments) {
  const int saved = errno;
  char line[2048] = "pagecast: "; // reasons name paths
  size_t length = 10 + write_arguments(line + 10, sizeof line - 12, format, arguments);
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

int write_text(char *to, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t length = write_arguments(to, size, format, arguments);
  va_end(arguments);
  return static_cast<int>(length);
}

const char *error_text(int error) {
  const char *text = strerrordesc_np(error);
  return text ? text : "an error without a name";
}

} // namespace pagecast
