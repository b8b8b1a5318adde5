// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/text/message.h"
#include <cctype>
#include <cstdio>
#include <cstring>

namespace pagecast::cli {

int reportFailure(const Failure &failure) {
  std::fprintf(stderr, "pagecast: %s\n", failure.sentence.c_str());
  return failure.status;
}

void warn(const std::string &sentence) { std::fprintf(stderr, "pagecast: warning: %s\n", sentence.c_str()); }

std::string errorText(int error) {
  std::string text = std::strerror(error);
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

} // namespace pagecast::cli
