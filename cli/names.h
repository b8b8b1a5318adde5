// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From symbols of the linker back to names in the source.
#pragma once
#include "compiler.h"
#include <string>

namespace pagecast::cli {

/// "ns::f(int)" for _ZN2ns1fEi; "m::p" for flang's _QMmPp; "a" for the variable _QFEa.0; the symbol itself
/// when it is none of these. What the compiler appended (".omp_outlined") stays.
std::string readableName(const std::string &symbol, Language language);

} // namespace pagecast::cli
