# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cliff's table in Markdown, made from its JSON alone, and the figures that its curves share with it."""

from harness.figures import given_up, least_wall_s, longer, middle, values
from harness.markdown import NOTHING, bullets, document, lacking, measured_on, repeated, table, times, times_or_least

CONTENDERS = {"incore": "in core", "pagecast": "pagecast", "swap": "Linux swap"}
MOST_OVER_SWAP = 1.05  # pagecast over swap, at any limit
BAD, FASTER = 3, 2     # where swap takes so many times its time in core, pagecast is so many times faster

MEANING = ("Seconds of the whole program, median (spread). ≥: stopped after that time, five times the other's. Limits are in hot data. "
           "Read: MB that pagecast read.")


def cliff_markdown(data: dict) -> str:
    heading = f"{data['hot_bytes'] >> 20} MiB of hot data; {repeated(data)}; {measured_on(data)}."
    return document(heading, main_table(data), bullets(remarks(data)), MEANING)


def main_table(data: dict) -> str:
    names = ["", "limit", "in core", "pagecast", "swap", "swap ÷ pagecast", "read"]
    return table(names, [row(entry, point) for entry in data["programs"] for point in entry["points"]])


def row(entry: dict, point: dict) -> list[str]:
    return [entry["words"], f"{point['factor']:g} ({point['limit_bytes'] >> 20} MiB)", times(entry["incore"]),
            *(times_or_least(point["samples"][c]) for c in ("pagecast", "swap")), speed(entry, point), read_mb(point)]


def is_met(entry: dict, point: dict) -> bool | None:
    """Whether pagecast is as much faster than swap as it should be. None: not known."""
    swap, pagecast = (least_wall_s(point["samples"][c]) for c in ("swap", "pagecast"))
    core = middle(values(entry["incore"], "wall_s"))
    if swap is None or pagecast is None:
        return None
    if core and swap > BAD * core and not pagecast * FASTER <= swap:
        return False
    return pagecast <= MOST_OVER_SWAP * swap


def speed(entry: dict, point: dict) -> str:
    value = longer(point["samples"], "swap", "pagecast")
    if value is None:
        return NOTHING
    text = f"{'≥ ' if given_up(point['samples']['swap']) else ''}{value:.2f}"
    return text if is_met(entry, point) else f"**{text}**"


def read_mb(point: dict) -> str:
    value = middle([s["stats"]["io"]["read_bytes"] / 1e6 for s in point["samples"]["pagecast"] if s["status"] == "ok" and s["stats"]])
    return NOTHING if value is None else f"{value:.0f}"


def remarks(data: dict) -> list[str]:
    judged = [(f"{e['words']} at {p['factor']:g}", is_met(e, p)) for e in data["programs"] for p in e["points"]]
    missed = [where for where, met in judged if met is False]
    known = sum(met is not None for _, met in judged)
    out = lacking(data, CONTENDERS)
    if known:
        out.append(f"No more than {MOST_OVER_SWAP - 1:.0%} slower than swap, and {FASTER} times faster where swap takes over {BAD} times its time "
                   f"in core: {known - len(missed)} of {known}{'; not: ' + ', '.join(missed) if missed else ''}.")
    return out
