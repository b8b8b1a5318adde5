// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/machine/disk.h"
#include "cli/machine/filesystem.h"
#include "cli/programs/paths.h"
#include "cli/programs/process.h"
#include "cli/text/message.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <liburing.h>
#include <memory>
#include <random>
#include <sstream>
#include <unistd.h>
#include <vector>

namespace pagecast::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kLarge = 1u << 20; ///< bytes of a sequential request
constexpr uint64_t kSmall = 4096;     ///< bytes of a random one
constexpr unsigned kLargeDepth = 16;
constexpr unsigned kSmallDepth = 128;
constexpr uint64_t kMaxFile = uint64_t{4} << 30;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class File {
public:
  explicit File(int fd) : fd_(fd) {}
  ~File() { close(fd_); }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  int fd() const { return fd_; }

private:
  int fd_;
};

class Ring {
public:
  explicit Ring(unsigned depth) {
    if (const int error = io_uring_queue_init(depth, &ring_, 0); error < 0)
      throw Failure{"io_uring cannot be used to measure the disk: " + errorText(-error)};
  }
  ~Ring() { io_uring_queue_exit(&ring_); }
  Ring(const Ring &) = delete;
  Ring &operator=(const Ring &) = delete;
  io_uring *get() { return &ring_; }

private:
  io_uring ring_;
};

struct Buffers {
  Buffers(unsigned count, uint64_t size) : size_(size), memory_(static_cast<char *>(std::aligned_alloc(4096, count * size))) {
    if (!memory_) throw Failure{"there is no memory to measure the disk with"};
    // Random bytes: some disks and hosts store zeros without writing them.
    std::mt19937_64 random(1);
    for (uint64_t *p = reinterpret_cast<uint64_t *>(memory_.get()), *end = p + count * size / 8; p < end; ++p) *p = random();
  }
  char *at(unsigned index) { return memory_.get() + index * size_; }

private:
  struct Free {
    void operator()(char *p) const { std::free(p); }
  };
  uint64_t size_;
  std::unique_ptr<char, Free> memory_;
};

/// One stream of requests of one size, `depth` of them in flight.
struct Stream {
  int fd;
  bool writes;
  unsigned depth;
  uint64_t size;
  std::function<int64_t(uint64_t)> offsetOf; ///< of the nth request; negative = there is no nth
};

struct Moved {
  uint64_t requests = 0;
  double seconds = 0;
};

/// Runs a stream for `seconds` or to its end.
Moved drive(const Stream &stream, double seconds) {
  Ring ring(stream.depth);
  Buffers buffers(stream.depth, stream.size);
  Moved moved;
  uint64_t started = 0;
  unsigned inFlight = 0;
  const auto start = Clock::now();
  const auto submit = [&](unsigned buffer) {
    const int64_t offset = secondsSince(start) < seconds ? stream.offsetOf(started) : -1;
    if (offset < 0) return;
    io_uring_sqe *request = io_uring_get_sqe(ring.get());
    const auto prepare =
        stream.writes ? [](io_uring_sqe *s, int fd, char *b, unsigned n, uint64_t o) { io_uring_prep_write(s, fd, b, n, o); }
                      : [](io_uring_sqe *s, int fd, char *b, unsigned n, uint64_t o) { io_uring_prep_read(s, fd, b, n, o); };
    prepare(request, stream.fd, buffers.at(buffer), static_cast<unsigned>(stream.size), static_cast<uint64_t>(offset));
    io_uring_sqe_set_data64(request, buffer);
    ++started, ++inFlight;
  };
  for (unsigned buffer = 0; buffer < stream.depth; ++buffer) submit(buffer);
  while (inFlight) {
    io_uring_submit(ring.get());
    io_uring_cqe *done = nullptr;
    if (const int error = io_uring_wait_cqe(ring.get(), &done); error == -EINTR) continue;
    else if (error < 0) throw Failure{"io_uring failed while the disk was measured: " + errorText(-error)};
    const int result = done->res;
    const auto buffer = static_cast<unsigned>(io_uring_cqe_get_data64(done));
    io_uring_cqe_seen(ring.get(), done);
    --inFlight;
    if (result < 0) throw Failure{"direct I/O failed while the disk was measured: " + errorText(-result)};
    ++moved.requests;
    submit(buffer);
  }
  if (stream.writes) fdatasync(stream.fd);
  moved.seconds = secondsSince(start);
  return moved;
}

} // namespace

DiskRates measureDisk(const std::string &directory, double seconds, const std::function<void(const char *)> &progress) {
  const int fd = openNameless(directory, O_DIRECT);
  if (fd < 0) throw Failure{"direct I/O is not possible in " + directory + ": " + errorText(-fd)};
  const File file(fd);
  // Half of the free space at most: measuring must not fill the disk.
  const uint64_t room = std::min(checkBackingDirectory(directory).freeBytes / 2, kMaxFile) / kLarge;
  const auto within = [](uint64_t limit) {
    return [limit](uint64_t n) { return n < limit ? static_cast<int64_t>(n * kLarge) : -1; };
  };
  DiskRates rates;
  progress("sequential writes");
  const Moved written = drive({fd, true, kLargeDepth, kLarge, within(room)}, seconds * 0.4);
  if (written.requests == 0) throw Failure{"there is no room in " + directory + " to measure its disk"};
  rates.sequentialWrite = static_cast<double>(written.requests * kLarge) / written.seconds;
  progress("sequential reads");
  const Moved read = drive({fd, false, kLargeDepth, kLarge, within(written.requests)}, seconds * 0.3);
  rates.sequentialRead = static_cast<double>(read.requests * kLarge) / read.seconds;
  progress("random reads");
  std::mt19937_64 random(2);
  const uint64_t blocks = written.requests * (kLarge / kSmall);
  const auto anywhere = [&](uint64_t) { return static_cast<int64_t>(random() % blocks * kSmall); };
  const Moved jumped = drive({fd, false, kSmallDepth, kSmall, anywhere}, seconds * 0.3);
  rates.randomRead = static_cast<double>(jumped.requests) / jumped.seconds;
  return rates;
}

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
