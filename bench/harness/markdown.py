# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tables of the harnesses have in common: Markdown, how a contender's times are written, where they were measured,
and what could not be."""

from harness.figures import given_up, least_wall_s, middle, typical_rates, values

NOTHING = "-"


def table(names: list[str], rows: list[list[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(names) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [names, rule, *rows])


def bullets(sentences: list[str]) -> str:
    return "\n".join(f"- {s}" for s in sentences)


def document(*parts: str) -> str:
    """The parts that are not empty, with a line between."""
    return "\n\n".join(p for p in parts if p) + "\n"


def spread(times: list[float]) -> str:
    """The median, the least and the most."""
    if not times:
        return NOTHING
    return f"{middle(times):.2f} ({min(times):.2f}–{max(times):.2f})"


def times(samples: list[dict], field: str = "wall_s") -> str:
    """Of the runs that came to their end; else how the last one ended."""
    known = values(samples, field)
    if known:
        return spread(known)
    return samples[-1]["status"] if samples else NOTHING


def times_or_least(samples: list[dict]) -> str:
    """Of runs that were given up, what they take at least."""
    return f"≥ {least_wall_s(samples):.1f}" if given_up(samples) else times(samples)


def same_output(identical: bool | None) -> str:
    return {True: "yes", False: "**NO**", None: NOTHING}[identical]


def repeated(data: dict) -> str:
    return f"medians of {data['runs']} {'run' if data['runs'] == 1 else 'runs'} (spread)"


def measured_on(data: dict) -> str:
    """The commit and the machine, with its disk's rates where they were measured."""
    machine, rates = data["machine"], typical_rates(data.get("disk_samples", []))
    disk = f", disk reads {rates['read'] / 1e6:.0f} MB/s and writes {rates['write'] / 1e6:.0f} MB/s in this run" if rates else ""
    return (f"commit {data['commit']}, Linux {data['kernel']}, {machine['processors']} × {machine['model'] or machine['architecture']}, "
            f"{machine['memory_bytes'] / 2**30:.1f} GiB{disk}")


def lacking(data: dict, words: dict[str, str]) -> list[str]:
    """What the table has not, and why. `unavailable` is the reason why there is none, or one for each contender; `words`
    are the contenders'."""
    why = data["unavailable"]
    reasons = [f"{words[c]}: {reason}" for c, reason in why.items()] if isinstance(why, dict) else [why] if why else []
    out = [f"Not measured: {reason}." for reason in reasons]
    if not data["complete"]:
        out.append("This run was interrupted or could not be made: the table has what was measured until then.")
    if data.get("continued"):
        out.append(f"Measured in {data['continued'] + 1} sittings: the disk may have been faster in one than in another.")
    if data.get("other_swap"):
        out.append("The machine has swap besides the harness's own: some of the original's pages may be there.")
    return out
