# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pagecast doctor, --version and --help."""

import contextlib
import json
import os
import re
import subprocess

import pytest

from failing_disks import Unavailable, failing_files

CHECKS = {"kernel", "userfaultfd", "userfaultfd features", "io_uring", "process_madvise", "cgroup", "memory", "limit", "swap",
          "backing", "direct I/O", "back ends", "clang", "runtime"}


def test_text_has_a_line_for_every_check_and_advice_for_every_lack(tools):
    done = tools.run(tools.pagecast, "doctor", "--no-disk")
    lines = done.stdout.splitlines()
    for name in CHECKS:
        assert any(re.match(rf"(ok|warn|fail)\s+{name}\s", line) for line in lines), name
    for line, following in zip(lines, lines[1:]):
        if line.startswith(("warn", "fail")):
            assert following.strip().startswith("-> "), line
    assert done.returncode == (1 if any(line.startswith("fail") for line in lines) else 0)


def test_json(tools, disk_dir):
    done = tools.run(tools.pagecast, "doctor", "--json", "--disk-seconds", "0.2", env={"PAGECAST_BACKING": str(disk_dir)})
    report = json.loads(done.stdout)
    assert CHECKS < {c["name"] for c in report["checks"]}
    assert all(c["status"] in ("ok", "warn", "fail") for c in report["checks"])
    assert report["healthy"] == (done.returncode == 0)
    assert report["backing"] == str(disk_dir)
    assert report["memory"]["total_bytes"] > 0
    if report["disk"]:
        assert all(report["disk"][k] > 0 for k in ("read_bytes_per_s", "write_bytes_per_s", "random_reads_per_s"))
    assert list(disk_dir.iterdir()) == []


def test_what_the_back_ends_lack_is_what_another_check_warns_of(tools):
    """As an ordinary user, whom the kernel need not refuse io_uring."""
    as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    if as_user and subprocess.run([*as_user, tools.pagecast, "--version"], capture_output=True).returncode:
        pytest.skip("another user cannot run the command where it lies")
    checks = {c["name"]: c for c in json.loads(tools.run(*as_user, tools.pagecast, "doctor", "--json", "--no-disk").stdout)["checks"]}
    named = [n for n in ("userfaultfd", "io_uring") if n in (checks["back ends"]["advice"] or "").split()]
    assert (checks["back ends"]["status"] == "warn") == bool(named)
    assert all(checks[n]["status"] == "warn" for n in named), checks


def test_each_backing_directory_is_measured(tools, disk_dir):
    places = [disk_dir / name for name in ("one", "two")]
    for place in places:
        place.mkdir()
    done = tools.run(tools.pagecast, "doctor", "--json", "--disk-seconds", "0.2", env={"PAGECAST_BACKING": ",".join(map(str, places))})
    report = json.loads(done.stdout)
    assert [c["detail"].split(",")[0] for c in report["checks"] if c["name"] == "backing"] == [str(p) for p in places]
    if report["disk"]:
        assert [d["directory"] for d in report["disks"]] == [str(p) for p in places]


def test_bad_backing_directory_fails_with_advice(tools, tmp_path):
    done = tools.run(tools.pagecast, "doctor", "--json", "--no-disk", env={"PAGECAST_BACKING": str(tmp_path / "none")})
    assert done.returncode == 1
    backing = next(c for c in json.loads(done.stdout)["checks"] if c["name"] == "backing")
    assert backing["status"] == "fail" and backing["advice"]


def test_backing_can_be_named_as_for_run(tools, tmp_path):
    """What is no directory is said to be none, once."""
    (tmp_path / "file").touch()
    for named in (tmp_path / "file", tmp_path / "none"):
        done = tools.run(tools.pagecast, "doctor", "--json", "--backing", named)
        report = json.loads(done.stdout)
        failed = [c for c in report["checks"] if c["status"] == "fail"]
        assert done.returncode == 1 and [c["name"] for c in failed] == ["backing"], failed
        assert str(named) in failed[0]["detail"] and report["backing"] == str(named) and report["disks"] == []


def test_the_file_system_of_the_backing_directory_is_named(tools, disk_dir):
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    with contextlib.ExitStack() as stack:
        try:
            place, _ = stack.enter_context(failing_files(disk_dir))
        except Unavailable as reason:
            pytest.skip(str(reason))
        done = tools.run(tools.pagecast, "doctor", "--json", "--no-disk", env={"PAGECAST_BACKING": str(place)})
        checks = {c["name"]: c for c in json.loads(done.stdout)["checks"]}
        assert checks["backing"]["status"] == "ok" and f"{place}, fuse, " in checks["backing"]["detail"]
        assert checks["direct I/O"]["status"] == "ok"


def test_a_backing_directory_in_memory_fails(tools):
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    done = tools.run(tools.pagecast, "doctor", "--json", "--no-disk", env={"PAGECAST_BACKING": "/dev/shm"})
    backing = next(c for c in json.loads(done.stdout)["checks"] if c["name"] == "backing")
    assert done.returncode == 1 and "is a tmpfs, which lives in the memory that is to be saved" in backing["detail"]


def test_wrong_clang_fails(tools, tmp_path):
    clang = tmp_path / "clang"
    clang.write_text("#!/bin/sh\necho 17.0.6\n")
    clang.chmod(0o755)
    done = tools.run(tools.pagecast, "doctor", "--no-disk", env={"PAGECAST_CLANG": str(clang)})
    assert done.returncode == 1 and "LLVM 19 only" in done.stdout


def test_memory_limit_of_the_control_group_is_seen(tools, memory_group):
    from harness import runs
    group = memory_group(96 << 20)
    done = runs.run([tools.pagecast, "doctor", "--json", "--no-disk"], group)
    report = json.loads(done.output)
    assert report["cgroup"]["limit_bytes"] == 96 << 20
    group_pools = [p for p in report["limit"]["pools"] if not p["machine"]]
    assert min(p["size_bytes"] for p in group_pools) == 96 << 20
    assert 64 << 20 < report["limit"]["budget_bytes"] < 96 << 20


def test_the_cap_is_part_of_the_limit(tools):
    done = tools.run(tools.pagecast, "doctor", "--json", "--no-disk", env={"PAGECAST_MEMORY": "48M"})
    limit = json.loads(done.stdout)["limit"]
    assert limit["cap_bytes"] == 48 << 20 and limit["budget_bytes"] <= 48 << 20


def test_version(tools):
    done = tools.run(tools.pagecast, "--version")
    assert done.returncode == 0 and re.fullmatch(r"pagecast \d+\.\d+\.\d+( \(commit [0-9a-f]{12}\))?\n", done.stdout)


def test_help_teaches(tools):
    for arguments in ((), ("--help",), ("run", "--help"), ("doctor", "--help")):
        done = tools.run(tools.pagecast, *arguments)
        assert done.returncode == 0 and done.stderr == "", done.stderr
    text = tools.run(tools.pagecast, "--help").stdout
    assert "Examples:" in text and "pagecast run --memory 256M" in text
    assert "binary" in tools.run(tools.pagecast, "run", "--help").stdout


def test_words_of_other_commands_are_understood(tools):
    for word in ("help", "version"):
        said = tools.run(tools.pagecast, word)
        assert said.returncode == 0 and said.stdout == tools.run(tools.pagecast, f"--{word}").stdout


def test_unknown_option(tools):
    done = tools.run(tools.pagecast, "doctor", "--jsn")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "--jsn" in done.stderr
