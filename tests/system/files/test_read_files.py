# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a paged program reads by read() is given up behind it where others in its group could be put on swap for it, and only
there. Nothing is timed."""

import contextlib
import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.xdist_group("swap")

MIB = 1 << 20
# Fills more than there is room for, then reads the file slowly.
READER = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  const long n = 240l << 17;
  static unsigned char bytes[1 << 16];
  unsigned long *data = malloc(n * sizeof *data), sum = argc;
  for (long i = 0; i < n; i++) data[i] = i;
  int file = open(argv[1], O_RDONLY);
  for (long got, at = 0; (got = read(file, bytes, sizeof bytes)) > 0; at += 9973) {
    for (long i = 0; i < got; i++) data[(at + i) % n] += bytes[i];
    usleep(1000);
  }
  for (long i = 0; i < n; i++) sum = sum * 31 + data[i];
  printf("%lx\\n", sum);
}
"""
NEIGHBOUR = "import sys; held = b'x' * (16 << 20); print('taken', flush=True); sys.stdin.read()"


# The file is its standard input.
INPUT = READER.replace("open(argv[1], O_RDONLY)", "0")
# Reads the file, closes it, and holds a record lock on it by another descriptor.
LOCKER = READER.replace("#include <stdio.h>", "#include <stdio.h>\n#include <string.h>\n#include <sys/wait.h>").replace("""  for (long i = 0; i < n; i++) sum = sum * 31""", """\
  struct flock lock;
  memset(&lock, 0, sizeof lock), lock.l_type = F_RDLCK, lock.l_whence = SEEK_SET;
  int other = open(argv[1], O_RDONLY), held = 0;
  close(file);
  if (fcntl(other, F_SETLK, &lock)) return 1;
  for (int i = 0; i < 60; i++) usleep(5000), data[i * 9973 % n]++; // it is seen to be closed
  pid_t child = fork();
  if (child == 0) {
    lock.l_type = F_WRLCK;
    _exit(fcntl(other, F_GETLK, &lock) || lock.l_type == F_UNLCK);
  }
  waitpid(child, &held, 0);
  printf("lock %s\\n", held == 0 ? "held" : "lost");
  for (long i = 0; i < n; i++) sum = sum * 31""")


@contextlib.contextmanager
def neighbour_in(group):
    process = subprocess.Popen([sys.executable, "-c", NEIGHBOUR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=group.join)
    try:
        assert process.stdout.readline() == b"taken\n"
        yield
    finally:
        process.communicate()


def cold_file(path, size):
    """Its cache is nobody's: whoever reads it is charged with it."""
    with path.open("wb") as out:
        out.write(os.urandom(size))
        out.flush()
        os.fsync(out.fileno())
        os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.mark.parametrize("program, beside", [(READER, True), (READER, False), (LOCKER, True), (INPUT, True)],
                         ids=["beside", "alone", "locked", "input"])
def test_files_go_behind_who_reads_them(built, memory_group, tmp_path, disk_dir, program, beside):
    from harness.swap import SwapFile
    group = memory_group(160 * MIB, swap=True)
    (tmp_path / "reader.c").write_text(program)
    hinted, plain = (built.compile(tool, tmp_path / "reader.c", "-O2") for tool in (built.cc, "clang-19"))
    file, stats = disk_dir / "file", tmp_path / "stats.json"
    with SwapFile(disk_dir / "swap", 256 * MIB, print) as swap:
        if swap.refusal:
            pytest.skip(f"no swap can be had here: {swap.refusal}")
        with swap.on(), neighbour_in(group) if beside else contextlib.nullcontext():
            cold_file(file, 48 * MIB)
            with file.open("rb", buffering=0) as data:
                done = subprocess.run([hinted, file], stdin=data, capture_output=True, text=True, timeout=300,
                                      preexec_fn=group.join,
                                      env={**os.environ, "PAGECAST_BACKING": str(disk_dir), "PAGECAST_STATS": str(stats)})
    assert done.returncode == 0, done.stderr
    with file.open("rb", buffering=0) as data:
        assert done.stdout == subprocess.run([plain, file], stdin=data, capture_output=True, text=True, check=True).stdout
    figures = json.loads(stats.read_text())
    assert figures["io"]["written_bytes"] > 0, "it was paged"
    behind = figures["files"]["read_behind_bytes"]
    assert behind > 24 * MIB if beside else behind == 0
