// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The server is nbdkit's, with our plugin in it. This starts it, waits, and ends it.
#include "cli/commands/commands.h"
#include "cli/machine/address.h"
#include "cli/machine/memory.h"
#include "cli/programs/paths.h"
#include "cli/programs/scratch.h"
#include "cli/programs/server.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

constexpr char kSocket[] = "socket"; ///< in the private directory
constexpr unsigned kMostStarts = 16; ///< of nbdkit: what fails more often is no accident
constexpr uint64_t kLeastBlock = 4096, kMostBlock = 16 << 20, kLeastBlocks = 4;

/// A socket in the file system, which the server leaves there.
struct Socket {
  fs::path path;
  ~Socket() {
    std::error_code error;
    if (!path.empty()) fs::remove(path, error);
  }
};

void requireDirectory(const std::string &directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (!fs::exists(status)) throw Failure{"there is no directory '" + directory + "'"};
  if (!fs::is_directory(status)) throw Failure{"'" + directory + "' is no directory; name the one whose files are to be served"};
  if (access(directory.c_str(), R_OK | X_OK) != 0) throw Failure{"'" + directory + "' cannot be read: " + errorText(errno)};
}

uint64_t blockOf(const ServeOptions &options) {
  const uint64_t block = parseSize(options.block, "--block");
  if (block < kLeastBlock || block > kMostBlock || (block & (block - 1)))
    throw Failure{"--block '" + options.block + "' is not a power of two from 4K to 16M"};
  return block;
}

uint64_t cacheOf(const ServeOptions &options, uint64_t block) {
  const uint64_t cache = parseSize(options.cache, "--cache") / block * block, available = machineMemory().available;
  if (cache < kLeastBlocks * block)
    throw Failure{"--cache '" + options.cache + "' is too small: it must hold four blocks of " + showSize(block)};
  if (cache > available)
    throw Failure{"--cache '" + options.cache + "' is more than the " + showSize(available) + " of memory that are free"};
  return cache;
}

Address addressOf(const ServeOptions &options, const fs::path &folder) {
  const Address address = options.listen.empty() ? Address{(folder / kSocket).native(), "", 0} : parseAddress(options.listen);
  if (!address.isLocal() && options.tls.empty())
    throw Failure{"other machines can reach " + options.listen + "; serve it with --tls, or at 127.0.0.1 or a socket"};
  return address;
}

std::vector<std::string> tlsWords(const ServeOptions &options) {
  if (options.tls.empty()) return {};
  std::error_code error;
  const std::string path = fs::absolute(options.tls, error).native();
  if (fs::is_directory(path, error)) return {"--tls=require", "--tls-certificates=" + path};
  if (fs::is_regular_file(path, error)) return {"--tls=require", "--tls-psk=" + path};
  throw Failure{"--tls '" + options.tls + "' is neither a directory of certificates nor a file of keys"};
}

fs::path pluginFile() {
  const fs::path plugin = libraryDirectory() / "pagecast" / "nbdkit-pagecast-plugin.so";
  if (!fs::exists(plugin)) throw Failure{plugin.native() + " is missing; build Pagecast where nbdkit-plugin-dev is installed"};
  return plugin;
}

std::vector<std::string> commandOf(const ServeOptions &options, const Address &address, const fs::path &folder) {
  const auto server = findProgram("nbdkit");
  if (!server) throw Failure{"nbdkit, which serves, is not installed; apt install nbdkit"};
  std::error_code error;
  const uint64_t block = blockOf(options);
  std::vector<std::string> command = {server->native(), "--foreground", "--exit-with-parent",
                                      "--pidfile=" + (folder / "ready").native()};
  if (!options.writable) command.push_back("--readonly");
  if (address.socket.empty())
    command.insert(command.end(), {"--ipaddr=" + address.host, "--port=" + std::to_string(address.port)});
  else command.push_back("--unix=" + address.socket);
  for (const std::string &word : tlsWords(options)) command.push_back(word);
  command.insert(command.end(),
                 {pluginFile().native(), "dir=" + fs::canonical(options.directory, error).native(),
                  "cache=" + std::to_string(cacheOf(options, block)), "block=" + std::to_string(block),
                  "policy=" + options.policy, "latency=" + std::to_string(static_cast<int64_t>(options.latency * 1000 + 0.5)),
                  "rate=" + std::to_string(options.rate.empty() ? 0 : parseSize(options.rate, "--rate")),
                  "writable=" + std::string(options.writable ? "true" : "false"), "counts=" + (folder / "counts").native()});
  return command;
}

void announce(const ServeOptions &options, const std::string &uri) {
  if (options.json) std::printf("%s\n", nlohmann::json{{"uri", uri}, {"directory", options.directory}}.dump().c_str());
  else std::printf("serving %s at %s\n", options.directory.c_str(), uri.c_str());
  std::fflush(stdout);
}

void printRow(const std::string &name, const nlohmann::json &counts) {
  std::printf("%-24s", name.c_str());
  for (const char *column : {"hits", "late", "misses", "prefetches", "dropped", "duplicate", "unused"})
    std::printf(" %10llu", static_cast<unsigned long long>(counts.at(column)));
  std::printf(" %7llu/%llu\n", static_cast<unsigned long long>(counts.at("harmful_intra")),
              static_cast<unsigned long long>(counts.at("harmful_inter")));
}

/// What clients did; harmful prefetches are those that harmed the client itself, and others.
void printCounts(const nlohmann::json &counts) {
  std::printf("%-24s %10s %10s %10s %10s %10s %10s %10s %9s\n", "client", "hits", "late", "misses", "prefetches", "dropped",
              "duplicate", "unused", "harmful");
  for (const auto &client : counts.at("clients")) printRow(client.at("name"), client);
  printRow("all", counts.at("all"));
}

/// Waits for the end that somebody asked for. nbdkit 1.32 checks its socket when it answers, and aborts if another answer to the same
/// client has just failed: whoever kills one client must not end the server of all. Whether it ended without an error.
bool waitForEnd(Server &server, const fs::path &folder, const Socket &socket) {
  bool isClean = server.waitUntilEnd();
  for (unsigned starts = 1; server.hasAborted() && !server.wasAsked() && starts < kMostStarts; ++starts) {
    warn("nbdkit ended of a check of its own, and is started again; its cache is empty, and its counts begin anew");
    std::error_code error;
    fs::remove(folder / "ready", error);
    if (!socket.path.empty()) fs::remove(socket.path, error);
    server.startAgain();
    isClean = server.waitUntilReady(folder / "ready") && server.waitUntilEnd();
  }
  return isClean;
}

} // namespace

int serve(const ServeOptions &options) {
  requireDirectory(options.directory);
  std::signal(SIGPIPE, SIG_IGN); // who reads the results may have gone: the directory and the server must go all the same
  const ScratchFolder folder("serve", kSocket);
  const Address address = addressOf(options, folder.path());
  Server server(commandOf(options, address, folder.path()));
  if (!server.waitUntilReady(folder.path() / "ready")) {
    if (server.wasAsked()) return 0;
    throw Failure{"nbdkit did not start, and says why above"};
  }
  const Socket socket{address.socket};
  announce(options, address.uri("", !options.tls.empty()));
  const bool isClean = waitForEnd(server, folder.path(), socket);
  const nlohmann::json counts = nlohmann::json::parse(std::ifstream(folder.path() / "counts"), nullptr, false);
  if (counts.is_discarded())
    throw Failure{"nbdkit ended without the counts" + std::string(isClean ? "" : ", of a signal or an error")};
  if (options.json) std::printf("%s\n", counts.dump().c_str());
  else printCounts(counts);
  return isClean ? 0 : 1;
}

} // namespace pagecast::cli
