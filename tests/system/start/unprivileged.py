# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command with what an engine leaves to a container by default: python unprivileged.py COMMAND ARGUMENTS.

The calls that Pagecast would make and that default profiles refuse fail with EPERM, and the capabilities that are left are those
of such a container."""

import ctypes
import errno
import os
import struct
import sys

# Of x86-64, by the names in the kernel's table.
REFUSED = {"mount": 165, "unshare": 272, "perf_event_open": 298, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425,
           "io_uring_enter": 426, "io_uring_register": 427}
LOAD_NUMBER, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 24, 38, 2
# chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw, sys_chroot, mknod, audit_write, setfcap
KEPT = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def instructions() -> bytes:
    code = [(LOAD_NUMBER, 0, 0, 0)]
    for number in REFUSED.values():
        code += [(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE)]
    return b"".join(struct.pack("HBBI", *each) for each in [*code, (RETURN, 0, 0, ALLOW)])


def main():
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    with open("/proc/sys/kernel/cap_last_cap") as f:
        for capability in set(range(int(f.read()) + 1)) - KEPT:
            prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # who is not root has none to drop
    code = instructions()
    kept = ctypes.create_string_buffer(code, len(code))
    program = Program(len(code) // 8, ctypes.addressof(kept))
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0):
        sys.exit(f"unprivileged: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
