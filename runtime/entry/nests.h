// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace pagecast {

class Engine;

/// Tells the entry points where hints go, or (NULL) that nothing is paged.
void nests_start(Engine *);

} // namespace pagecast
