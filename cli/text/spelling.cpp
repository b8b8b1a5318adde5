// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/text/spelling.h"
#include "cli/text/message.h"
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>

namespace pagecast::cli {

static constexpr const char *kUnits = "kmgtp";

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The number at the start of `text`; `end` is set past it.
static std::optional<long double> leadingNumber(const std::string &text, size_t &end) {
  long double value = 0, scale = 1;
  bool digits = false, fraction = false;
  for (end = 0; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '.' && !fraction) {
      fraction = true;
    } else if (isDigit(c)) {
      digits = true;
      value = value * 10 + (c - '0');
      if (fraction) scale *= 10;
    } else {
      break;
    }
  }
  if (!digits) return std::nullopt;
  return value / scale;
}

/// The factor that `unit` ("", "b", "k", "kb", "kib", ...) stands for.
static std::optional<long double> unitFactor(const std::string &unit) {
  if (unit.empty() || unit == "b") return 1;
  long double factor = 1024;
  for (const char *u = kUnits; *u; ++u, factor *= 1024) {
    const std::string letter(1, *u);
    if (unit == letter || unit == letter + "b" || unit == letter + "ib") return factor;
  }
  return std::nullopt;
}

static std::string lowered(const std::string &text) {
  std::string out;
  for (const char c : text)
    if (c != ' ') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

uint64_t parseSize(const std::string &text, const std::string &what) {
  const std::string how = "write a number of bytes or one with a unit, such as 256M, 1.5G or 4GiB";
  if (!text.empty() && text[0] == '-') throw Failure{what + " '" + text + "' is negative; " + how};
  size_t end = 0;
  const auto number = leadingNumber(text, end);
  const auto factor = number ? unitFactor(lowered(text.substr(end))) : std::nullopt;
  if (!factor) throw Failure{what + " '" + text + "' is not a size; " + how};
  const long double bytes = *number * *factor;
  if (bytes >= 9.2e18L) throw Failure{what + " '" + text + "' is more than any machine has; " + how};
  return static_cast<uint64_t>(bytes);
}

std::string showSize(uint64_t bytes) {
  static constexpr std::array names = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < names.size(); ++unit) value /= 1024;
  char text[32];
  const bool whole = value == static_cast<double>(static_cast<uint64_t>(value));
  std::snprintf(text, sizeof text, whole ? "%.0f %s" : "%.1f %s", value, names[unit]);
  return text;
}

/// Levenshtein's distance, one row of the table at a time.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

static std::string sorted(std::string letters) {
  std::sort(letters.begin(), letters.end());
  return letters;
}

std::string suggestion(const std::string &word, const std::vector<std::string> &known, const std::string &list,
                       const std::string &quote) {
  const auto nearest = *std::min_element(
      known.begin(), known.end(), [&](const auto &a, const auto &b) { return editDistance(word, a) < editDistance(word, b); });
  const size_t letters = word.size() - std::min(word.size(), word.find_first_not_of('-'));
  const bool isNear = 2 * editDistance(word, nearest) <= letters || sorted(word) == sorted(nearest);
  return (isNear ? "; the nearest is " + quote + nearest + quote + ", and " : "; ") + list + " lists them all";
}

bool isDigits(const std::string &text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos; }

std::string counted(size_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string commaList(const std::vector<std::string> &words) {
  std::string out;
  for (const std::string &word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

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
