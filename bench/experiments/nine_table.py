# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The nine programs' table in Markdown, made from their JSON alone."""

from dataclasses import dataclass

from harness.figures import FAULTS, cpu, ended, figures, geometric_mean, stalls, values
from harness.markdown import NOTHING, bullets, document, lacking, measured_on, repeated, same_output, spread, table, times

CONTENDERS = {"original": "the original on swap", "pagecast": "pagecast under the limit",
              "in_core_plain": "the plain build in core", "in_core_pagecast": "pagecast's build in core"}


@dataclass(frozen=True)
class Target:
    figure: str  # its name in figures()
    comparison: str
    bound: float
    words: str
    short: str  # for the heading of its column

    def met(self, value: float) -> bool:
        return {">=": value >= self.bound, "<=": value <= self.bound}[self.comparison]


TARGETS = {t.figure: t for t in (
    Target("speed_up", ">=", 3.0, "at least 3 times faster than the original on swap", "≥ 3"),
    Target("prefetched_hits", ">=", 0.95, "at least 95 % of the faults prefetched", "≥ 95 %"),
    Target("stall_removed", ">=", 0.9, "at least 90 % of the I/O stall removed", "≥ 90 %"),
    Target("to_limit", "<=", 1.3, "within 1.3 times of the limit", "≤ 1.3"),
    Target("in_core_ratio", "<=", 1.03, "at most 3 % slower in core", "≤ 1.03"),
    Target("code_growth", "<=", 0.2, "at most 20 % more machine code", "≤ +20 %"),
    Target("compile_ratio", "<=", 1.5, "at most 1.5 times the compile time", "≤ 1.5"),
)}
MEAN_SPEED_UP = Target("mean_speed_up", ">=", 5.0, "a geometric mean of the speed-ups of at least 5", "≥ 5")


def nine_markdown(data: dict) -> str:
    """The whole report: what was measured where, two tables, what was missed, what the words mean."""
    entries = [(e, figures(e, data["disk_samples"])) for e in data["programs"]]
    parts = [f"Limit {data['limit_bytes'] >> 20} MiB; {repeated(data)}; {measured_on(data)}.", main_table(entries)]
    if any(e["samples"]["original"] or e["samples"]["pagecast"] for e, _ in entries):
        parts.append(time_table(entries))
    return document(*parts, bullets(remarks(data, entries)), MEANING)


def main_table(entries: list[tuple[dict, dict]]) -> str:
    def head(words: str, figure: str) -> str:
        return f"{words} ({TARGETS[figure].short})"

    names = ["program", "original on swap, s", "pagecast, s", head("speed-up", "speed_up"),
             head("prefetched hits", "prefetched_hits"), "late / missed", head("stall removed", "stall_removed"),
             "limit, s", head("to the limit", "to_limit"), head("in core", "in_core_ratio"), head("code", "code_growth"),
             head("compile time", "compile_ratio"), "same output"]
    return table(names, [main_row(e, f) for e, f in entries])


def main_row(entry: dict, f: dict) -> list[str]:
    samples = entry["samples"]
    limit = NOTHING if f["limit_s"] is None else f"{f['limit_s']:.2f} {f['limit_is']}"
    return [f"{entry['name']}, {entry['multiple']:g} × limit", times(samples["original"]), times(samples["pagecast"]),
            judged(f, "speed_up", "≥ {:.1f}" if f["speed_up_is_least"] else "{:.1f}"),
            judged(f, "prefetched_hits", "{:.1%}"), late_and_missed(f), stall_removed(f), limit,
            judged(f, "to_limit", "{:.2f}"), judged(f, "in_core_ratio", "{:.3f}"), judged(f, "code_growth", "{:+.1%}"),
            judged(f, "compile_ratio", "{:.2f}"), same_output(f["identical"])]


def judged(f: dict, figure: str, form: str) -> str:
    """In bold where the target is missed, by the exact value: **1.30** may be 1.304."""
    value = f[figure]
    if value is None:
        return NOTHING
    text = percent_spaced(form.format(value))
    return f"**{text}**" if verdict(f, figure) is False else text


def verdict(f: dict, figure: str) -> bool | None:
    """Whether the target is met. None: not known, as of a speed-up of which only a part was seen."""
    value = f[figure]
    if value is None:
        return None
    met = TARGETS[figure].met(value)
    return None if figure == "speed_up" and f["speed_up_is_least"] and not met else met


def stall_removed(f: dict) -> str:
    """With what can be removed at best, where the disk cannot be hidden behind the computing."""
    best = f["stall_removed_at_best"]
    known = f["stall_removed"] is not None and best is not None
    return judged(f, "stall_removed", "{:.1%}") + (percent_spaced(f" (of {best:.0%})") if known and best < 0.995 else "")


def percent_spaced(text: str) -> str:
    return text.replace("%", " %")


def late_and_missed(f: dict) -> str:
    """Shares, and pages in a run."""
    if not f["fault_shares"]:
        return NOTHING
    return " / ".join(percent_spaced(f"{f['fault_shares'][k]:.2%}") + f" ({f['fault_pages'][k]:.0f})" for k in FAULTS[1:])


def time_table(entries: list[tuple[dict, dict]]) -> str:
    names = ["program", "original: computing, s", "stall, s", "pagecast: computing, s", "stall, s", "its own threads, s",
             "CPU in core, s", "least bytes / disk, s", "moved bytes / disk, s", "read, MiB (least)", "written, MiB (least)"]
    return table(names, [time_row(e, f) for e, f in entries])


def time_row(entry: dict, f: dict) -> list[str]:
    samples = entry["samples"]
    least = entry["least_bytes"] or {}
    return [entry["name"], spread(values(samples["original"], "first_thread_cpu_s")), spread(stalls(samples["original"])),
            spread(values(samples["pagecast"], "first_thread_cpu_s")), spread(stalls(samples["pagecast"])),
            spread(other_threads(samples["pagecast"])), spread([cpu(s) for s in ended(samples["in_core_plain"])]),
            *(NOTHING if f[k] is None else f"{f[k]:.2f}" for k in ("disk_s", "moved_s")),
            mebibytes(f["read_bytes"], least.get("read")), mebibytes(f["written_bytes"], least.get("written"))]


def other_threads(samples: list[dict]) -> list[float]:
    """CPU time of the threads besides the program's own."""
    return [max(0.0, cpu(s) - s["first_thread_cpu_s"]) for s in ended(samples) if s["first_thread_cpu_s"] is not None]


def mebibytes(moved: float | None, least: int | None) -> str:
    if moved is None:
        return NOTHING
    return f"{moved / 2**20:.0f}" + (f" ({least / 2**20:.0f})" if least is not None else "")


def remarks(data: dict, entries: list[tuple[dict, dict]]) -> list[str]:
    """The mean, then what cannot be said, then what is wrong, then what was missed."""
    out = mean_speed_up([f for _, f in entries])
    out += lacking(data, CONTENDERS)
    for entry, f in entries:
        out += [f"{entry['name']}: {sentence}" for sentence in troubles(entry, f)]
    return out + missed(entries)


def mean_speed_up(all_figures: list[dict]) -> list[str]:
    known = [f for f in all_figures if f["speed_up"] is not None]
    if len(known) < 2:
        return []
    mean = geometric_mean([f["speed_up"] for f in known])
    is_least = any(f["speed_up_is_least"] for f in known)
    ending = "met" if MEAN_SPEED_UP.met(mean) else "not known" if is_least else "missed"
    return [f"Geometric mean of the speed-ups of {len(known)} programs: {'at least ' if is_least else ''}{mean:.2f} "
            f"({MEAN_SPEED_UP.short}: {ending})."]


def troubles(entry: dict, f: dict) -> list[str]:
    """What makes figures void, or needs to be known with them."""
    out = [f"in core: {entry['in_core_refusal']}"] if entry["in_core_refusal"] else []
    for contender, samples in entry["samples"].items():
        endings = dict.fromkeys(s["status"] for s in samples if s["status"] != "ok")
        out += [f"{CONTENDERS[contender]} ended with {e}" for e in endings]
    if any(s["stats"] is None for s in ended(entry["samples"]["pagecast"])):
        out.append("pagecast left no statistics")
    out += list(dict.fromkeys(f"pagecast paged nothing: {s['stats'].get('why_not') or 'the data fit in the budget'}"
                              for s in ended(entry["samples"]["pagecast"]) if s["stats"] and not s["stats"]["active"]))
    if f["identical"] is False:
        out.append("NOT every output is the same")
    return out


def missed(entries: list[tuple[dict, dict]]) -> list[str]:
    """One sentence for each target that was measured."""
    out = []
    for figure, target in TARGETS.items():
        known = {e["name"]: verdict(f, figure) for e, f in entries if verdict(f, figure) is not None}
        short = [name for name, met in known.items() if not met]
        if known:
            out.append(f"{target.words[0].upper()}{target.words[1:]}: {len(known) - len(short)} of {len(known)}"
                       + (f"; missed by {', '.join(short)}" if short else "") + ".")
    return out


MEANING = """Bold: the target is missed. *Original*: the same source and level by plain clang, on Linux swap under the limit; \
*pagecast*: under the same limit, the runtime's own memory included; both start cold. *Prefetched hits*: of the pages that \
the original would have faulted on, those that a hint had brought before the program came; *late*: still in flight; \
*missed*: read because the program faulted. *Stall*: wall time less the CPU time (user and system) of the program's own \
thread; *stall removed*: 1 - pagecast's / the original's, and in brackets \
what a system at the limit would remove, where that is not all. *Limit*: the larger of the CPU time in core and the least bytes \
that any system with that memory must move at the disk's rates in this run; \
*moved bytes / disk*: the same of the bytes that pagecast moved: what a run took longer, the disk stood still or did worse. *In core*: CPU time of pagecast's build over \
plain's without a limit. *Code*: executable sections. *Compile time*: from source to executable, medians of 5."""
