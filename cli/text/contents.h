// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is in a file. A name may be one of a directory, or of something whose reading fails after it was opened, and that is said as
// any other failure: the iterators of the standard library would throw what no user understands.
#pragma once
#include <string>

namespace pagecast::cli {

/// All bytes. Throws Failure that says that `what`, such as "the profile p.json", cannot be read, and why; `advice` ends it.
std::string contentsOf(const std::string &path, const std::string &what, const std::string &advice);

} // namespace pagecast::cli
