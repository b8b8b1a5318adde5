# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The demo's table, made from its JSON alone."""

from rich.table import Table

# What the project promises of its main job: field, comparison, bound, words.
TARGETS = (
    ("original_over_pagecast", ">=", 4.0, "at least 4 times faster than the original on swap"),
    ("pagecast_over_limit", "<=", 1.5, "within 1.5 times of the limit"),
    ("prefetched_hit_share", ">=", 0.9, "at least 90 % of the faults prefetched"),
    ("code_growth", "<", 0.3, "code growth below 30 %"),
)


def seconds(entry: dict, contender: str) -> str:
    """The median and the spread of a contender, or how it ended."""
    value = entry[f"{contender}_s"]
    if value is None:
        return entry["endings"][contender]
    walls = [s["wall_s"] for s in entry["samples"][contender] if s["status"] == "ok"]
    return f"{value:.2f} ({min(walls):.2f}-{max(walls):.2f})"


def ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def faults(entry: dict) -> str:
    shares = entry["fault_shares"]
    return " / ".join(percent(shares[k]) for k in ("prefetched_hit", "late", "not_prefetched")) if shares else "-"


def demo_table(data: dict) -> Table:
    limit = data["limit_bytes"] >> 20
    table = Table(title=f"Under a limit of {limit} MiB; seconds, medians of {data['repetitions']} (spread)")
    for name in ("program", "in core", "original on swap", "pagecast", "limit", "original / pagecast",
                 "pagecast / limit", "faults: hit / late / not prefetched", "code growth", "identical"):
        table.add_column(name, justify="left" if name == "program" else "right")
    for entry in data["programs"]:
        table.add_row(f"{entry['name']}, {entry['multiple']:g}x the limit", seconds(entry, "in_core"),
                      seconds(entry, "original"), seconds(entry, "pagecast"), f"{entry['limit_s']:.2f}",
                      ratio(entry["original_over_pagecast"]), ratio(entry["pagecast_over_limit"]), faults(entry),
                      percent(entry["code_growth"]), "yes" if entry["identical"] else "NO")
    return table


def missed_targets(entry: dict) -> list[str]:
    """Sentences about the targets that this program misses or cannot be compared with."""
    out = []
    for field, comparison, bound, words in TARGETS:
        value = entry[field]
        if value is None:
            out.append(f"{entry['name']}: not known whether {words}")
        elif not {">=": value >= bound, "<=": value <= bound, "<": value < bound}[comparison]:
            out.append(f"{entry['name']}: missed {words} (it is {value:.2f})")
    return out
