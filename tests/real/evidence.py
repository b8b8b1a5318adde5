# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Pagecast did to a package: the compiler's records of the build, and the statistics of every process that
the suite started, summed up."""

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

# Records of files that configure scripts only try out are none of the package's.
_TRIALS = re.compile(r"(^|/)(conftest|CMakeTmp|CMakeScratch|CompilerIdC|CompilerIdCXX|CMakeCCompiler|CMakeCXXCompiler)")
_RECORD = re.compile(r"^--- !(?:Passed|Missed)\nPass: +pagecast\nName: +(\w+)\n(.*?)^\.\.\.$", re.MULTILINE | re.DOTALL)


def remarks(tree: Path) -> dict:
    """Groups hinted, the references in them, indirect groups, and refusals by reason, over a build tree."""
    names, references = Counter(), 0
    for file in tree.rglob("*.opt.yaml"):
        if _TRIALS.search(str(file.relative_to(tree))):
            continue
        for name, body in _RECORD.findall(file.read_text(errors="replace")):
            names[name] += 1
            if name.startswith("Hinted"):
                members = re.search(r"^  - References: +'(\d+)'$", body, re.MULTILINE)
                references += int(members[1]) if members else 1
    done = ("Hinted", "HintedIndirect", "StripMined")
    return {"nests": nests(tree), "groups": names["Hinted"], "references": references, "indirect": names["HintedIndirect"],
            "refused": dict(sorted((n, c) for n, c in names.items() if n not in done))}


def nests(tree: Path) -> int:
    """Nests have no remark of their own: each is one call of the runtime in an object file."""
    objects = [f for f in tree.rglob("*.o") if not _TRIALS.search(str(f.relative_to(tree)))]
    calls = 0
    for first in range(0, len(objects), 500):
        done = subprocess.run(["readelf", "-rW", *objects[first:first + 500]], capture_output=True, text=True)
        calls += done.stdout.count(" __pagecast_enter")
    return calls


def statistics(directory: Path) -> dict:
    """Sums over the statistics files of a directory, one per process."""
    total = Counter(processes=0, paged=0, moved_bytes=0, faults=0, prefetched_hit=0, late=0, not_prefetched=0,
                    nests_opened=0, unreadable=0)
    for file in directory.glob("*.json"):
        try:
            one = json.loads(file.read_text())
            total["processes"] += 1
            total["paged"] += one["active"]
            total["moved_bytes"] += one["io"]["read_bytes"] + one["io"]["written_bytes"]
            total["faults"] += one["faults"]["events"]
            total["nests_opened"] += one["hints"]["nests_opened"]
            for name in ("prefetched_hit", "late", "not_prefetched"):
                total[name] += one["faults"][name]
        except (ValueError, KeyError):  # cut short, as by a signal
            total["unreadable"] += 1
    return dict(total)
