// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the file `pagecast` begins, before the C library. That takes 0.3 ms to begin, most of it instructions (cpuid) that a virtual
// machine must answer, and the program does the same again. So `pagecast speculate PROGRAM` without options becomes the program from
// here. Its controller is cloned first, waits until the program has begun, and only then begins the C library for itself.
//
// Everything else, and a program that is not found at once, goes on to the C library's own beginning as if nothing had happened.
//
// Nothing of the C library may be used here: neither a function nor a variable of a thread. Until the program has begun, the
// controller's process shares memory with it, and so does nothing but wait. It waits for what the kernel does when a thread leaves the
// memory that others share with it: it clears a word that the thread has named, and wakes who waits for it. A pipe would cost 15 us.
//
// The kernel begins a process on its parent's processor, and looks for an idle one when a program begins: it would move the program,
// away from its caches, and leave the controller. So the controller is moved first.
#include "cli/entry.h"
#include <linux/futex.h>
#include <linux/prctl.h>
#include <sys/syscall.h>

namespace {

constexpr long kWaitAll = 0x40000000, kSetMask = 2;
constexpr unsigned long kAllSignals = ~(3ul << 31); ///< but the C library's own two
constexpr long kNoFile = -2, kNoPermission = -13, kNoDirectory = -20;
constexpr int kLongestPath = 4096;
constexpr int kBegun = 0, kUndecided = 1, kNoProgram = 2;
constexpr int kProcessors = 8192; ///< as many as Linux can have
constexpr int kBits = 64;

int state = kUndecided; ///< of the program; the kernel writes kBegun
unsigned long allowed[kProcessors / kBits]; ///< processors that the program may use, and so its controller
unsigned long others[kProcessors / kBits]; ///< all of these but the one that it begins on
long allowed_bytes; ///< how much of them the kernel has; 0 or less: it does not tell
alignas(16) char stack[4096]; ///< the controller's until then
char path[kLongestPath];

long call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
  long result;
  register long fourth asm("r10") = d;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return result;
}

long address(const void *of) { return reinterpret_cast<long>(of); }

bool is_same(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

const char *last_part(const char *name) {
  const char *last = name;
  for (; *name; name++)
    if (*name == '/') last = name + 1;
  return last;
}

const char *value_of(char **environment, const char *name) {
  for (; *environment; environment++) {
    const char *at = *environment, *wanted = name;
    while (*wanted && *at == *wanted) at++, wanted++;
    if (!*wanted && *at == '=') return at + 1;
  }
  return nullptr;
}

/// The program and its arguments, or nullptr: a parser is needed.
char **command_in(char **arguments) {
  if (!arguments[0] || !arguments[1] || !arguments[2]) return nullptr;
  if (!is_same(last_part(arguments[0]), "pagecast") || !is_same(arguments[1], "speculate")) return nullptr;
  char **const command = is_same(arguments[2], "--") ? arguments + 3 : arguments + 2;
  if (!command[0] || !command[0][0] || (command == arguments + 2 && command[0][0] == '-')) return nullptr;
  return command;
}

/// Writes `directory`/`name`, where `directory` ends with a colon or the text. False: too long.
bool join(const char *directory, const char *name) {
  int length = 0;
  for (; *directory && *directory != ':'; directory++) {
    if (length >= kLongestPath - 2) return false;
    path[length++] = *directory;
  }
  if (length) path[length++] = '/'; // an empty one is where the program is started
  for (;; name++) {
    if (length >= kLongestPath) return false;
    path[length++] = *name;
    if (!*name) return true;
  }
}

/// Has the controller wait, and begin, on another processor, if there is one.
void move_away(long controller) {
  allowed_bytes = call(SYS_sched_getaffinity, 0, sizeof allowed, address(allowed));
  unsigned own = 0;
  if (allowed_bytes <= 0 || call(SYS_getcpu, address(&own)) || own >= kProcessors) return;
  for (long i = 0; i < kProcessors / kBits; i++) others[i] = allowed[i];
  others[own / kBits] &= ~(1ul << own % kBits);
  call(SYS_sched_setaffinity, controller, allowed_bytes, address(others)); // which fails where there is no other
}

/// Becomes the program, or returns: then the C library's execvp() finds out what is wrong, or what else to do.
void become(char **command, char **environment) {
  const auto execute = [&](const char *file) { return call(SYS_execve, address(file), address(command), address(environment)); };
  if (last_part(command[0]) != command[0]) {
    execute(command[0]);
    return;
  }
  const char *at = value_of(environment, "PATH");
  while (at) {
    if (!join(at, command[0])) return;
    const long failure = execute(path);
    if (failure != kNoFile && failure != kNoDirectory && failure != kNoPermission) return;
    while (*at && *at != ':') at++;
    at = *at ? at + 1 : nullptr;
  }
}

} // namespace

extern "C" {

int pagecast_begun_program = 0;

/// Clones the controller on `top`, which goes on to the C library on the stack `first`. Its number; negative: there is none.
long pagecast_clone(char *top, long *first);

/// In the controller's process. Returns when the program has begun.
__attribute__((used)) void pagecast_wait() {
  int now;
  while ((now = __atomic_load_n(&state, __ATOMIC_ACQUIRE)) == kUndecided)
    call(SYS_futex, address(&state), FUTEX_WAIT, kUndecided);
  if (now == kNoProgram) call(SYS_exit_group, 0);
  if (allowed_bytes > 0) call(SYS_sched_setaffinity, 0, allowed_bytes, address(allowed));
}

/// `first`: what the kernel has put on the stack. Returns where the C library is to go on.
__attribute__((used)) void pagecast_begin(long *first) {
  char **const arguments = reinterpret_cast<char **>(first + 1), **const environment = arguments + first[0] + 1;
  char **const command = command_in(arguments);
  if (!command) return;
  const unsigned long all = kAllSignals;
  unsigned long before = 0;
  call(SYS_rt_sigprocmask, kSetMask, address(&all), address(&before), sizeof all);
  pagecast_begun_program = static_cast<int>(call(SYS_set_tid_address, address(&state)));
  const long controller = pagecast_clone(stack + sizeof stack, first);
  call(SYS_rt_sigprocmask, kSetMask, address(&before), 0, sizeof before);
  if (controller > 0) {
    call(SYS_prctl, PR_SET_PTRACER, controller); // where only ancestors may trace
    move_away(controller);
    become(command, environment);
    __atomic_store_n(&state, kNoProgram, __ATOMIC_RELEASE);
    call(SYS_futex, address(&state), FUTEX_WAKE, 1);
    call(SYS_wait4, controller, 0, kWaitAll);
  }
  pagecast_begun_program = 0;
}

} // extern "C"

asm(R"(
.text
.globl pagecast_entry
.type pagecast_entry, @function
pagecast_entry:
  xor %ebp, %ebp
  mov %rsp, %rbx
  mov %rsp, %rdi
  and $-16, %rsp
  call pagecast_begin
  mov %rbx, %rsp
  xor %edx, %edx
  jmp _start

.globl pagecast_clone
.type pagecast_clone, @function
pagecast_clone:
  mov %rsi, %r9
  mov %rdi, %rsi
  mov $0x100, %edi        # CLONE_VM, and no signal at its end: not a child that the program's wait calls would find
  xor %edx, %edx
  xor %r10d, %r10d
  xor %r8d, %r8d
  mov $56, %eax           # clone
  syscall
  test %rax, %rax
  jnz 1f
  xor %ebp, %ebp
  mov %r9, %rbx
  call pagecast_wait
  mov %rbx, %rsp
  xor %edx, %edx
  jmp _start
1: ret
)");
