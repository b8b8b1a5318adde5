# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hints by hand for arrays whose data do not fit in memory, in a program that `pagecast run` started.

    import numpy, pagecast
    a = numpy.zeros((100_000, 10_000))           # 8 GB
    for i in range(0, len(a), 1000):
        pagecast.prefetch(a[i + 1000:i + 2000])  # the next rows, while these are worked on
        work(a[i:i + 1000])
        pagecast.release(a[i:i + 1000])          # these are done with

Hints never change a result. Elsewhere than under `pagecast run`, and while all data fit, they do nothing.
"""

from ._hints import active, budget, prefetch, release

__version__ = "0.1.0"
__all__ = ["active", "budget", "prefetch", "release"]
