// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plugin of nbdkit: what its server asks is handed to the I/O node. NBD's cache request is the prefetch, which binds
// no one to anything. The server calls from several threads at a time.
#define NBDKIT_API_VERSION 2
#include "storage/node.h"
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <csignal>
#include <nbdkit-plugin.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

namespace {

using namespace pagecast::storage;

constexpr const char *kCountsExport = "pagecast:counts";
constexpr const char *kClientMark = "?client=";
constexpr unsigned kMostListed = 10000; // as many as the protocol's server sends

NodeOptions options;
std::string counts_file;
Node *node;
std::thread watcher;
std::atomic<bool> is_over{false};
sem_t ending; // the server has been asked to end
struct sigaction servers[NSIG]; // what the server does at signals

/// A connection: a file in the name of a client, or what the counts were when it was opened.
struct Connection {
  File *file = nullptr;
  uint32_t client = 0;
  std::string counts;
  bool is_writable = false;
};

int bad(const std::string &sentence) {
  nbdkit_error("%s", sentence.c_str());
  return -1;
}

int config(const char *key, const char *value) {
  const std::string name = key;
  if (name == "dir") options.directory = value;
  else if (name == "counts") counts_file = value;
  else if (name == "cache" || name == "block") {
    const int64_t bytes = nbdkit_parse_size(value);
    if (bytes < 0) return -1;
    if (name == "cache") options.cache = uint64_t(bytes);
    else if (bytes < 4096 || bytes > (16 << 20) || (bytes & (bytes - 1))) return bad("block: a power of two from 4K to 16M");
    else options.block = uint32_t(bytes);
  } else if (name == "latency") {
    uint32_t microseconds;
    if (nbdkit_parse_uint32_t("latency", value, &microseconds) != 0) return -1;
    options.timing.latency = microseconds;
  } else if (name == "rate") {
    const int64_t bytes = nbdkit_parse_size(value);
    if (bytes < 0) return -1;
    options.timing.rate = uint64_t(bytes);
  } else if (name == "writable") {
    const int is_writable = nbdkit_parse_bool(value);
    if (is_writable < 0) return -1;
    options.is_writable = is_writable != 0;
  } else if (name == "policy" && std::string(value) == "aging") options.policy = pagecast::core::StoragePolicy::kAging;
  else if (name == "policy" && std::string(value) == "2q") options.policy = pagecast::core::StoragePolicy::kTwoQueues;
  else if (name == "policy") return bad("policy: aging or 2q");
  else return bad("there is no parameter " + name);
  return 0;
}

int config_complete() { return options.directory.empty() ? bad("dir is missing: the directory whose files are served") : 0; }

int get_ready() {
  node = new Node;
  const std::string refusal = node->prepare(options);
  return refusal.empty() ? 0 : bad(refusal);
}

/// Ends the reading side of every connection: requests under way are answered, and then the server is done with it.
void end_connections() {
  DIR *open = opendir("/proc/self/fd");
  if (!open) return;
  while (const dirent *entry = readdir(open)) {
    const int fd = std::atoi(entry->d_name);
    sockaddr_storage peer = {};
    socklen_t length = sizeof peer;
    if (fd > STDERR_FILENO && getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &length) == 0) shutdown(fd, SHUT_RD);
  }
  closedir(open);
}

/// The server, asked to end, would wait until its clients have gone, for ever if they do not: they are sent away.
void watch_for_the_end() {
  constexpr long kAgain = 20'000'000; // nanoseconds: a connection may just have been made
  while (sem_wait(&ending) != 0) {}
  for (timespec pause = {0, kAgain}; !is_over; nanosleep(&pause, nullptr)) end_connections();
}

void on_signal(int signal) {
  sem_post(&ending);
  servers[signal].sa_handler(signal);
}

/// Has the watcher hear of the signals at which the server ends.
void listen_to_signals() {
  sem_init(&ending, 0, 0);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    struct sigaction &server = servers[signal];
    if (sigaction(signal, nullptr, &server) != 0 || (server.sa_flags & SA_SIGINFO)) continue;
    if (server.sa_handler == SIG_IGN || server.sa_handler == SIG_DFL) continue;
    struct sigaction ours = server;
    ours.sa_handler = on_signal;
    sigaction(signal, &ours, nullptr);
  }
}

int after_fork() {
  node->start();
  listen_to_signals();
  watcher = std::thread(watch_for_the_end);
  return 0;
}

/// Of a client that does not give its name: where it comes from.
std::string peer() {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  char text[INET6_ADDRSTRLEN] = "";
  if (nbdkit_peer_name(reinterpret_cast<sockaddr *>(&address), &length) != 0) return "unknown";
  if (address.ss_family == AF_INET) {
    const auto *in = reinterpret_cast<const sockaddr_in *>(&address);
    return std::string(inet_ntop(AF_INET, &in->sin_addr, text, sizeof text)) + ":" + std::to_string(ntohs(in->sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto *in = reinterpret_cast<const sockaddr_in6 *>(&address);
    return "[" + std::string(inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof text)) +
           "]:" + std::to_string(ntohs(in->sin6_port));
  }
  return "process " + std::to_string(nbdkit_peer_pid());
}

void *open_export(int is_readonly) {
  std::string name = nbdkit_export_name();
  if (name == kCountsExport) return new Connection{nullptr, 0, node->counts(false), false};
  const size_t at = name.rfind(kClientMark);
  const std::string client = at == std::string::npos ? peer() : name.substr(at + strlen(kClientMark));
  name = name.substr(0, at);
  File *file = nullptr;
  int error = name.empty() ? -ENOENT : node->files().open(name, &file);
  bool is_writable = !error && node->is_writable() && !is_readonly;
  if (is_writable) is_writable = node->files().write_to(name, file) == 0;
  if (error) {
    nbdkit_error("'%s' cannot be served: %s", name.c_str(), error == -EXDEV ? "it leads out of the directory" : strerror(-error));
    nbdkit_set_error(-error);
    return nullptr;
  }
  return new Connection{file, node->client(client), "", is_writable};
}

void close_export(void *handle) {
  auto *connection = static_cast<Connection *>(handle);
  if (connection->file) node->files().close(connection->file);
  delete connection;
}

int64_t get_size(void *handle) {
  const auto *connection = static_cast<Connection *>(handle);
  return int64_t(connection->file ? connection->file->size : connection->counts.size());
}

int read_export(void *handle, void *buffer, uint32_t count, uint64_t offset, uint32_t) {
  auto *connection = static_cast<Connection *>(handle);
  if (!connection->file) {
    std::memcpy(buffer, connection->counts.data() + offset, count);
    return 0;
  }
  const int error = node->read(*connection->file, buffer, count, offset, connection->client);
  if (!error) return 0;
  nbdkit_error("the disk does not give %u bytes at %llu", count, static_cast<unsigned long long>(offset));
  nbdkit_set_error(-error);
  return -1;
}

int failed(int error, const char *what, uint32_t count, uint64_t offset) {
  nbdkit_error("the disk does not %s %u bytes at %llu: %s", what, count, static_cast<unsigned long long>(offset),
               strerror(-error));
  nbdkit_set_error(-error);
  return -1;
}

int write_export(void *handle, const void *buffer, uint32_t count, uint64_t offset, uint32_t) {
  auto *connection = static_cast<Connection *>(handle);
  const int error = node->write(*connection->file, buffer, count, offset, connection->client);
  return error ? failed(error, "take", count, offset) : 0;
}

int flush_export(void *handle, uint32_t) {
  auto *connection = static_cast<Connection *>(handle);
  const int error = connection->file ? node->flush(*connection->file) : 0;
  return error ? failed(error, "keep", 0, 0) : 0;
}

int is_writable(void *handle) { return static_cast<Connection *>(handle)->is_writable; }

int cache_export(void *handle, uint32_t count, uint64_t offset, uint32_t) {
  auto *connection = static_cast<Connection *>(handle);
  if (connection->file) node->prefetch(*connection->file, count, offset, connection->client);
  return 0;
}

int list_exports(int, int, nbdkit_exports *exports) {
  node->files().list(kMostListed, [&](const std::string &name) { nbdkit_add_export(exports, name.c_str(), nullptr); });
  return 0;
}

/// Beside the file first, so that who waits for it never sees half of it.
void cleanup() {
  is_over = true;
  if (watcher.joinable()) {
    sem_post(&ending);
    watcher.join();
  }
  if (counts_file.empty() || !node) return;
  const std::string text = node->counts(true), beside = counts_file + ".new";
  FILE *file = std::fopen(beside.c_str(), "w");
  bool is_written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file) is_written = std::fclose(file) == 0 && is_written;
  if (!is_written || std::rename(beside.c_str(), counts_file.c_str()) != 0)
    nbdkit_error("the counts cannot be written to %s: %s", counts_file.c_str(), strerror(errno));
}

void unload() {
  delete node;
  node = nullptr;
}

/// What is asked for in these pieces is asked for once.
int block_size(void *, uint32_t *minimum, uint32_t *preferred, uint32_t *maximum) {
  *minimum = 1;
  *preferred = options.block;
  *maximum = ~0u;
  return 0;
}

int yes(void *) { return 1; }
int cache_is_ours(void *) { return NBDKIT_CACHE_NATIVE; }

nbdkit_plugin make_plugin() {
  nbdkit_plugin plugin = {};
  plugin.name = "pagecast";
  plugin.longname = "Pagecast's storage cache";
  plugin.description = "Serves the files of a directory through one cache that all clients share.";
  plugin.config_help =
      "dir=DIR (required), cache=150M, block=64K, policy=aging|2q, writable=true, latency=MICROSECONDS, rate=BYTES, counts=FILE";
  plugin.config = config;
  plugin.config_complete = config_complete;
  plugin.magic_config_key = "dir";
  plugin.get_ready = get_ready;
  plugin.after_fork = after_fork;
  plugin.list_exports = list_exports;
  plugin.open = open_export;
  plugin.close = close_export;
  plugin.get_size = get_size;
  plugin.block_size = block_size;
  plugin.pread = read_export;
  plugin.pwrite = write_export;
  plugin.flush = flush_export;
  plugin.can_write = is_writable;
  plugin.can_cache = cache_is_ours;
  plugin.cache = cache_export;
  plugin.can_multi_conn = yes;
  plugin.cleanup = cleanup;
  plugin.unload = unload;
  return plugin;
}

nbdkit_plugin plugin = make_plugin();

} // namespace

NBDKIT_REGISTER_PLUGIN(plugin)
