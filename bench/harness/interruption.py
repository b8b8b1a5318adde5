# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SIGTERM and Ctrl-C unwind a harness, so that swap file and control groups are removed.

Python loses an exception that is raised where it calls back: in the hooks of a fork (logging has some), in destructors.
Hence a child is started within `deferred()`, and what was lost elsewhere is raised again by `check()`."""

import contextlib
import signal

_asked = False
_deferring = 0


def install():
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _interrupt)


def _interrupt(*_):
    """Once unwinding has begun, neither it nor the tools that it starts must be interrupted."""
    global _asked
    _asked = True
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    if not _deferring:
        raise KeyboardInterrupt


def check():
    """Raises when an interruption was asked for, however long ago. Not for code that cleans up."""
    if _asked:
        raise KeyboardInterrupt


@contextlib.contextmanager
def deferred():
    """An interruption in here is seen by the next `check()`, which must stand where the child is ended by an exception."""
    global _deferring
    _deferring += 1
    try:
        yield
    finally:
        _deferring -= 1
