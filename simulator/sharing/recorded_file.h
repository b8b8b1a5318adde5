// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "simulator/sharing/recorded.h"
#include <string>

namespace pagecast::simulator {

/// Reads what `pagecast profile --entries` has written. Returns "", or a sentence that says why there is no run in it.
std::string read_recorded(const std::string &file, RecordedRun *out);

} // namespace pagecast::simulator
