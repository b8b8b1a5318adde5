# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of packages, made from their JSON alone."""

from collections import Counter

from rich.table import Table

STATES = ("passed", "failed", "skipped")
# Reasons of refusal as the compiler names them; the table has room for the commonest.
REASONS_SHOWN = 3


def size(count: int) -> str:
    """Bytes as people write them."""
    for unit, shift in (("G", 30), ("M", 20), ("K", 10)):
        if count >= 1 << shift:
            number = count / (1 << shift)
            return f"{number:.0f}{unit}" if number >= 100 else f"{number:.3g}{unit}"
    return str(count)


def tests(entry: dict, mode: str) -> str:
    return f"{entry[mode]['passed']}/{entry[mode]['total']}" if mode in entry else "-"


def refused(entry: dict) -> str:
    reasons = Counter(entry.get("remarks", {}).get("refused", {}))
    if not reasons:
        return "-"
    shown = [f"{count} {name}" for name, count in reasons.most_common(REASONS_SHOWN)]
    rest = sum(reasons.values()) - sum(count for _, count in reasons.most_common(REASONS_SHOWN))
    return ", ".join(shown + ([f"{rest} other"] if rest else []))


def paging(entry: dict, run: str) -> list[str]:
    """Processes that were paged, bytes moved, faults that reached the pager, pages prefetched in time. The pressure
    has its part in all but the last, as it is not hinted."""
    sums = entry.get(run)
    if not sums:
        return ["-"] * 4
    return [f"{sums['paged']}/{sums['processes']}", size(sums["moved_bytes"]), str(sums["faults"]), str(sums["prefetched_hit"])]


def hint_table(data: dict) -> Table:
    """What the compiler did."""
    table = Table(title="Debian's packages built with pagecast-cc: what was hinted")
    for name in ("package", "version", "nests", "references", "indirect", "refused"):
        table.add_column(name, justify="left" if name in ("package", "version", "refused") else "right")
    for entry in data["packages"]:
        found = entry.get("remarks", {})
        counts = [str(found[k]) if found else "-" for k in ("nests", "references", "indirect")]
        table.add_row(entry["name"], entry["version"] or "-", *counts, refused(entry))
    return table


def paging_table(data: dict) -> Table:
    """What came of it."""
    table = Table(title=f"Their own tests, paged: a budget of {size(data['budget_bytes'])} a process, and a pressure of "
                        f"{size(data['pressure_bytes'])} on it")
    for name in ("package", "tests", "tests, paged", "processes paged", "moved", "faults", "prefetched hits", "result"):
        table.add_column(name, justify="left" if name in ("package", "result") else "right")
    for entry in data["packages"]:
        table.add_row(entry["name"], tests(entry, "plain"), tests(entry, "paged"), *paging(entry, "suite"), entry["state"])
        if "larger" in entry:
            same = "identical" if entry["larger_identical"] else "DIFFERENT"
            table.add_row("  larger run", "", "", *paging(entry, "larger"), same)
    return table


def suite_table(data: dict) -> Table:
    """Suites under `pagecast speculate`."""
    table = Table(title="Suites of programs that read files, plain and with copies made whenever one can be")
    for name in ("package", "version", "tests, plain", "tests, with copies", "copies", "hints", "why copies ended", "result"):
        table.add_column(name, justify="right" if name in ("copies", "hints") else "left")
    for entry in data["packages"]:
        tests_of = [", ".join(f"{n} {state}" for state, n in sorted(entry["tests"][mode].items())) if "tests" in entry else "-"
                    for mode in ("plain", "speculate")]
        copies = entry.get("copies", {"made": "-", "ended": {}})
        ended = ", ".join(f"{n} {why}" for why, n in copies["ended"].items() if n)
        hints = str(entry["prefetch"]["hints"]) if "prefetch" in entry else "-"
        table.add_row(entry["name"], entry["version"] or "-", *tests_of, str(copies["made"]), hints, ended, entry["state"])
    return table


def totals(outcomes: list[dict]) -> dict[str, int]:
    count = Counter(entry["state"] for entry in outcomes)
    return {state: count[state] for state in STATES}


def summary(outcomes: list[dict]) -> list[str]:
    """A sentence for each package that did not pass, and the counts on the last line."""
    out = [f"{entry['state']:8} {entry['name']}: {entry['why']}" for entry in outcomes if entry["state"] != "passed"]
    return [*out, ", ".join(f"{number} {state}" for state, number in totals(outcomes).items())]
