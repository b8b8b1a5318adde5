// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/text/contents.h"
#include "cli/text/message.h"
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace pagecast::cli {

std::string contentsOf(const std::string &path, const std::string &what, const std::string &advice) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string out;
  ssize_t n = fd;
  for (char part[1 << 14]; n >= 0;) {
    n = read(fd, part, sizeof part);
    if (n == 0) break;
    if (n > 0) out.append(part, static_cast<size_t>(n));
    else if (errno == EINTR) n = 0;
  }
  const int error = n < 0 ? errno : 0;
  if (fd >= 0) close(fd);
  if (error) throw Failure{what + " cannot be read: " + errorText(error) + advice};
  return out;
}

} // namespace pagecast::cli
