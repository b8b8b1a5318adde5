# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command in a container: python contained.py COMMAND ARGUMENTS.

The engine's part that starts containers is crun. It has the machine's own folders for an image, so that nothing is fetched, with the
seccomp profile and the capabilities that Debian's engines give by default. The control group stays the caller's."""

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from unprivileged import KEPT

PROFILE = Path("/usr/share/containers/seccomp.json")  # of golang-github-containers-common, which Debian's engines depend on
# In the kernel's order of numbers.
NAMES = ("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE",
         "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT",
         "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE",
         "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP")
CAPABILITIES = [f"CAP_{NAMES[number]}" for number in sorted(KEPT)]
ARCHITECTURE = {"x86_64": "amd64"}.get(platform.machine(), platform.machine())


def applies(rule: dict) -> bool:
    """Whether an engine passes the rule on to crun, for these capabilities and this machine."""
    wanted, unwanted = rule.get("includes") or {}, rule.get("excludes") or {}
    return (set(wanted.get("caps") or ()) <= set(CAPABILITIES) and not set(unwanted.get("caps") or ()) & set(CAPABILITIES)
            and ARCHITECTURE in (wanted.get("arches") or [ARCHITECTURE]) and ARCHITECTURE not in (unwanted.get("arches") or ()))


def filter_of(profile: dict) -> dict:
    """The profile in the words of the runtime's specification."""
    keys = ("names", "action", "errnoRet", "args")
    return {"defaultAction": profile["defaultAction"], "defaultErrnoRet": profile.get("defaultErrnoRet", 1),
            "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
            "syscalls": [{key: rule[key] for key in keys if rule.get(key)} for rule in profile["syscalls"] if applies(rule)]}


def bundle(folder: Path, command: list[str]) -> dict:
    """What crun is to do; makes the root folder, where the machine's folders will be seen."""
    root = folder / "root"
    root.mkdir()
    mounts = [{"destination": "/proc", "type": "proc", "source": "proc"},
              {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=65536k"]},
              {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "nodev", "mode=1777"]},
              {"destination": "/sys", "type": "bind", "source": "/sys", "options": ["rbind", "ro"]}]
    for entry in sorted(Path("/").iterdir()):
        if entry.is_symlink():
            (root / entry.name).symlink_to(os.readlink(entry))
        elif entry.is_dir() and entry.name not in ("proc", "dev", "sys"):
            mounts.append({"destination": str(entry), "type": "bind", "source": str(entry), "options": ["rbind", "private"]})
    return {"ociVersion": "1.0.0", "root": {"path": str(root)}, "mounts": mounts,
            "process": {"terminal": False, "user": {"uid": os.getuid(), "gid": os.getgid()}, "args": command, "cwd": os.getcwd(),
                        "env": [f"{name}={value}" for name, value in os.environ.items()], "noNewPrivileges": True,
                        "capabilities": {kind: CAPABILITIES for kind in ("bounding", "effective", "permitted")}},
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")],
                      "seccomp": filter_of(json.loads(PROFILE.read_text()))}}


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "config.json").write_text(json.dumps(bundle(folder, sys.argv[1:])))
        # crun refuses machines that have groups of version 1 beside controllers of version 2, which it would not use here.
        apart = ("unshare", "--mount", "sh", "-c", 'umount -l /sys/fs/cgroup/unified 2>&-; exec "$@"', "sh")
        done = subprocess.run([*apart, "crun", "--cgroup-manager=disabled", "--root", folder / "state", "run", "--bundle", folder,
                               f"pagecast-{os.getpid()}"])
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
