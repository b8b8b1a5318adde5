// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "storage/clients.h"
#include <algorithm>
#include <cstdio>

namespace pagecast::storage {

uint32_t Clients::number_of(const std::string &name) {
  const bool is_full = names_.size() + 1 >= kMostClients;
  const auto at = std::find(names_.begin(), names_.end(), name);
  if (at != names_.end()) return uint32_t(at - names_.begin());
  if (is_full && name != kOthers) return number_of(kOthers);
  names_.push_back(name);
  return uint32_t(names_.size() - 1);
}

std::string json_string(const std::string &text) {
  std::string out = "\"";
  for (const char c : text) {
    char escaped[8];
    if (static_cast<unsigned char>(c) < 0x20) std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
    else std::snprintf(escaped, sizeof escaped, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    out += escaped;
  }
  return out + '"';
}

std::string json_members(const core::ClientCounts &counts) {
  std::string out;
  for (const core::NamedCount &count : core::kClientCounts) {
    if (!out.empty()) out += ", ";
    out += json_string(count.name) + ": " + std::to_string(counts.*count.value);
  }
  return out;
}

} // namespace pagecast::storage
