// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "cli/profile/sharing.h"

namespace pagecast::cli {

/// Figure 4 of PACT 2008 as SVG: epochs to the right, the offset in a data set upwards, a colour for each member, and a ring
/// around what each cluster of two members or more touches, dashed where it is too small for a helper. Where several members
/// touch the same, their colours alternate. `sharings`: sharingsOf() the profile.
std::string pictureOf(const Profile &, const std::vector<Sharing> &sharings, const Thresholds &);

} // namespace pagecast::cli
