// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One question to the host each, with what to do where the answer is no.
#pragma once
#include <string>

namespace pagecast::cli {

enum class Status { kOk, kWarn, kFail };

struct Check {
  std::string name;
  Status status = Status::kOk;
  std::string detail;
  std::string advice; ///< what to do; empty when all is well
};

Check probeKernel();
Check probeUserfaultfd();
Check probeUserfaultfdFeatures();
Check probeIoUring();
Check probeProcessMadvise();
Check probeBackEnds(); ///< which kinds of data can be served here
Check probeControlGroup();
Check probeMemory();
Check probeSwap();
Check probeBacking(const std::string &directory);
Check probeDirectIo(const std::string &directory);
Check probeClang();
Check probeFlang(); ///< its lack is only a warning
Check probeRuntime();

} // namespace pagecast::cli
