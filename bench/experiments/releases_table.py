# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of releases in Markdown, made from its JSON alone."""

from harness.figures import ended, identical, middle, moved, quotient, removed, values
from harness.markdown import NOTHING, bullets, document, lacking, measured_on, repeated, same_output, table, times

POLICIES = {"none": "prefetching alone", "aggressive": "releases at once", "buffered": "buffered releases"}
FASTER, FASTER_ON, NEVER_SLOWER = 1.1, 4, 0.98  # buffered over prefetching alone: on so many programs; on any
VECTOR_AVOIDED, VECTOR_FASTER = 0.9, 1.25       # MATVEC, buffered: of the vector's reads; over releases at once
SECOND_SWEEP = 0.6                              # of the data that it may read

MEANING = ("Seconds, median (spread). Speed-ups: of buffered releases over prefetching alone and over releases at once. Moved: GiB read "
           "from the backing store and, behind the plus, written to it.")


def releases_markdown(data: dict) -> str:
    return document(f"Limit {data['limit_bytes'] >> 20} MiB; {repeated(data)}; {measured_on(data)}.",
                    main_table(data) if data["programs"] else "", bullets(remarks(data)), MEANING)


def main_table(data: dict) -> str:
    names = ["program", *(f"{POLICIES[k]}, s" for k in data["policies"]), "over prefetching alone", "over releases at once",
             *(f"moved, {POLICIES[k]}" for k in data["policies"]), "same output"]
    return table(names, [row(data, e) for e in data["programs"]])


def row(data: dict, entry: dict) -> list[str]:
    kinds = data["policies"]
    alone, at_once = gain(entry, "none"), gain(entry, "aggressive")
    return [f"{entry['name']}, {entry['multiple']:g} × limit", *(times(entry["samples"][k]) for k in kinds),
            NOTHING if alone is None else f"{alone:.2f}" if alone >= NEVER_SLOWER else f"**{alone:.2f}**",
            NOTHING if at_once is None else f"{at_once:.2f}", *(traffic(entry["samples"][k]) for k in kinds),
            same_output(identical(entry["samples"]))]


def gain(entry: dict, over: str) -> float | None:
    """The speed-up of buffered releases over another policy."""
    return quotient(middle(values(entry["samples"][over], "wall_s")), middle(values(entry["samples"]["buffered"], "wall_s")))


def traffic(samples: list[dict]) -> str:
    read, written = (moved(samples, f) for f in ("read_bytes", "written_bytes"))
    return NOTHING if read is None or written is None else f"{read / 2**30:.2f} + {written / 2**30:.2f}"


def vector_read(entry: dict, policy: str) -> float | None:
    """Bytes of the vector that were read: by hints, and every page that a fault read, whose array is not known."""
    counts = []
    for s in ended(entry["samples"][policy]):
        if s["stats"]:
            hinted = sum(site["prefetched"] for site in s["stats"]["sites"] if site["name"] == entry["vector"]["site"])
            counts.append(4096 * (hinted + s["stats"]["faults"]["not_prefetched"]))
    return middle(counts)


def second_sweep(data: dict) -> float | None:
    """The share of the data that the second sweep read."""
    one, two = (moved(data["second_sweep"]["samples"][k], "read_bytes") for k in ("one", "two"))
    return None if one is None or two is None else (two - one) / data["second_sweep"]["data_bytes"]


def met(is_met: bool) -> str:
    return "met" if is_met else "**missed**"


def remarks(data: dict) -> list[str]:
    out = lacking(data, POLICIES)
    gains = {e["name"]: g for e in data["programs"] if (g := gain(e, "none")) is not None}
    if gains:
        faster, slower = [n for n, g in gains.items() if g >= FASTER], [n for n, g in gains.items() if g < NEVER_SLOWER]
        judged = f"; ≥ {FASTER_ON}: {met(len(faster) >= FASTER_ON)}" if len(gains) >= FASTER_ON else ""
        out.append(f"Buffered releases at least 10 % faster than prefetching alone: {', '.join(faster) or 'none'} ({len(faster)} of "
                   f"{len(gains)}{judged}); more than 2 % slower: {', '.join(slower) or 'none'}.")
    for entry in data["programs"]:
        if entry["vector"]:
            out += vector_remarks(entry)
    share = second_sweep(data)
    if share is not None:
        out.append(f"A second sweep over {data['second_sweep']['data_bytes'] / data['limit_bytes']:g} × the limit reads {share:.0%} of the "
                   f"data (< 60 %: {met(share < SECOND_SWEEP)}).".replace("%", " %", 1))
    return out


def vector_remarks(entry: dict) -> list[str]:
    reads = {k: vector_read(entry, k) for k in POLICIES}
    avoided = removed(entry["vector"]["bytes"], reads["buffered"]) if reads["buffered"] is not None else None
    at_once = gain(entry, "aggressive")
    out = []
    if avoided is not None:
        out.append(f"MATVEC's vector, buffered: {100 * avoided:.1f} % of its reads avoided (≥ 90 %: {met(avoided >= VECTOR_AVOIDED)}); read "
                   + ", ".join(f"{POLICIES[k]}: {r / 2**20:.0f} MiB" for k, r in reads.items() if r is not None)
                   + f"; without any reuse it would be {entry['vector']['bytes'] / 2**20:.0f} MiB.")
    if at_once is not None:
        out.append(f"MATVEC, buffered over at once: {at_once:.2f} (≥ 1.25: {met(at_once >= VECTOR_FASTER)}).")
    return out
