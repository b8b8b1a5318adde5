# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of the experiment on speculation, made from its JSON alone: execution times, and what the paper's tables 4, 5 and 6 show."""

from statistics import median

from harness.markdown import document, table

CONTENDERS = {"plain": "plain", "speculating": "speculating", "hinted": "hinted by hand", "ahead": "readers ahead",
              "again": "plain again"}
OURS = "pagecast-"  # how the names of our threads and processes begin

MEANING = ("Each cell: seconds, median of the runs, and in brackets the share of the plain program's time that is cut. Before each run nothing is in "
           "memory but the programs themselves; on `cached` all is. Hinted by hand: the same program with hints of its own. Readers ahead: "
           "32 threads that read the files in the program's order, the ceiling. Plain again: how much of a difference is the machine's. All in memory: medians over plain, in brackets the least.")
HINTING = ("Bytes that the storage was asked for, by whoever asked first. By hints: asked by the prefetcher. In error: asked in all beyond what the "
           "plain program asks for, as a share of what the prefetcher asked. Reads: of the copies; dilation: processor time of the copies for each "
           "read over that of the program beside and after them.")
ACCOUNT = ("One traced run of each, which sees every read of the program, in blocks of 4 KiB. A read is hinted when all its blocks had been hinted "
           "before. In error: blocks that were hinted and never read. Fully: prefetched before the program asked; partly: while it was being fetched; "
           "not used: never read. Reused: reads of blocks that had been read. Own: reads of what the program had written itself, which are in none of "
           "the others.")
FOOTPRINT = ("Processor time, and the most memory, of the controller with its prefetcher; page faults of the copies, and of the program beyond those of "
             "a plain run; how long the program was stopped.")


def speculate_markdown(data: dict) -> str:
    machine, cells = data["machine"], data["cells"]
    heading = (f"Commit {machine['commit'][:12]}, Linux {machine['kernel']}, {machine['processors']} processors; {machine['files']} files, "
               f"{machine['objects']} objects, {machine['slices']} slices through {machine['edge']}³ floats.")
    timed = [cell for cell in cells if all(cell["runs"].get(c) for c in ("plain", "speculating"))]
    cold = [cell for cell in timed if cell["storage"] != "cached"]  # nothing is prefetched in the others, and no statistics are kept
    return document(heading, times_table(timed), MEANING, cached_table(timed), hinting_table(cold), HINTING, account_table(cells), ACCOUNT,
                    prefetching_table(cold), footprint_table(cold), FOOTPRINT)


def seconds(cell: dict, contender: str) -> float | None:
    runs = cell["runs"].get(contender)
    return median(run["seconds"] for run in runs) if runs else None


def cut(cell: dict, contender: str) -> float | None:
    time = seconds(cell, contender)
    return None if time is None else 1 - time / seconds(cell, "plain")


def name(cell: dict) -> list[str]:
    return [cell["program"], cell["storage"]]


def times_table(cells: list[dict]) -> str:
    rows = []
    for cell in cells:
        shown = [f"{seconds(cell, c):.3f} ({cut(cell, c):.0%})" if seconds(cell, c) else "" for c in list(CONTENDERS)[1:]]
        best = max((cut(cell, c) or 0 for c in ("hinted", "ahead")), default=0)
        rows.append([*name(cell), f"{seconds(cell, 'plain'):.3f}", *shown, f"{cut(cell, 'speculating') / best:.0%}" if best > 0.02 else ""])
    return table(["program", "storage", *CONTENDERS.values(), "of the best hints' cut"], rows)


def over_plain(cell: dict, contender: str, of: str) -> str:
    """Medians over the plain runs' median, and in brackets the same of the least."""
    runs, plain = ([run[of] for run in cell["runs"].get(c, [])] for c in (contender, "plain"))
    return f"{median(runs) / median(plain) - 1:+.1%} ({min(runs) / min(plain) - 1:+.1%})" if runs else ""


def cached_table(cells: list[dict]) -> str:
    """Everything in memory. The plain program measured against itself says how much of a difference is the machine's."""
    rows = []
    for cell in (c for c in cells if c["storage"] == "cached"):
        rows.append([cell["program"], str(len(cell["runs"]["plain"])), *(over_plain(cell, contender, of) for contender in ("speculating", "again")
                                                                         for of in ("seconds", "processor"))])
    return table(["all in memory", "runs", "wall time", "processor time", "plain again: wall time", "processor time"], rows) if rows else ""


def middle_run(cell: dict, contender: str) -> dict | None:
    runs = sorted(cell["runs"].get(contender, []), key=lambda run: run["seconds"])
    return runs[len(runs) // 2] if runs else None


def asked_by(run: dict) -> tuple[int, int]:
    """Bytes that the prefetcher asked for, and all."""
    ours = sum(of["bytes"] for who, of in run["asked"]["by"].items() if who.startswith(OURS))
    return ours, run["asked"]["bytes"]


def hinting(cell: dict, contender: str) -> dict | None:
    """Like the paper's table 4."""
    plain, run = middle_run(cell, "plain"), middle_run(cell, contender)
    if not run or not run.get("asked") or not plain["asked"]["bytes"]:
        return None
    ours, everything = asked_by(run)
    return {"hinted": ours / everything if everything else 0, "error": max(0, everything - plain["asked"]["bytes"]) / ours if ours else 0,
            "bytes": everything, "plain": plain["asked"]["bytes"], "requests": plain["asked"]["requests"]}


def dilation(cell: dict) -> str:
    found = middle_run(cell, "speculating")["statistics"]["copies"].get("dilation", 0)
    return f"{found:.1f}" if found else ""


def hinting_table(cells: list[dict]) -> str:
    rows = []
    for cell in cells:
        for contender in ("speculating", "hinted"):
            found = hinting(cell, contender)
            if not found:
                continue
            copies = middle_run(cell, "speculating")["statistics"]["copies"] if contender == "speculating" else None
            rows.append([*name(cell), CONTENDERS[contender], f"{found['plain'] / 1e6:.1f} MB", f"{found['hinted']:.1%}", f"{found['error']:.1%}",
                         f"{copies['reads']}" if copies else "", f"{copies['hinted']}" if copies else "", dilation(cell) if copies else ""])
    return table(["program", "storage", "", "plain", "by hints", "in error", "reads", "hinted", "dilation"], rows) if rows else ""


def share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else ""


def account_table(cells: list[dict]) -> str:
    """Like the paper's tables 4 and 5."""
    rows = []
    for cell in cells:
        run = middle_run(cell, "accounted")
        a = run and run["statistics"].get("account")
        if not a:
            continue
        reads, blocks = (a[what] - a.get(f"{what}_own", 0) for what in ("reads", "blocks"))
        fetched = a["prefetched_fully"] + a["prefetched_partly"] + a["prefetched_unused"]
        rows.append([*name(cell), str(reads), share(a["reads_hinted"], reads), str(blocks), share(a["blocks_hinted"], blocks),
                     share(a["bytes_hinted"], a["bytes"]), share(a["blocks_in_error"], a["blocks_hinted"] + a["blocks_in_error"]), str(fetched),
                     *(share(a[f"prefetched_{how}"], fetched) for how in ("fully", "partly", "unused")), str(a["reused"]), str(a.get("reads_own", 0))])
    return table(["program", "storage", "reads", "hinted", "blocks", "hinted", "bytes hinted", "in error", "prefetched", "fully", "partly", "not used",
                  "reused", "own"], rows) if rows else ""


def prefetching_table(cells: list[dict]) -> str:
    """What became of the hints."""
    rows = []
    for cell in cells:
        run = middle_run(cell, "speculating")
        p, o = run["statistics"]["prefetch"], run["statistics"]["original"]
        if p["hints"]:
            rows.append([*name(cell), *(str(p[k]) for k in ("hints", "named", "done", "begun", "in_memory", "late", "cancelled", "failed")),
                         str(o["waits_hinted"]), str(o["waits_missed"]), str(p["depth"])])
    return table(["program", "storage", "hints", "of names", "done", "begun", "in memory", "late", "cancelled", "failed", "long waits hinted",
                  "not hinted", "depth"], rows) if rows else ""


def footprint_table(cells: list[dict]) -> str:
    """Like the paper's table 6."""
    rows = []
    for cell in cells:
        run, plain = middle_run(cell, "speculating"), middle_run(cell, "plain")
        s, more = run["statistics"], run.get("page_faults", 0) - plain.get("page_faults", 0)
        ended = ", ".join(f"{count} {why}" for why, count in s["copies"]["ended"].items() if count)
        rows.append([*name(cell), f"{s['controller']['seconds']:.3f} s", f"{s['controller']['bytes'] / 1e6:.1f} MB", str(s["copies"]["made"]), ended,
                     str(s["copies"]["page_faults"]), str(more), f"{s['original']['stopped_ns'] / 1e6:.2f} ms"])
    return table(["program", "storage", "controller", "memory", "copies", "ended", "page faults", "more of the program's", "stopped"], rows) if rows else ""
