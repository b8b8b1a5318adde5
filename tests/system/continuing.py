# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of harnesses share: one that was interrupted, and continues; one that refuses."""

import json
import sys


def continue_without(tools, harness, file, lose, *options) -> tuple[dict, dict, str]:
    """Takes samples out of a result, as if the harness had been interrupted before it made them, and has it make them. The
    result before and after, and the steps that it announced."""
    before = json.loads(file.read_text())
    lose(before)
    file.write_text(json.dumps({**before, "complete": False}))
    done = tools.run(sys.executable, *harness, "--build", tools.build, "--continue", file, *options, timeout=600)
    assert done.returncode == 0, done.stderr
    after = json.loads(file.read_text())
    assert after["complete"] and after["continued"] == before["continued"] + 1
    assert "Measured in 2 sittings" in done.stdout and "interrupted" not in done.stdout
    return before, after, [line.split("] ", 1)[1] for line in done.stderr.splitlines() if line.startswith("[")]


def assert_refused(tools, harness, name: str, words, said: str):
    """The harness `name` ends with status 2, prints no table, and its last line is a sentence with what is `said`."""
    done = tools.run(sys.executable, *harness, *words)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith(f"{name}: ") and said in done.stderr
