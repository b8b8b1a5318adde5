# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of the cases in Markdown, made from its JSON alone."""

from harness.figures import given_up, identical, longer, middle, quotient, values
from harness.markdown import NOTHING, bullets, document, lacking, measured_on, repeated, same_output, table, times_or_least

CONTENDERS = {"incore": "in core", "pagecast": "pagecast", "without": "pagecast, no slices", "swap": "Linux swap"}
MOST_OF_SLICES = 1.1  # with slices over without
MOST_OF_TWIN = 1.2    # the pass over that of the same written otherwise

MEANING = ("Seconds of the whole program, median (spread). ≥: stopped after that time, five times the best of the others. "
           "Read: MB from the disk, with slices and without; waits: pages that were late or not foreseen at all.")


def cases_markdown(data: dict) -> str:
    heading = f"Each case under its own limit; {repeated(data)}; {measured_on(data)}."
    return document(heading, main_table(data), bullets(remarks(data)), MEANING)


def main_table(data: dict) -> str:
    names = ["", "limit", *(CONTENDERS[c] for c in data["contenders"]), "slices ×", "swap ÷ pagecast", "read", "waits", "same"]
    return table(names, [row(case, data["contenders"]) for case in data["cases"]])


def row(case: dict, contenders: list[str]) -> list[str]:
    return [case["words"], f"{case['limit_bytes'] >> 20} MiB", *(times_or_least(case["samples"][c]) for c in contenders),
            ratio(of_slices(case), MOST_OF_SLICES), speed(case), both(case, read_mb), both(case, waits), same_output(identical(case["samples"]))]


def of_slices(case: dict) -> float | None:
    return longer(case["samples"], "pagecast", "without")


def ratio(value: float | None, most: float) -> str:
    if value is None:
        return NOTHING
    return f"**{value:.2f}**" if value > most else f"{value:.2f}"


def speed(case: dict) -> str:
    value = longer(case["samples"], "swap", "pagecast")
    if value is None:
        return NOTHING
    least = "≥ " if given_up(case["samples"]["swap"]) else ""
    return f"**{least}{value:.2f}**" if value < 1 else f"{least}{value:.2f}"


def statistic(case: dict, contender: str, of) -> float | None:
    return middle([of(s["stats"]) for s in case["samples"][contender] if s["status"] == "ok" and s["stats"]])


def read_mb(case: dict, contender: str) -> float | None:
    return statistic(case, contender, lambda s: (s["io"]["read_bytes"] + s.get("files", {}).get("hinted_bytes", 0)) / 1e6)


def waits(case: dict, contender: str) -> float | None:
    return statistic(case, contender, lambda s: s["faults"]["late"] + s["faults"]["not_prefetched"])


def both(case: dict, of) -> str:
    shown = [of(case, c) for c in ("pagecast", "without")]
    return " / ".join(NOTHING if x is None else f"{x:.0f}" for x in shown)


def remarks(data: dict) -> list[str]:
    out = lacking(data, CONTENDERS)
    out += judgement(data, of_slices, MOST_OF_SLICES, "with slices")
    out += twins(data)
    slower = [c["words"] for c in data["cases"] if (longer(c["samples"], "pagecast", "swap") or 0) > 1]
    out += [f"Slower than on swap: {', '.join(slower)}."] if slower else []
    out += [f"{c['words']}: NOT every output is the same." for c in data["cases"] if identical(c["samples"]) is False]
    out += [f"{c['words']}: {CONTENDERS[k]} ended with {s['status']}." for c in data["cases"] for k in CONTENDERS
            for s in c["samples"][k][-1:] if s["status"] not in ("ok", "timeout")]
    return out


def judgement(data: dict, of, most: float, words: str) -> list[str]:
    known = {c["words"]: r for c in data["cases"] if (r := of(c)) is not None}
    missed = [n for n, r in known.items() if r > most]
    return [f"At most {most} times as long {words}: {len(known) - len(missed)} of {len(known)}"
            f"{'; missed by ' + ', '.join(missed) if missed else ''}."] if known else []


def twins(data: dict) -> list[str]:
    by_name, out = {c["name"]: c for c in data["cases"]}, []
    for case in data["cases"]:
        twin = by_name.get(case["twin"])
        passes = [middle(values(c["samples"]["pagecast"], "pass_s")) for c in (case, twin)] if twin else [None, None]
        if (value := quotient(*passes)) is not None:
            out.append(f"The pass of \"{case['words']}\" takes {ratio(value, MOST_OF_TWIN)} times that of \"{twin['words']}\".")
    return out
