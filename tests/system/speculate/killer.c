// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kills a controller in the middle of its work: killer CONTROLLER CALL. It is traced from now on ("ready"), its system calls are
// counted from its first PTRACE_SEIZE on, and it is killed before it makes the one of that number. Without CALL it lives, and the
// number of the call is printed by which it has let go of the program and of its copy.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count < 2) return 2;
  const pid_t controller = atoi(arguments[1]);
  const long last = count > 2 ? atol(arguments[2]) : -1;
  if (ptrace(PTRACE_SEIZE, controller, 0L, (long)PTRACE_O_TRACESYSGOOD) || ptrace(PTRACE_INTERRUPT, controller, 0L, 0L)) return 3;
  int status;
  if (waitpid(controller, &status, __WALL) != controller || !WIFSTOPPED(status)) return 3;
  puts("ready");
  fflush(stdout);
  long calls = -1;
  for (int let_go = 0;;) {
    if (ptrace(PTRACE_SYSCALL, controller, 0L, 0L) || waitpid(controller, &status, __WALL) != controller || !WIFSTOPPED(status)) return 0;
    struct __ptrace_syscall_info call;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80) || ptrace(PTRACE_GET_SYSCALL_INFO, controller, sizeof call, &call) <= 0) continue;
    if (call.op != PTRACE_SYSCALL_INFO_ENTRY) continue;
    const int traces = call.entry.nr == SYS_ptrace;
    if (calls < 0 && (!traces || call.entry.args[0] != PTRACE_SEIZE)) continue;
    calls++;
    if (calls == last) {
      kill(controller, SIGKILL);
      printf("killed before call %llu\n", (unsigned long long)call.entry.nr);
      return 0;
    }
    let_go += traces && call.entry.args[0] == PTRACE_DETACH;
    if (last < 0 && let_go == 2) {
      printf("%ld\n", calls);
      return 0; // it is let go of
    }
  }
}
