// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/machine/server_export.h"

#include "cli/programs/paths.h"
#include "cli/programs/process.h"
#include "cli/text/message.h"
#include <sstream>

namespace pagecast::cli {

ExportRates measureExport(const std::string &address, double seconds) {
  const std::string helper = libraryDirectory() / "pagecast" / "pagecast-nbd";
  const Finished measured = runProgram({helper, "measure", address, std::to_string(seconds)}, Keep::kOutput);
  ExportRates rates;
  std::istringstream words(measured.text);
  if (measured.status == 0 && words >> rates.bytes >> rates.connections >> rates.sequentialRead >> rates.randomRead) return rates;
  const std::string why = measured.text.substr(0, measured.text.find('\n'));
  throw Failure{why.empty() ? "the helper for servers, " + helper + ", does not run" : why};
}

} // namespace pagecast::cli
