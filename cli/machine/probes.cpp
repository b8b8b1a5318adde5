// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/machine/probes.h"
#include "cli/machine/filesystem.h"
#include "cli/machine/memory.h"
#include "cli/programs/compiler.h"
#include "cli/programs/paths.h"
#include "cli/programs/process.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <liburing.h>
#include <linux/aio_abi.h>
#include <linux/userfaultfd.h>
#include <optional>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <utility>
#include <vector>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

namespace pagecast::cli {
namespace {

/// A file descriptor that closes itself.
class Fd {
public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd &) = delete;
  Fd &operator=(const Fd &) = delete;
  Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

private:
  int fd_;
};

/// An anonymous mapping of some pages, touched.
class Mapping {
public:
  explicit Mapping(size_t bytes)
      : bytes_(bytes), address_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Mapping() {
    if (address_ != MAP_FAILED) munmap(address_, bytes_);
  }
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  void *address() const { return address_; }
  size_t bytes() const { return bytes_; }

private:
  size_t bytes_;
  void *address_;
};

Fd openUserfaultfd(int flags) { return Fd(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | flags))); }

Fd openUserfaultfdDevice() {
  const Fd device(open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
  return Fd(device ? ioctl(device.get(), USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK) : -1);
}

/// The best that this process may open.
Fd openAnyUserfaultfd() {
  if (Fd full = openUserfaultfd(0)) return full;
  if (Fd device = openUserfaultfdDevice()) return device;
  return openUserfaultfd(UFFD_USER_MODE_ONLY);
}

std::string firstWord(const char *path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

} // namespace

// What the pager alone needs is not indispensable: without it large data live in a file (probeBackEnds).

Check probeKernel() {
  utsname info{};
  uname(&info);
  int major = 0, minor = 0;
  std::sscanf(info.release, "%d.%d", &major, &minor);
  Check out{"kernel", Status::kOk, std::string(info.sysname) + " " + info.release, ""};
  if (major * 1000 + minor < 5007) {
    out.status = Status::kWarn;
    out.advice = "memory cannot be write-protected by userfaultfd before Linux 5.7; use a newer kernel";
  }
  return out;
}

Check probeUserfaultfd() {
  const std::string sysctl = firstWord("/proc/sys/vm/unprivileged_userfaultfd");
  const std::string known = sysctl.empty() ? "" : " (vm.unprivileged_userfaultfd is " + sysctl + ")";
  const std::string remedy = "as root: sysctl -w vm.unprivileged_userfaultfd=1, or make /dev/userfaultfd readable and "
                             "writable for the user";
  if (openUserfaultfd(0)) return {"userfaultfd", Status::kOk, "all faults" + known, ""};
  const int error = errno;
  if (openUserfaultfdDevice()) return {"userfaultfd", Status::kOk, "all faults, by /dev/userfaultfd" + known, ""};
  if (openUserfaultfd(UFFD_USER_MODE_ONLY))
    return {"userfaultfd", Status::kWarn, "faults of the program only, not of system calls, which is not enough" + known, remedy};
  return {"userfaultfd", Status::kWarn, "refused: " + errorText(error) + known,
          error == ENOSYS ? "use a kernel built with CONFIG_USERFAULTFD" : remedy};
}

Check probeUserfaultfdFeatures() {
  const std::string name = "userfaultfd features";
  const Fd fd = openAnyUserfaultfd();
  if (!fd) return {name, Status::kWarn, "userfaultfd cannot be opened", "see userfaultfd"};
  uffdio_api api{UFFD_API, 0, 0};
  if (ioctl(fd.get(), UFFDIO_API, &api) != 0)
    return {name, Status::kWarn, "the handshake failed: " + errorText(errno), "use a newer kernel"};
  const Mapping memory(1 << 16);
  uffdio_register request{};
  request.range = {reinterpret_cast<uintptr_t>(memory.address()), memory.bytes()};
  request.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP;
  if (ioctl(fd.get(), UFFDIO_REGISTER, &request) != 0)
    return {name, Status::kWarn,
            "anonymous memory cannot be registered for missing pages and write-protection: " + errorText(errno),
            "use Linux 5.7 or newer on a machine whose kernel has userfaultfd write-protection"};
  // Bits by number: the C library's headers may be older than the kernel.
  const auto has = [&](unsigned bit) { return (api.features >> bit & 1) != 0; };
  std::string detail = "missing pages, write-protection";
  for (const auto &[bit, text] : {std::pair{10u, "minor faults"},
                                  {13u, "write-protection of absent pages"},
                                  {15u, "asynchronous write-protection"},
                                  {16u, "moving pages"}})
    if (has(bit)) detail += std::string(", ") + text;
  return {name, Status::kOk, detail, ""};
}

/// Whether there is the kernel's older queue for direct I/O, which the pager uses where io_uring is refused.
static bool hasOlderQueue() {
  aio_context_t queue = 0;
  if (syscall(SYS_io_setup, 8, &queue) != 0) return false;
  syscall(SYS_io_destroy, queue);
  return true;
}

Check probeIoUring() {
  io_uring ring;
  const int error = io_uring_queue_init(8, &ring, 0);
  if (error == 0) {
    io_uring_queue_exit(&ring);
    return {"io_uring", Status::kOk, "available", ""};
  }
  const std::string disabled = firstWord("/proc/sys/kernel/io_uring_disabled");
  return {"io_uring", Status::kWarn,
          "refused: " + errorText(-error) + (hasOlderQueue() ? "; the older queue (Linux AIO) is used" : ""),
          !disabled.empty() && disabled != "0" ? "as root: sysctl -w kernel.io_uring_disabled=0"
                                               : "use Linux 5.6 or newer, and allow io_uring in the container's seccomp profile"};
}

Check probeProcessMadvise() {
  const Mapping memory(1 << 16);
  const Fd self(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  const iovec range{memory.address(), memory.bytes()};
  const auto advise = [&](int advice) { return self && syscall(SYS_process_madvise, self.get(), &range, 1, advice, 0) >= 0; };
  if (advise(MADV_DONTNEED)) return {"process_madvise", Status::kOk, "any advice", ""};
  if (advise(MADV_COLD)) return {"process_madvise", Status::kOk, "some advice (any since Linux 6.13)", ""};
  return {"process_madvise", Status::kWarn, "refused: " + errorText(errno),
          "nothing needs to be done; giving back memory takes more system calls. Linux 5.10 and newer have it"};
}

Check probeBackEnds() {
  const bool queue = probeIoUring().status == Status::kOk || hasOlderQueue();
  const bool faults = probeUserfaultfd().status == Status::kOk;
  if (faults && queue) return {"back ends", Status::kOk, "pager for memory, advice for mapped files", ""};
  return {
      "back ends", Status::kWarn,
      "advice, for mapped files and for memory in a file: sweeps and sorts take up to twice as long as with the pager, scattered "
      "stores far longer",
      faults  ? "see io_uring"
      : queue ? "see userfaultfd"
              : "see userfaultfd and io_uring"};
}

Check probeControlGroup() {
  const ControlGroup group = memoryControlGroup();
  if (group.version == 0)
    return {"cgroup", Status::kWarn, "no memory controller is visible",
            "mount /sys/fs/cgroup, or give every program its memory with pagecast run --memory"};
  return {"cgroup", Status::kOk,
          "version " + std::to_string(group.version) + ", " +
              (group.limit ? "memory limit " + showSize(*group.limit) : std::string("no memory limit")),
          ""};
}

Check probeMemory() {
  const Memory memory = machineMemory();
  const std::string detail = showSize(memory.available) + " available of " + showSize(memory.total);
  if (memory.available < 256u << 20)
    return {"memory", Status::kWarn, detail, "end other programs, or keep the budget small with --memory"};
  return {"memory", Status::kOk, detail, ""};
}

Check probeSwap() {
  const Memory memory = machineMemory();
  // Pagecast does without; it matters only to whom wants to compare.
  return {"swap", Status::kOk,
          memory.swapTotal ? showSize(memory.swapFree) + " free of " + showSize(memory.swapTotal) : "none (not needed)", ""};
}

Check probeBacking(const std::string &directory) {
  try {
    const DirectoryInfo info = checkBackingDirectory(directory);
    const std::string detail = directory + ", " + info.type + ", " + showSize(info.freeBytes) + " free";
    if (info.freeBytes < kLittleSpace) return {"backing", Status::kWarn, detail, "make room: data beyond memory must fit there"};
    return {"backing", Status::kOk, detail, ""};
  } catch (const Failure &failure) {
    return {"backing", Status::kFail, failure.sentence, "name a directory on a disk: PAGECAST_BACKING=DIR or --backing DIR"};
  }
}

Check probeDirectIo(const std::string &directory) {
  const Fd file(openNameless(directory, O_DIRECT));
  if (file) return {"direct I/O", Status::kOk, "works in " + directory, ""};
  return {"direct I/O", Status::kFail, "refused in " + directory,
          "name a directory on a local disk (ext4, xfs): PAGECAST_BACKING=DIR or --backing DIR"};
}

/// Whether a compiler translates nothing, from its standard input, with the plugin in it.
static bool pluginLoads(const Compiler &compiler, const std::string &language) {
  return runProgram({compiler.path, "-fpass-plugin=" + passPlugin(compiler.llvmMajor).string(), "-O1", "-c", "-x", language, "-",
                     "-o", "/dev/null"},
                    Keep::kErrors)
             .status == 0;
}

/// `name` is also the name of the Debian package, with the version.
static Check probeCompiler(const std::string &name, Language language, const std::string &languageName) {
  const std::string package = name + "-" + std::to_string(kLlvmMajor);
  try {
    const Compiler compiler = findCompiler(language);
    const std::string detail = compiler.path + " " + compilerVersion(compiler.path);
    if (access(passPlugin(compiler.llvmMajor).c_str(), R_OK) != 0)
      return {name, Status::kFail, detail + "; the pass plugin is not at " + passPlugin(compiler.llvmMajor).string(),
              "build or install Pagecast again"};
    if (!pluginLoads(compiler, languageName))
      return {name, Status::kFail, detail + ", but the pass plugin does not load",
              "use Debian's " + package + ", or build Pagecast against the LLVM of this " + name};
    return {name, Status::kOk, detail + ", the pass plugin loads", ""};
  } catch (const Failure &failure) {
    // Programs are run as they are without any compiler, but one that was named should be right.
    const bool named = environment(language == Language::kC ? "PAGECAST_CLANG" : "PAGECAST_FLANG").has_value();
    return {name, named ? Status::kFail : Status::kWarn, failure.sentence,
            "to compile with hints, install the package " + package};
  }
}

Check probeClang() { return probeCompiler("clang", Language::kC, "c"); }

Check probeFlang() {
  Check check = probeCompiler("flang", Language::kFortran, "f95");
  // Without Fortran there is still C.
  if (check.status == Status::kFail) check.status = Status::kWarn;
  return check;
}

Check probeRuntime() {
  setenv("PAGECAST_ENABLE", "0", 1); // only to be loaded, not to work in this process
  if (dlopen(runtimeLibrary().c_str(), RTLD_LAZY | RTLD_LOCAL)) return {"runtime", Status::kOk, runtimeLibrary().string(), ""};
  return {"runtime", Status::kFail, dlerror(), "build or install Pagecast again"};
}

} // namespace pagecast::cli
