// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes as people write them: 256M, 4GiB, 1.5G, 512k, 1048576. Units are binary: K, KB and KiB are
// all 1024 bytes.
#pragma once
#include <cstdint>
#include <string>

namespace pagecast::cli {

/// Bytes; throws Failure when `text`, the value of `what`, is not a size.
uint64_t parseSize(const std::string &text, const std::string &what);

/// For people: "256 MiB", "1.5 GiB", "17 B".
std::string showSize(uint64_t bytes);

} // namespace pagecast::cli
