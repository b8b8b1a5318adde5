// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clients of a storage cache by name, and what each has done, as JSON.
#pragma once
#include "core/sharing/storage_cache.h"
#include <string>
#include <vector>

namespace pagecast::storage {

/// Clients that are told apart; those that come later are counted together, under kOthers.
inline constexpr uint32_t kMostClients = 1024;
inline constexpr const char *kOthers = "others";

class Clients {
public:
  /// The number of the client of this name, which may have come before.
  uint32_t number_of(const std::string &name);
  uint32_t count() const { return uint32_t(names_.size()); }
  const std::string &name(uint32_t client) const { return names_[client]; }

private:
  std::vector<std::string> names_;
};

/// `text` between quotation marks.
std::string json_string(const std::string &text);
/// The counts as the members of a JSON object, without its braces.
std::string json_members(const core::ClientCounts &);

} // namespace pagecast::storage
