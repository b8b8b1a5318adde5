# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays larger than memory, and hints for them, in a program that `pagecast run` started.

    import pagecast
    a = pagecast.zeros((100_000, 10_000))        # 8 GB
    for i in range(0, len(a), 1000):
        pagecast.prefetch(a[i + 1000:i + 2000])  # the next rows, while these are worked on
        work(a[i:i + 1000])
        pagecast.release(a[i:i + 1000])          # these are done with

Nothing here changes a result. Elsewhere than under `pagecast run` arrays are numpy's own and hints do nothing; `loaded` tells.
numpy is needed to make arrays, and by nothing else.
"""

from typing import TYPE_CHECKING

from ._arrays import empty, memmap, zeros
from ._hints import prefetch, release
from ._runtime import active, budget, loaded
from ._sequential import sequential
from ._statistics import Stats, stats

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """`%load_ext pagecast`: cells that begin with `%%pagecast` say what they did. IPython calls this."""
    from ._jupyter import PagecastMagics
    shell.register_magics(PagecastMagics)


__version__ = "0.1.0"
__all__ = ["Stats", "active", "budget", "empty", "loaded", "memmap", "prefetch", "release", "sequential", "stats", "zeros"]
