// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starting. The process that the user started becomes the program: its number, parent, group, terminal and end are the
// program's, by construction. The controller is a child of it that no wait call sees, in a session of its own.
#include "speculate/control/controller.h"
#include "speculate/control/options.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <linux/seccomp.h>
#include <new>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

constexpr size_t kStack = 256 << 10; ///< bytes, of the controller's first thread

struct Pipe {
  int ends[2] = {-1, -1};
  bool make() { return pipe2(ends, O_CLOEXEC) == 0; }
};

/// Keeps standard error for a warning, `keep` and nothing else of what the program has open: a pipe must not stay open
/// because the controller has it.
void close_all_but(int keep, int also) {
  const int null = open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO})
    if (null >= 0) dup2(null, standard);
  int low = keep < also ? keep : also, high = keep < also ? also : keep;
  if (low < 0) low = high;
  unsigned next = STDERR_FILENO + 1;
  for (const int kept : {low, high}) {
    if (kept < static_cast<int>(next)) continue;
    if (static_cast<unsigned>(kept) > next) syscall(SYS_close_range, next, kept - 1, 0);
    next = static_cast<unsigned>(kept) + 1;
  }
  syscall(SYS_close_range, next, ~0u, 0);
}

/// What the controller's process begins with.
struct Beginning {
  pid_t program;
  const Options &options;
  Pipe gate; ///< its end comes when the program has begun; a byte in it says that there is none
  int told;  ///< where the process that stands for the program tells how it ended; -1: there is none
  int done;  ///< closed when all has been written
  int line[2] = {-1, -1}; ///< for accounts: the program says that it may be traced now, and hears whether it is
};

/// How the program ended, as a shell tells it; -1 if nobody is there who knows.
int64_t status_from(int told) {
  int status;
  ssize_t length = 0;
  while (told >= 0 && (length = read(told, &status, sizeof status)) < 0 && errno == EINTR) {}
  if (length != sizeof status) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The program has ended, and nobody waits for the controller. But its parent does for the program, often on this processor, and the
/// controller was woken first: to give its memory back takes 0.1 ms, for which only an idle processor is used. A reader of standard
/// error must not have to wait for that.
[[noreturn]] void leave() {
  close(STDERR_FILENO);
  const sched_param none = {};
  sched_setscheduler(0, SCHED_IDLE, &none);
  _exit(0);
}

/// The program has begun.
[[noreturn]] void look_after(const Beginning &begin, bool traced) {
  setsid();
  prctl(PR_SET_NAME, "pagecast-watch");
  close_all_but(begin.told, begin.done);
  const Options &options = begin.options;
  void *const memory = mmap(nullptr, sizeof(Controller), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) _exit(1);
  Controller &controller = *new (memory) Controller;
  Ledger ledger;
  ReadsTracer tracer(&ledger);
  if (traced) controller.account(&ledger, &tracer);
  if (options.eager) controller.be_eager();
  controller.run(begin.program);
  if (options.stats.empty() && !options.summary && !options.account) leave();
  controller.statistics().finished = true;
  controller.statistics().status = status_from(begin.told);
  if (!options.stats.empty() && !write_statistics(controller.statistics(), options.stats.c_str()))
    fprintf(stderr, "pagecast: warning: statistics cannot be written to %s: %s\n", options.stats.c_str(), strerror(errno));
  if (options.account && !traced)
    fprintf(stderr, "pagecast: warning: there is no account: the host does not allow the program to be traced\n");
  if (options.summary || options.account) print_summary(controller.statistics(), STDERR_FILENO);
  _exit(0);
}

/// In the controller's process, all signals blocked. Until the program has begun this shares memory with the process that
/// becomes it, and so does nothing but wait.
int control(void *argument) {
  const Beginning &begin = *static_cast<const Beginning *>(argument);
  char byte;
  syscall(SYS_close, begin.gate.ends[1]);
  bool traced = false;
  if (begin.options.account) {
    syscall(SYS_close, begin.line[1]);
    if (syscall(SYS_read, begin.line[0], &byte, 1) == 1) traced = ReadsTracer::attach(begin.program);
    syscall(SYS_close, begin.line[0]);
  }
  if (syscall(SYS_read, begin.gate.ends[0], &byte, 1) != 0) syscall(SYS_exit_group, 0);
  look_after(begin, traced);
}

/// Starts the controller for this process, which is to become the program. Its number, or -1: the program runs without one. Memory is
/// shared until then, and the controller's alone afterwards: to copy page tables would take as long as all else here.
pid_t start_controller(Beginning &begin) {
  void *const stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED || !begin.gate.make()) return -1;
  if (begin.options.account && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, begin.line)) return -1;
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  // No signal at its end: not a child that the program's wait calls would find.
  const int child = clone(control, static_cast<char *>(stack) + kStack, CLONE_VM, &begin);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return -1;
  prctl(PR_SET_PTRACER, child, 0, 0, 0); // where only ancestors may trace
  if (begin.options.account) {
    char byte = 0;
    close(begin.line[0]);
    if (write(begin.line[1], &byte, 1) == 1 && read(begin.line[1], &byte, 1) < 0) {} // until it is traced, or cannot be
    close(begin.line[1]);
  }
  return child;
}

/// Becomes the program. Returns the errno of the failure.
int become(const Options &options, int told, int done) {
  std::vector<char *> arguments;
  for (const std::string &argument : options.command) arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  Beginning begin = {getpid(), options, {}, told, done};
  const pid_t controller = start_controller(begin);
  if (controller < 0) fprintf(stderr, "pagecast: warning: the program runs without hints: %s\n", strerror(errno));
  execvp(arguments[0], arguments.data());
  const int failure = errno;
  // It reads `begin` until then.
  if (controller >= 0 && write(begin.gate.ends[1], "x", 1) == 1) waitpid(controller, nullptr, __WALL);
  return failure;
}

pid_t program_of_front = 0;

/// Signals that are meant for the program, and reach the process that stands for it. What the terminal sends, both get.
void hand_on(int signal, siginfo_t *info, void *) {
  if (info->si_code != SI_KERNEL && info->si_pid != program_of_front) kill(program_of_front, signal);
}

void stand_for(pid_t program) {
  program_of_front = program;
  struct sigaction action = {};
  action.sa_sigaction = hand_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT, SIGPIPE})
    sigaction(signal, &action, nullptr);
  signal(SIGTSTP, SIG_IGN); // it stops when the program has stopped
  signal(SIGTTIN, SIG_IGN);
  signal(SIGTTOU, SIG_IGN);
}

/// Ends as the program did.
[[noreturn]] void end_like(int status) {
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const rlimit none = {0, 0}; // the program has left its core, if any
  setrlimit(RLIMIT_CORE, &none);
  ::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
  _exit(128 + signal);
}

/// Waits for the program, stops when it stops, tells the controller how it ended, and waits for what that has to say.
[[noreturn]] void front(pid_t program, int tell, int done) {
  int status = 0;
  for (;;) {
    const pid_t found = waitpid(program, &status, WUNTRACED);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) _exit(1);
    if (!WIFSTOPPED(status)) break;
    raise(SIGSTOP);
    kill(program, SIGCONT);
  }
  signal(SIGPIPE, SIG_IGN); // the controller may be gone
  if (write(tell, &status, sizeof status) < 0) {}
  char byte;
  while (read(done, &byte, 1) < 0 && errno == EINTR) {}
  end_like(status);
}

} // namespace

int start(const Options &options) {
  if (options.stats.empty() && !options.summary && !options.account) return become(options, -1, -1);
  Pipe ended, done, failed;
  if (!ended.make() || !done.make() || !failed.make()) return errno;
  sigset_t all, before; // what is sent before the program has begun is handed on when it has
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t program = fork();
  if (program < 0) return errno;
  if (program == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    close(done.ends[0]);
    close(ended.ends[1]);
    const int failure = become(options, ended.ends[0], done.ends[1]);
    if (write(failed.ends[1], &failure, sizeof failure) < 0) _exit(127);
    _exit(0);
  }
  close(ended.ends[0]);
  close(done.ends[1]);
  close(failed.ends[1]);
  int failure = 0;
  if (read(failed.ends[0], &failure, sizeof failure) == sizeof failure) { // it ends by closing when the program begins
    waitpid(program, nullptr, 0);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return failure;
  }
  stand_for(program);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  front(program, ended.ends[1], done.ends[0]);
}

void watch(int program) {
  const Options none;
  look_after({program, none, {}, -1, -1}, false);
}

bool host_has_landlock() { return has_landlock(); }

std::string host_refusal(std::string *advice) {
  const uint32_t trap = SECCOMP_RET_TRAP;
  if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &trap)) {
    *advice = "allow the seccomp system call: in a container, a profile that has it";
    return "seccomp filters are not allowed";
  }
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const bool traced = child > 0 && syscall(SYS_ptrace, 0x4206 /* PTRACE_SEIZE */, child, 0L, 0L) == 0;
  if (child > 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  if (traced && facts_of(getpid(), getpid()).filtered) { // which programs inherit from whoever starts them
    *advice = "in a container, start it without a seccomp profile, as by --security-opt seccomp=unconfined";
    return "programs have a seccomp filter already";
  }
  if (traced) return "";
  *advice =
      "set kernel.yama.ptrace_scope to 0 or 1; in a container, give it --cap-add SYS_PTRACE or a profile that allows ptrace";
  return "programs cannot be traced";
}

} // namespace pagecast::speculate
