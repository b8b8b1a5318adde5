# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the data of the experiment on speculation are: on the disk, in memory, behind slow servers or GlusterFS; and how much memory
the programs have for a cache. All of it is removed afterwards."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import slow

TOOLS = (sys.executable, "sh", "grep", "ld", "tar", "find", "du", "sort", "xargs", "sha256sum", "cksum", "cat", "git", "awk")
GROUPS = Path("/sys/fs/cgroup")


def without_cache(storage: str) -> str:
    """The name of the storage without the size of a cache."""
    return re.sub(r"-\d+M$", "", storage)


def load_programs(options):
    """Programs themselves are in memory, for all contenders."""
    for word in TOOLS:
        subprocess.run([options.build / "bin" / "pagecast", "speculate", "--stats", options.work / "stats.json", "--", word, "--version"],
                       capture_output=True, stdin=subprocess.DEVNULL)


@contextlib.contextmanager
def storage_of(name: str, data: Path, options, asked: list[dict]) -> Iterator[Path]:
    """The data, not in memory. `asked` gets what slow storage was asked for."""
    name = without_cache(name)
    if name == "cached":
        load_programs(options)
        for file in sorted(p for p in data.rglob("*") if p.is_file()):
            file.read_bytes()
        yield data
        return
    if os.geteuid() == 0:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    elif name == "disk":
        slow.forget(*(p for p in data.rglob("*") if p.is_file()))
    load_programs(options)
    if name == "disk":
        yield data
    elif name.startswith("gluster-"):
        with gluster(data, options.work / "gluster", float(name.removeprefix("gluster-"))) as place:
            yield place
    else:
        servers, milliseconds = name.removeprefix("slow-").split("x")
        with slow.slow_storage(options.build, data, options.work / "mount", int(servers), float(milliseconds), asked) as place:
            yield place


@contextlib.contextmanager
def limited(storage: str) -> Iterator[Callable | None]:
    """A control group with so much memory, for what is called in the child: None without a limit."""
    megabytes = storage.removeprefix(without_cache(storage))[1:-1]
    if not megabytes:
        yield None
        return
    first = (GROUPS / "memory").is_dir()
    group = (GROUPS / "memory" if first else GROUPS) / f"pagecast-speculate-{os.getpid()}"
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(int(megabytes) << 20))
    except OSError as error:
        raise slow.Unavailable(f"a control group with a limit cannot be made: {error}") from error
    try:
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        for _ in range(100):
            with contextlib.suppress(OSError):
                group.rmdir()
            if not group.exists():
                break
            time.sleep(0.05)


# ---- GlusterFS: bricks on this machine, each request of which waits --------------------------------------------------------

BRICKS = 4
BRICK = """volume posix
  type storage/posix
  option directory {place}
end-volume
volume delay
  type debug/delay-gen
  option delay-duration {microseconds}
  option delay-percentage 100
  option enable {calls}
  subvolumes posix
end-volume
volume locks
  type features/locks
  subvolumes delay
end-volume
volume io-threads
  type performance/io-threads
  option thread-count 1
  subvolumes locks
end-volume
volume server
  type protocol/server
  option transport-type tcp
  option transport.socket.bind-address 127.0.0.1
  option transport.socket.listen-port {port}
  option auth.addr.io-threads.allow *
  subvolumes io-threads
end-volume
"""
CLIENT = """volume brick{i}
  type protocol/client
  option transport-type tcp
  option remote-host 127.0.0.1
  option remote-port {port}
  option remote-subvolume io-threads
end-volume
"""
FIRST_PORT = 24901
# What has been read stays in the page cache when the file is opened again, and names and facts stay for a minute: else nothing can be
# fetched for a program before it asks.
KEEPING = ("--fopen-keep-cache=on", "--attribute-timeout=60", "--entry-timeout=60")


@contextlib.contextmanager
def gluster(data: Path, home: Path, milliseconds: float) -> Iterator[Path]:
    """The data on four bricks; a directory's files are on the brick that the hash of their names says."""
    if not shutil.which("glusterfsd"):
        raise slow.Unavailable("glusterfsd is not installed (Debian: glusterfs-server)")
    shutil.rmtree(home, ignore_errors=True)
    servers, place = [], home / "mount"
    place.mkdir(parents=True)
    try:
        with contextlib.ExitStack() as mounted:
            servers = start_bricks(home, 0)
            mount(home, place, mounted)
            shutil.copytree(data, place, dirs_exist_ok=True, copy_function=shutil.copyfile)
        stop(servers)
        servers = start_bricks(home, milliseconds)
        Path("/proc/sys/vm/drop_caches").write_text("3")
        with contextlib.ExitStack() as mounted:
            mount(home, place, mounted)
            yield place
    finally:
        stop(servers)
        shutil.rmtree(home, ignore_errors=True)


def start_bricks(home: Path, milliseconds: float) -> list[subprocess.Popen]:
    servers = []
    for i in range(BRICKS):
        (home / f"brick{i}").mkdir(exist_ok=True)
        volume = home / f"brick{i}.vol"
        volume.write_text(BRICK.format(place=home / f"brick{i}", port=FIRST_PORT + i, microseconds=int(milliseconds * 1000) or 1,
                                       calls="read,lookup,stat,readdirp"))
        servers.append(subprocess.Popen(["glusterfsd", "-N", "-f", volume, "-l", home / f"brick{i}.log", "-p", home / f"brick{i}.pid"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    return servers


def stop(servers: list[subprocess.Popen]):
    for server in servers:
        server.terminate()
    for server in servers:
        server.wait(timeout=30)


def mount(home: Path, place: Path, mounted: contextlib.ExitStack):
    text = "".join(CLIENT.format(i=i, port=FIRST_PORT + i) for i in range(BRICKS))
    text += "volume all\n  type cluster/distribute\n  subvolumes " + " ".join(f"brick{i}" for i in range(BRICKS)) + "\nend-volume\n"
    (home / "client.vol").write_text(text)
    (home / "client.log").unlink(missing_ok=True)
    client = subprocess.Popen(["glusterfs", "-N", *KEEPING, "-f", home / "client.vol", "-l", home / "client.log", place],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    mounted.callback(client.wait, timeout=30)
    mounted.callback(subprocess.run, ["umount", "-l", place], capture_output=True)
    log, end = home / "client.log", time.monotonic() + 30

    def is_ready() -> bool:
        # A brick that listens too late is connected to some seconds after the mount; without all of them nothing can be created.
        return os.path.ismount(place) and all(f"0-brick{i}: Connected" in log.read_text(errors="replace") for i in range(BRICKS))
    while not is_ready() and time.monotonic() < end and client.poll() is None:
        time.sleep(0.05)
    if not is_ready():
        raise slow.Unavailable("GlusterFS could not be mounted: " + log.read_text(errors="replace")[-300:])
