# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory of virtual machines. A guest that tells its host which memory is free loses it after some seconds, and gets it
again a page at a time, as it is touched: seen as time of whoever touches it. Which contender that is would depend on who
ran before, and how long ago. Measured, a sum over a mapped file of 1 GiB in 256 MiB, after a run that had left its memory
for six seconds: 0.59 to 0.63 s, 0.25 to 0.31 of them user time; with memory at hand 0.37 to 0.38 s, and 0.02 to 0.04."""

import mmap
from pathlib import Path

AT_HAND = 1 << 30  # bytes
PAGE = 4096


def available() -> int:
    return next(int(line.split()[1]) << 10 for line in Path("/proc/meminfo").read_text().splitlines()
                if line.startswith("MemAvailable"))


def bring(size: int = AT_HAND) -> int:
    """Touches memory, half of what is available at most, in large pages as the page cache takes them, and frees it again.
    Returns how many bytes."""
    size = min(size, available() // 2) // PAGE * PAGE
    if size == 0:
        return 0
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
        try:
            area.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            pass  # the kernel has none: pages then
        area[::PAGE] = b"1" * (size // PAGE)
    return size
