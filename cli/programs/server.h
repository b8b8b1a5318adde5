// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that runs until this one is asked to end: by an interruption, a hangup or a termination, which it gets too.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <signal.h>
#include <string>
#include <vector>

namespace pagecast::cli {

class Server {
public:
  /// Starts `command`, whose first word is a path; throws Failure when it cannot.
  explicit Server(const std::vector<std::string> &command);
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;
  /// Ends it, if it runs.
  ~Server();

  /// Whether it made the file `ready`, before it ended.
  bool waitUntilReady(const std::filesystem::path &ready);
  /// Whether it ended by itself, without an error.
  bool waitUntilEnd();
  /// It found something wrong with itself, and ended of that.
  bool hasAborted() const;
  /// Starts the same command, after it has ended.
  void startAgain();
  /// A signal asked this program to end.
  bool wasAsked() const { return askedAt_.has_value(); }

private:
  void start();
  void takeSignal(long milliseconds);
  void ask();
  void look();

  std::vector<std::string> command_;
  pid_t child_ = -1; ///< -1 once it has ended
  int status_ = 0;
  std::optional<std::chrono::steady_clock::time_point> askedAt_; ///< first: who asks again does not want to wait
  sigset_t awaited_, before_;
};

} // namespace pagecast::cli
