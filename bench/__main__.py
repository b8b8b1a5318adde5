# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs an experiment: python bench NAME OPTIONS. Without a name it lists the experiments."""

import ast
import runpy
import sys
from pathlib import Path

EXPERIMENTS = ("demo", "incore", "nine", "unmodified", "field", "cases", "releases", "interactive", "speculate", "sharing", "sharing_sim", "give_back", "foresight", "cliff", "share")


def first_sentence(name: str) -> str:
    source = (Path(__file__).parent / "experiments" / f"{name}.py").read_text()
    words = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0]
    return " ".join(words.split()).split(". ")[0].rstrip(".") + "."


def main() -> int:
    names = sys.argv[1:2]
    if names and names[0] in EXPERIMENTS:
        sys.argv[:2] = [names[0]]
        runpy.run_module(f"experiments.{names[0]}", run_name="__main__")
        return 0
    if names and names[0] not in ("-h", "--help"):
        print(f"bench: there is no experiment {names[0]}; there are {', '.join(EXPERIMENTS)}", file=sys.stderr)
        return 2
    print("python bench NAME OPTIONS; each experiment explains its options with --help.\n")
    for name in EXPERIMENTS:
        print(f"  {name:12} {first_sentence(name)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
