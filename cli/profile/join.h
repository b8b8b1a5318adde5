// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "cli/profile/parts.h"
#include "cli/profile/profile.h"

namespace pagecast::cli {

/// One profile of what the processes wrote, with the time from the first start to the last end in so many epochs. A nest is
/// taken to go through its iterations evenly: so much of them in each epoch as of its time. With entries, each is in the profile by itself, too.
Profile join(const std::vector<Part> &, uint32_t epochs, bool withEntries = false);

} // namespace pagecast::cli
