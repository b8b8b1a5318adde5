# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From raw samples, as they are in JSON, to figures. A figure that cannot be had is None.

Stall is the time in which a program does not compute: its wall time less the CPU time, user and system, of its own
thread, the one that runs main. It is what the papers call I/O stall: the time that the processor idles when nothing
else runs on the machine. The CPU time of pagecast's threads is not taken off, because the program does not compute
while it waits for them, even if they are busy; nor is the time that the program waits for a processor."""

from dataclasses import dataclass
from math import exp, log
from statistics import median

FAULTS = ("prefetched_hit", "late", "not_prefetched")


def ended(samples: list[dict]) -> list[dict]:
    return [s for s in samples if s["status"] == "ok"]


def given_up(samples: list[dict]) -> bool:
    return any(s["status"] == "timeout" for s in samples)


def values(samples: list[dict], field: str) -> list[float]:
    return [s[field] for s in ended(samples) if s.get(field) is not None]


def middle(numbers: list[float]) -> float | None:
    return median(numbers) if numbers else None


def least_wall_s(samples: list[dict]) -> float | None:
    """The median; of runs that were given up, the longest time until then: a run takes at least that."""
    if given_up(samples):
        return max(s["wall_s"] for s in samples if s["status"] == "timeout")
    return middle(values(samples, "wall_s"))


def longer(samples: dict[str, list[dict]], contender: str, than: str) -> float | None:
    """How many times as long one takes as another; least_wall_s() of each."""
    return quotient(least_wall_s(samples[contender]), least_wall_s(samples[than]))


def cpu(sample: dict) -> float:
    return sample["user_s"] + sample["system_s"]


def stall(sample: dict) -> float | None:
    own = sample.get("first_thread_cpu_s")
    return None if own is None else max(0.0, sample["wall_s"] - own)


def stalls(samples: list[dict]) -> list[float]:
    return [s for s in map(stall, ended(samples)) if s is not None]


def quotient(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def less_one(value: float | None) -> float | None:
    return None if value is None else value - 1


def removed(before: float | None, after: float | None) -> float | None:
    """The share of what was there before."""
    share = quotient(after, before)
    return None if share is None else 1 - share


def geometric_mean(numbers: list[float]) -> float | None:
    return exp(sum(map(log, numbers)) / len(numbers)) if numbers else None


def fault_shares(samples: list[dict]) -> dict | None:
    """Of all repetitions together: what became of the pages that the original would have faulted on."""
    counts = [s["stats"]["faults"] for s in ended(samples) if s["stats"]]
    sums = {k: sum(c.get(k, 0) for c in counts) for k in FAULTS}
    total = sum(sums.values())
    return {k: v / total for k, v in sums.items()} if total else None


def fault_counts(samples: list[dict]) -> dict | None:
    """The same in pages: the median of the repetitions."""
    counts = [s["stats"]["faults"] for s in ended(samples) if s["stats"]]
    return {k: median(c.get(k, 0) for c in counts) for k in FAULTS} if counts else None


def moved(samples: list[dict], field: str) -> float | None:
    """Median of io.read_bytes or io.written_bytes."""
    return middle([s["stats"]["io"][field] for s in ended(samples) if s["stats"]])


@dataclass(frozen=True)
class SpeedUp:
    value: float | None
    is_least: bool = False  # the original was given up, so that it is at least this


def speed_up(original: list[dict], ours: list[dict]) -> SpeedUp:
    """Of medians. A run that was given up lasted at least until then."""
    after = middle(values(ours, "wall_s"))
    if given_up(original):
        return SpeedUp(quotient(max(s["wall_s"] for s in original if s["status"] == "timeout"), after), True)
    return SpeedUp(quotient(middle(values(original, "wall_s")), after))


def typical_rates(disk_samples: list[dict]) -> dict | None:
    """The median of each rate, bytes a second."""
    return {k: median(s[k] for s in disk_samples) for k in ("read", "write")} if disk_samples else None


def moved_seconds(samples: list[dict], rates: dict | None) -> float | None:
    """The disk's time for the bytes that were moved, at its rates: what is left of the run it stood still, or did worse."""
    read, written = moved(samples, "read_bytes"), moved(samples, "written_bytes")
    return None if rates is None or read is None or written is None else read / rates["read"] + written / rates["write"]


def identical(samples: dict[str, list[dict]]) -> bool | None:
    """Whether all runs that came to their end said the same, to the byte. None: there is nothing to compare."""
    outputs = [s["output_sha256"] for runs in samples.values() for s in ended(runs)]
    return len(set(outputs)) == 1 if len(outputs) > 1 else None


def limit_of(entry: dict, rates: dict | None) -> dict:
    """What no system can beat: the CPU time in core, or the time in which the disk moves the least bytes."""
    busy = middle([cpu(s) for s in ended(entry["samples"]["in_core_plain"])])
    least = entry["least_bytes"]
    disk = least["read"] / rates["read"] + least["written"] / rates["write"] if rates and least else None
    both = busy is not None and disk is not None
    return {"in_core_cpu_s": busy, "disk_s": disk, "limit_s": max(busy, disk) if both else None,
            "limit_is": ("CPU" if busy >= disk else "disk") if both else None,
            "least_stall_s": max(0.0, disk - busy) if both else None}


def figures(entry: dict, disk_samples: list[dict]) -> dict:
    """All that is said of one program, from its entry in the JSON."""
    samples, static = entry["samples"], entry["static"] or {}
    original, ours = samples["original"], samples["pagecast"]
    speed = speed_up(original, ours)
    rates = typical_rates(disk_samples)
    limit = limit_of(entry, rates)
    in_core = {k: middle([cpu(s) for s in ended(samples[f"in_core_{k}"])]) for k in ("plain", "pagecast")}
    compiles = {k: middle([s["wall_s"] for s in static["compile"][k]]) for k in ("plain", "pagecast")} if static else {}
    code = static.get("code_bytes", {})
    shares = fault_shares(ours)
    return {
        "original_s": middle(values(original, "wall_s")), "pagecast_s": middle(values(ours, "wall_s")),
        "speed_up": speed.value, "speed_up_is_least": speed.is_least,
        "prefetched_hits": shares and shares["prefetched_hit"], "fault_shares": shares, "fault_pages": fault_counts(ours),
        "original_stall_s": middle(stalls(original)), "pagecast_stall_s": middle(stalls(ours)),
        "stall_removed": removed(middle(stalls(original)), middle(stalls(ours))),
        "stall_removed_at_best": removed(middle(stalls(original)), limit["least_stall_s"]),
        **limit, "to_limit": quotient(middle(values(ours, "wall_s")), limit["limit_s"]),
        "in_core_ratio": quotient(in_core["pagecast"], in_core["plain"]),
        "code_growth": less_one(quotient(code.get("pagecast"), code.get("plain"))),
        "compile_ratio": quotient(compiles.get("pagecast"), compiles.get("plain")),
        "read_bytes": moved(ours, "read_bytes"), "written_bytes": moved(ours, "written_bytes"),
        "moved_s": moved_seconds(ours, rates), "identical": identical(samples),
    }
