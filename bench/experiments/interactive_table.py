# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The interactive task's table in Markdown, made from its JSON alone, and the figures that plots share with it."""

from harness.figures import middle, quotient
from harness.markdown import NOTHING, bullets, document, lacking, measured_on, table

VERSIONS = {"original": "original on swap", "prefetch": "prefetch only", "aggressive": "aggressive release",
            "buffered": "buffered release", "incore": "in core, outside the limit", "alone": "alone"}
RESPONSE_BOUND = 1.1  # median response with buffered releases, over alone
SPEED_BOUND = 0.95    # of the program beside the task, over without it

MEANING = ("Response: median milliseconds to touch the working set, and × alone. Faults: mean major (read from disk) page faults of a "
           "sweep. Speed: of the program, median time without the task over median time beside it. In core: the original with memory "
           "enough of its own: what the task loses to shared processors and caches, whoever manages the memory.")


def responses(data: dict, program: str | None, version: str, sleep: float) -> list[dict]:
    """Of all runs together."""
    points = data["alone"] if version == "alone" else [p for p in data["points"] if (p["program"], p["version"]) == (program, version)]
    return [r for p in points if p["sleep_s"] == sleep for r in p["responses"]]


def response_ms(data: dict, program: str | None, version: str, sleep: float) -> float | None:
    value = middle([r["response_us"] for r in responses(data, program, version, sleep)])
    return None if value is None else value / 1000


def hard_faults(data: dict, program: str | None, version: str, sleep: float) -> float | None:
    """Mean of a sweep: a median would hide that every other one pays."""
    counts = [r["major"] for r in responses(data, program, version, sleep)]
    return sum(counts) / len(counts) if counts else None


def wall_s(data: dict, program: str, version: str, sleep: float | None) -> float | None:
    return middle([r["wall_s"] for p in data["points"] if (p["program"], p["version"], p["sleep_s"]) == (program, version, sleep)
                   for r in p["runs"] if r["status"] == "ok"])


def speed_kept(data: dict, program: str, version: str, sleep: float) -> float | None:
    return quotient(wall_s(data, program, version, None), wall_s(data, program, version, sleep))


def over_alone(data: dict, program: str, version: str, sleep: float) -> float | None:
    return quotient(response_ms(data, program, version, sleep), response_ms(data, None, "alone", sleep))


def over_in_core(data: dict, program: str, version: str, sleep: float) -> float | None:
    return quotient(response_ms(data, program, version, sleep), response_ms(data, program, "incore", sleep))


def versions_beside(data: dict) -> list[str]:
    return [v for v in data["versions"] if v != "alone"]


def interactive_markdown(data: dict) -> str:
    heading = (f"Limit {data['limit_bytes'] >> 20} MiB for program and task together, working set {data['working_set_bytes'] / 2**20:g} MiB, "
               f"--memory {data['memory']}; {measured_on(data)}.")
    is_there = data["programs"] and not data["unavailable"]
    return document(heading, response_table(data) if is_there else "", bullets(remarks(data)), MEANING)


def response_table(data: dict) -> str:
    names = ["program", "version", "", *(f"sleep {s:g} s" for s in data["sleeps_s"])]
    rows = []
    if "alone" in data["versions"]:
        rows.append(["", VERSIONS["alone"], "response", *(number(response_ms(data, None, "alone", s)) for s in data["sleeps_s"])])
    for program in data["programs"]:
        for version in versions_beside(data):
            rows += version_rows(data, program, version)
    return table(names, rows)


def version_rows(data: dict, program: str, version: str) -> list[list[str]]:
    sleeps = data["sleeps_s"]
    return [[program, VERSIONS[version], "response", *(response_cell(data, program, version, s) for s in sleeps)],
            ["", "", "faults", *(number(hard_faults(data, program, version, s)) for s in sleeps)],
            ["", "", "speed", *(judged(speed_kept(data, program, version, s), lambda v: v >= SPEED_BOUND or version != "buffered") for s in sleeps)]]


def response_cell(data: dict, program: str, version: str, sleep: float) -> str:
    ratio = over_alone(data, program, version, sleep)
    text = number(response_ms(data, program, version, sleep))
    return text if ratio is None else f"{text}; {judged(ratio, lambda v: v <= RESPONSE_BOUND or version != 'buffered')}"


def number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def judged(value: float | None, met) -> str:
    return number(value) if value is None or met(value) else f"**{number(value)}**"


def remarks(data: dict) -> list[str]:
    out = lacking(data, VERSIONS)
    for p in data["points"]:
        ended = [r["status"] for r in p["runs"] if r["status"] != "ok"]
        if ended:
            out.append(f"{p['program']}, {VERSIONS[p['version']]}, "
                       f"{'without the task' if p['sleep_s'] is None else f'''sleep {p['sleep_s']:g} s'''}: ended with {ended[-1]}.")
    for words, value, met in (("response within 1.1 of alone", over_alone, lambda v: v <= RESPONSE_BOUND),
                              ("response within 1.1 of that beside the program in core", over_in_core, lambda v: v <= RESPONSE_BOUND),
                              ("program keeps 95 % of its speed", speed_kept, lambda v: v >= SPEED_BOUND)):
        known = [v for p in data["programs"] for s in data["sleeps_s"] if (v := value(data, p, "buffered", s)) is not None]
        if known:
            out.append(f"Buffered, {words}: {sum(map(met, known))} of {len(known)} points.")
    return out
