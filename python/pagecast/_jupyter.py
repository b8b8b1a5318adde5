# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`%%pagecast`, for IPython and Jupyter: what a cell did. Only who has loaded the extension needs IPython."""

import ast
import contextlib
import re
import time
from typing import Any, Iterator, Optional

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from ._runtime import runtime
from ._statistics import Stats, stats

_UNITS = "BKMGTP"
_LEAST = 16 << 20  # bytes, as for pagecast run --memory
_SIZE = re.compile(rf"(\d+\.?\d*|\.\d+)([{_UNITS}]?)(?:iB|B)?", re.IGNORECASE)


def _bytes(text: str) -> int:
    """Of a size as `pagecast run --memory` has it: 256M, 1.5G, 4GiB. Units are binary."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise UsageError(f"--memory is a size such as 256M or 4G, not {text!r}")
    size = int(float(found[1]) * 1024 ** _UNITS.index(found[2].upper() or "B"))
    if size < _LEAST:
        raise UsageError(f"--memory {text!r} is below the minimum of {_size(_LEAST)}")
    return size


def _size(size: float) -> str:
    unit = 0
    while size >= 1024 and unit + 1 < len(_UNITS):
        size, unit = size / 1024, unit + 1
    return f"{size:.4g} {_UNITS[unit]}{'iB' if unit else ''}"


def sentence(did: Stats) -> str:
    """What a cell did, in one line."""
    if not did.loaded:
        return (f"{did.wall_s:.3g} s; the cell ran as it is, since the kernel was not started by pagecast run. "
                "Start it as in: pagecast run -- jupyter lab")
    if not did.active:
        return f"{did.wall_s:.3g} s; nothing was paged: {did.why_not}"
    share = did.foreseen_share
    foreseen = "no page had to be read" if share is None else f"{share:.0%} of the pages read were foreseen"
    if did.wait_s is None:
        return (f"{did.wall_s:.3g} s; the kernel paged the data, so waits and bytes are not known; "
                f"large data may take {_size(did.budget_bytes)}")
    return (f"{did.wall_s:.3g} s, of which threads waited {did.wait_s:.3g} s for pages; read {_size(did.read_bytes)}, "
            f"wrote {_size(did.written_bytes)}; {foreseen}; large data may take {_size(did.budget_bytes)}")


@contextlib.contextmanager
def _memory(size: Optional[int]) -> Iterator[None]:
    """Large data take at most so many bytes meanwhile."""
    if size is None or runtime is None:
        yield
        return
    before = runtime.set_memory(size)
    try:
        yield
    finally:
        runtime.set_memory(before)


@magics_class
class PagecastMagics(Magics):  # type: ignore[misc]
    """The magics of this package."""

    def _run(self, cell: str) -> Any:
        """The cell in the user's names; the value of its last expression. Errors are the cell's own."""
        shell = self.shell
        tree = shell.compile.ast_parse(shell.transform_cell(cell))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        name = shell.compile.cache(cell)
        exec(shell.compile(tree, name, "exec"), shell.user_ns)
        if last is None or cell.rstrip().endswith(";"):
            return exec(shell.compile(ast.Module([last], []), name, "exec"), shell.user_ns) if last else None
        return eval(shell.compile(ast.Expression(last.value), name, "eval"), shell.user_ns)

    @magic_arguments()
    @argument("--memory", help="at most so much memory for large data while the cell runs, such as 256M or 4G")
    @cell_magic
    def pagecast(self, line: str, cell: str) -> Any:
        """Run the cell and say what it did: seconds, waits for pages, bytes, and the share of pages that was foreseen."""
        options = parse_argstring(self.pagecast, line)
        size = None if options.memory is None else _bytes(options.memory)
        before, began = stats(), time.perf_counter()
        with _memory(size):
            try:
                return self._run(cell)
            finally:
                did = stats() - before
                if not did.loaded:
                    did = Stats(wall_s=time.perf_counter() - began)
                print("pagecast:", sentence(did))
