# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The field's table in Markdown, made from its JSON alone."""

from harness.figures import identical, middle, quotient, values
from harness.markdown import bullets, document, lacking, measured_on, repeated, table, times

CONTENDERS = {"byhand": "by hand: direct I/O, io_uring", "heap": "pagecast, heap", "mapped": "pagecast, mapped file",
              "mmap": "mmap, default advice", "swap": "Linux swap"}
OURS = {"heap": "swap", "mapped": "mmap"}  # and what it must never be slower than
BOUND = 1.25

MEANING = (f"Each cell: seconds of the pass, median (spread); × by hand, in bold above {BOUND}. ≥: given up after that time. Heap data "
           "are made by the program before the pass, so that what does not fit is on disk; a mapped file starts with an empty page "
           "cache, and the pass ends when what was stored is on the disk.")


def field_markdown(data: dict) -> str:
    heading = (f"Limit {data['limit_bytes'] >> 20} MiB, data {data['data_bytes'] >> 20} MiB, {data['gathers']} gathers; {repeated(data)}; "
               f"{measured_on(data)}.")
    return document(heading, main_table(data), bullets(remarks(data)), MEANING)


def main_table(data: dict) -> str:
    names = ["", *(w["words"] for w in data["workloads"])]
    return table(names, [[CONTENDERS[c], *(cell(w, c) for w in data["workloads"])] for c in data["contenders"]])


def pass_s(workload: dict, contender: str) -> float | None:
    return middle(values(workload["samples"][contender], "pass_s"))


def given_up_after(workload: dict, contender: str) -> float | None:
    """The longest that a run of it lasted before it was given up: its pass may have lasted a little less."""
    return max((s["wall_s"] for s in workload["samples"][contender] if s["status"] == "timeout"), default=None)


def cell(workload: dict, contender: str) -> str:
    samples = workload["samples"][contender]
    if given_up_after(workload, contender):
        return f"≥ {given_up_after(workload, contender):.0f}"
    text = times(samples, "pass_s")
    ratio = quotient(pass_s(workload, contender), pass_s(workload, "byhand"))
    if contender == "byhand" or ratio is None:
        return text
    shown = f"{ratio:.2f}"
    return f"{text}; {f'**{shown}**' if contender in OURS and ratio > BOUND else shown}"


def remarks(data: dict) -> list[str]:
    out = lacking(data, CONTENDERS)
    for ours, theirs in OURS.items():
        out += judgement(data, ours, theirs)
    out += [f"{w['words']}: NOT every output is the same." for w in data["workloads"] if identical(w["samples"]) is False]
    out += [f"{w['words']}: {CONTENDERS[c]} ended with {s['status']}." for w in data["workloads"] for c in CONTENDERS
            for s in w["samples"][c][-1:] if s["status"] not in ("ok", "timeout")]
    return out


def judgement(data: dict, ours: str, theirs: str) -> list[str]:
    """How many of the columns are as they must be, where they were measured."""
    ratios = {w["words"]: quotient(pass_s(w, ours), pass_s(w, "byhand")) for w in data["workloads"]}
    known = {n: r for n, r in ratios.items() if r is not None}
    out = []
    if known:
        missed = [n for n, r in known.items() if r > BOUND]
        out.append(f"{CONTENDERS[ours]}: within {BOUND} times of by hand: {len(known) - len(missed)} of {len(known)}"
                   f"{'; missed by ' + ', '.join(missed) if missed else ''}.")
    slower = [w["words"] for w in data["workloads"] if not given_up_after(w, theirs) and (quotient(pass_s(w, ours), pass_s(w, theirs)) or 0) > 1]
    if slower:
        out.append(f"{CONTENDERS[ours]}: slower than {CONTENDERS[theirs]}: {', '.join(slower)}.")
    return out
