# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the runtime has counted so far, as numbers that can be subtracted."""

import json
import os
from dataclasses import dataclass, fields
from typing import Any, Dict, Optional

from ._runtime import runtime


@dataclass(frozen=True)
class Stats:
    """What happened since the program began, or between two moments: `after - before`."""

    loaded: bool = False  #: whether the runtime is in this process
    active: bool = False  #: whether some data are paged
    why_not: Optional[str] = None  #: a sentence, where nothing is paged
    budget_bytes: int = 0  #: that large data may take now; of a difference: at its end
    peak_bytes: int = 0  #: the most that was used; of a difference: at its end
    wall_s: float = 0.0  #: seconds since the program began
    wait_s: Optional[float] = 0.0  #: seconds that threads waited for pages, summed over threads; None where nobody measured it
    read_bytes: int = 0  #: from where the data lie that are not in memory
    written_bytes: int = 0  #: to there
    foreseen_pages: int = 0  #: read before the program came to them, or on their way when it did
    late_pages: int = 0  #: of these, those that were still on their way
    missed_pages: int = 0  #: read because the program touched them
    released_pages: int = 0  #: by hints

    @property
    def foreseen_share(self) -> Optional[float]:
        """Of the pages that were read, the part that was asked for before the program came to them; None if none were."""
        pages = self.foreseen_pages + self.missed_pages
        return self.foreseen_pages / pages if pages else None

    def __sub__(self, before: "Stats") -> "Stats":
        if not isinstance(before, Stats):
            return NotImplemented
        later: Dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in _SUMS:  # a share of pages may go back: who was foreseen can turn out to be late
            earlier = getattr(before, name) or 0  # of what is not measured yet there was nothing
            later[name] = None if later[name] is None else max(later[name] - earlier, 0)
        return Stats(**later)


_SUMS = ("wall_s", "wait_s", "read_bytes", "written_bytes", "foreseen_pages", "late_pages", "missed_pages", "released_pages")


def _counted() -> Dict[str, Any]:
    """The JSON of docs/statistics.md."""
    assert runtime is not None
    file = os.memfd_create("pagecast-statistics")
    with os.fdopen(file, "r", encoding="utf-8", errors="replace") as text:
        error = runtime.statistics(file)
        if error:
            raise OSError(-error, f"the statistics could not be written: {os.strerror(-error)}")
        text.seek(0)
        counted: Dict[str, Any] = json.load(text)
        return counted


def stats() -> Stats:
    """What the runtime has counted so far in this process.

    Outside `pagecast run` all is zero, `loaded` is False and `why_not` says so. OSError: no file of memory could be made. Cost:
    some 0.3 ms. Any thread."""
    if runtime is None:
        return Stats(why_not="the program was not started by pagecast run")
    counted = _counted()
    faults, time, budget = counted["faults"], counted["time"], counted["budget"]
    return Stats(
        loaded=True, active=counted["active"], why_not=counted["why_not"], budget_bytes=budget["bytes"],
        peak_bytes=budget["peak_bytes"], wall_s=time["wall_s"], wait_s=time["stall_s"], read_bytes=counted["io"]["read_bytes"],
        written_bytes=counted["io"]["written_bytes"], foreseen_pages=faults["prefetched_hit"] + faults["late"],
        late_pages=faults["late"], missed_pages=faults["not_prefetched"], released_pages=counted["releases"]["pages"])
