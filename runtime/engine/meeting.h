// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where members of a team meet: a program that comes to an interval for which the helper has not asked yet waits until it has. It
// does so when the last of the team has entered the interval before the one that precedes it. So no member is ahead by more than
// two intervals, and what one has read is still in the server's cache when the others come.
//
// The wait has an end, whatever the helper and the others do; a nest that has waited so long does not wait any more.
//
// The program's thread.
#pragma once
#include "runtime/engine/engine.h"

namespace pagecast {

void meet(OpenNest &, Engine &);

} // namespace pagecast
