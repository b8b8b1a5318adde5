// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/machine/address.h"
#include "cli/text/spelling.h"
#include "cli/text/message.h"
#include <filesystem>
#include <sys/un.h>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

constexpr size_t kLongestSocket = sizeof(sockaddr_un::sun_path) - 1;

Address parseSocket(const std::string &text) {
  std::error_code error;
  const fs::path path = fs::absolute(text, error);
  if (path.native().size() > kLongestSocket)
    throw Failure{"'" + text + "' is too long for a socket, which has " + std::to_string(kLongestSocket) +
                  " bytes at most; choose a shorter directory"};
  if (fs::exists(fs::symlink_status(path, error)))
    throw Failure{"'" + text + "' exists already; choose another path, or remove it if no server uses it"};
  if (!fs::is_directory(path.parent_path(), error))
    throw Failure{"'" + text + "' is in no directory; make " + path.parent_path().native() + " first"};
  return {path.native(), "", 0};
}

} // namespace

std::string Address::uri(const std::string &name, bool isEncrypted) const {
  const std::string scheme = isEncrypted ? "nbds" : "nbd";
  if (!socket.empty()) return scheme + "+unix:///" + name + "?socket=" + socket;
  const std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return scheme + "://" + shown + ":" + std::to_string(port) + "/" + name;
}

bool Address::isLocal() const {
  return !socket.empty() || host == "localhost" || host == "::1" || host.compare(0, 4, "127.") == 0;
}

Address parseAddress(const std::string &text) {
  if (text.find('/') != std::string::npos) return parseSocket(text);
  const size_t colon = text.rfind(':');
  const std::string digits = colon == std::string::npos ? "" : text.substr(colon + 1);
  std::string host = text.substr(0, colon);
  const bool isNumber = digits.size() <= 5 && isDigits(digits);
  const unsigned long port = isNumber ? std::stoul(digits) : 0;
  if (host.empty() || port == 0 || port > 65535)
    throw Failure{"'" + text + "' is no address; write a path with a slash, or HOST:PORT such as 127.0.0.1:10809"};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {"", host, static_cast<uint16_t>(port)};
}

} // namespace pagecast::cli
