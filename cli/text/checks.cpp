// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/text/checks.h"
#include "cli/text/spelling.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace pagecast::cli {

WordCheck between(double least, double most) {
  return [=](const std::string &value) -> std::string {
    char *end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (!value.empty() && *end == 0 && number >= least && number <= most) return "";
    char text[80];
    std::snprintf(text, sizeof text, "' is no number from %.10g to %.10g", least, most);
    return "'" + value + text;
  };
}

WordCheck wholeBetween(double least, double most) {
  return [=](const std::string &value) -> std::string {
    if (value.find_first_not_of("0123456789") != std::string::npos) return "'" + value + "' is no whole number, such as 5";
    return between(least, most)(value);
  };
}

WordCheck oneOf(const std::vector<std::string> &words) {
  return [=](const std::string &value) -> std::string {
    if (std::find(words.begin(), words.end(), value) != words.end()) return "";
    return "'" + value + "' is none of " + commaList(words);
  };
}

} // namespace pagecast::cli
