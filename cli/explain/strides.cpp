// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/explain/strides.h"
#include "cli/text/spelling.h"
#include <algorithm>
#include <vector>

namespace pagecast::cli {
namespace {

/// Parts between commas that are in no parentheses or braces.
std::vector<std::string> partsOf(const std::string &list) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : list) {
    depth += (c == '(' || c == '{') - (c == ')' || c == '}');
    if (c == ',' && depth == 0) out.emplace_back();
    else if (c != ' ' || !out.back().empty()) out.back() += c;
  }
  return out;
}

/// Without notes on overflow, as <nsw>, and without parentheses around the whole.
std::string simplified(const std::string &expression) {
  std::string out;
  bool note = false;
  for (const char c : expression) {
    note = note || c == '<';
    if (!note) out += c;
    note = note && c != '>';
  }
  const bool whole = out.size() > 2 && out.front() == '(' && out.find(')') == out.size() - 1;
  return whole ? out.substr(1, out.size() - 2) : out;
}

/// Values without a name in the source, types and braces mean nothing to who wrote it.
bool isPlain(const std::string &text) {
  return text.find_first_of("%{@/") == std::string::npos && text.find(" to i") == std::string::npos;
}

std::string distance(const std::string &text) {
  if (text == "0") return "the same bytes in";
  const auto bytes = [](const std::string &digits) { return digits + (digits == "1" ? " byte" : " bytes"); };
  if (isDigits(text)) return bytes(text);
  if (text[0] == '-' && isDigits(text.substr(1))) return bytes(text.substr(1)) + " back";
  return isPlain(text) ? text + " bytes" : "a distance computed at run time";
}

std::string loopName(size_t outside) {
  static const char *const names[] = {"", " of the loop outside", " of the second loop outside", " of the third loop outside"};
  return outside < std::size(names) ? names[outside] : " of loop " + std::to_string(outside) + " outside";
}

} // namespace

std::string stridesInWords(const std::string &strides, const std::string &call) {
  const std::vector<std::string> parts = partsOf(strides);
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string &one = parts[parts.size() - 1 - i];
    if (one.empty()) continue;
    if (i == 0 && !call.empty()) {
      out = "byte after byte, by " + call;
      continue;
    }
    out += (out.empty() ? "" : ", ") + distance(simplified(one)) + " each iteration" + loopName(i);
  }
  return out;
}

} // namespace pagecast::cli
