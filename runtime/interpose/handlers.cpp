// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sigaction and its relatives, by which handlers of signals are installed (handlers.h), and pthread_setcanceltype. That
// system call made by itself is sandbox.cpp's.
#include "runtime/interpose/next.h"
#include "runtime/process/handlers.h"

#include <csignal>
#include <pthread.h>

using namespace pagecast;

#define EXPORTED __attribute__((visibility("default")))

namespace {

using Handler = void (*)(int);
using Signal = Handler (*)(int, Handler);
using Sigaction = int (*)(int, const struct sigaction *, struct sigaction *);
using Setcanceltype = int (*)(int, int *);

bool is_code(Handler h) { return h != SIG_DFL && h != SIG_IGN && h != SIG_ERR && h != SIG_HOLD; }

Handler install(Signal real, int signal, Handler handler) {
  if (!is_code(handler)) return real(signal, handler);
  handler_begins();
  const Handler before = real(signal, handler);
  handler_stands();
  return before;
}

int install(Sigaction real, int signal, const struct sigaction *action, struct sigaction *before) {
  if (!action || !is_code(action->sa_handler)) return real(signal, action, before);
  handler_begins();
  const int result = real(signal, action, before);
  handler_stands();
  return result;
}

} // namespace

extern "C" {

#define PAGECAST_SIGNAL(name)                                   \
  EXPORTED Handler name(int signal, Handler handler) noexcept { \
    static Signal real = next<Signal>(#name);                   \
    return install(real, signal, handler);                      \
  }
PAGECAST_SIGNAL(signal)
PAGECAST_SIGNAL(ssignal)
PAGECAST_SIGNAL(bsd_signal)
PAGECAST_SIGNAL(sysv_signal)
PAGECAST_SIGNAL(__sysv_signal)
PAGECAST_SIGNAL(sigset)

#define PAGECAST_SIGACTION(name)                                                                     \
  EXPORTED int name(int signal, const struct sigaction *action, struct sigaction *before) noexcept { \
    static Sigaction real = next<Sigaction>(#name);                                                  \
    return install(real, signal, action, before);                                                    \
  }
PAGECAST_SIGACTION(sigaction)
PAGECAST_SIGACTION(__sigaction)

EXPORTED int pthread_setcanceltype(int type, int *before) {
  static Setcanceltype real = next<Setcanceltype>("pthread_setcanceltype");
  if (type == PTHREAD_CANCEL_ASYNCHRONOUS) nests_may_be_left();
  return real(type, before);
}
}
