// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "storage/clients.h"
#include <algorithm>
#include <cstdio>

namespace pagecast::storage {
namespace {

struct Member {
  const char *name;
  uint64_t core::ClientCounts::*value;
};

constexpr Member kMembers[] = {
    {"hits", &core::ClientCounts::hits},
    {"late", &core::ClientCounts::late},
    {"misses", &core::ClientCounts::misses},
    {"prefetches", &core::ClientCounts::prefetches},
    {"dropped", &core::ClientCounts::dropped},
    {"duplicate", &core::ClientCounts::duplicate},
    {"unused", &core::ClientCounts::unused},
    {"harmful_intra", &core::ClientCounts::harmful_intra},
    {"harmful_inter", &core::ClientCounts::harmful_inter},
};

} // namespace

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
  for (const Member &member : kMembers) {
    if (!out.empty()) out += ", ";
    out += json_string(member.name) + ": " + std::to_string(counts.*member.value);
  }
  return out;
}

void add(core::ClientCounts *sum, const core::ClientCounts &counts) {
  for (const Member &member : kMembers) sum->*member.value += counts.*member.value;
}

} // namespace pagecast::storage
