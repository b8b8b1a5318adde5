# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in sandboxes, and set-uid programs: they run as they do without pagecast, paged where that can be."""

import json
import os
import shutil
import subprocess

import pytest

from paging import UNHURT
from test_unhurt import Pair

NOBODY = 65534


@pytest.fixture(scope="module")
def sandbox(built, tmp_path_factory):
    """The program, in both builds; skips where this host cannot page even without a filter."""
    import tempfile
    from pathlib import Path
    disk_dir = Path(tempfile.mkdtemp(prefix="pagecast-test-", dir="/var/tmp"))
    program = Pair(built, UNHURT / "sandbox.c", tmp_path_factory.mktemp("sandbox"), disk_dir)
    program.run("never", "allow", "none")
    program.figures()
    yield program
    shutil.rmtree(disk_dir, ignore_errors=True)


@pytest.mark.parametrize("how", ["prctl", "seccomp"])
@pytest.mark.parametrize("when, action", [("after", "kill"), ("after", "trap"), ("after", "eperm"), ("asked", "kill")])
def test_a_filter_after_paging_has_begun(sandbox, when, action, how):
    sandbox.same_output(when, action, how)
    figures = sandbox.figures()
    assert figures["io"]["read_bytes"] > 0 and figures["hints"]["nests_opened"] > 0


@pytest.mark.parametrize("how", ["prctl", "seccomp"])
@pytest.mark.parametrize("action", ["kill", "trap", "enosys"])
def test_a_filter_before_there_are_large_data(sandbox, action, how):
    sandbox.same_output("before", action, how)
    figures = json.loads(sandbox.stats.read_text())
    assert not figures["active"] and "seccomp" in figures["why_not"]


def test_strict_mode_after_paging_has_begun(built, tmp_path, disk_dir):
    program = Pair(built, UNHURT / "strict.c", tmp_path, disk_dir)
    expected = built.run(program.plain)
    if expected.returncode:
        pytest.skip("this kernel has no strict mode")
    done = built.run(program.hinted)
    assert (done.returncode, done.stdout) == (0, expected.stdout)
    # The end of its thread is not that of ours: docs/programs.md.
    with subprocess.Popen(program.command(), stdout=subprocess.PIPE, text=True) as running:
        said = [running.stdout.readline() for _ in expected.stdout.splitlines()]
        running.kill()
    assert "".join(said) == expected.stdout


@pytest.mark.parametrize("action, why", [("kill", "seccomp"), ("trap", "seccomp"), ("eperm", "not permitted"),
                                         ("enosys", "not implemented")])
def test_an_inherited_filter_against_the_pager(sandbox, action, why):
    expected = sandbox.tools.run(sandbox.plain, "inherited", action, "prctl")
    done = sandbox.tools.run(*sandbox.command("inherited", action, "prctl"), env={"PAGECAST_BACKEND": "pager"})
    assert done.returncode == 0 and done.stdout == expected.stdout != ""
    assert done.stderr.count("\n") == 1 and "cannot be paged" in done.stderr
    figures = json.loads(sandbox.stats.read_text())
    assert not figures["active"] and why in figures["why_not"]


@pytest.mark.parametrize("action", ["kill", "trap", "eperm", "enosys"])
def test_an_inherited_filter_and_whatever_else_can_be_had(sandbox, action):
    expected = sandbox.tools.run(sandbox.plain, "inherited", action, "prctl")
    assert sandbox.run("inherited", action, "prctl").stdout == expected.stdout != ""


def test_an_inherited_filter_that_kills_who_copies_margins(sandbox):
    expected = sandbox.tools.run(sandbox.plain, "copies", "kill", "prctl")
    done = sandbox.tools.run(*sandbox.command("copies", "kill", "prctl"), env={"PAGECAST_BACKEND": "pager"})
    assert done.returncode == 0 and done.stdout == expected.stdout != ""
    figures = json.loads(sandbox.stats.read_text())
    assert not figures["active"] and "seccomp" in figures["why_not"]


def test_an_inherited_filter_that_refuses_to_copy_margins(sandbox):
    sandbox.same_output("copies", "eperm", "prctl")
    assert sandbox.figures()["io"]["written_bytes"] > 0


def test_an_inherited_filter_that_allows_the_pager(sandbox):
    sandbox.same_output("inherited", "allow", "seccomp")
    assert sandbox.figures()["io"]["written_bytes"] > 0


def run_as_nobody(command, group=None, **environment):
    def become():
        if group:
            group.join()
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, preexec_fn=become,
                          env={"PATH": "/usr/bin:/bin", **{k: str(v) for k, v in environment.items()}})


@pytest.fixture
def set_uid(built, disk_dir, tmp_path):
    """The program, set-uid root in both builds, in a directory that everybody can read."""
    if os.geteuid() != 0:
        pytest.skip("making set-uid programs needs root")
    if os.statvfs(disk_dir).f_flag & os.ST_NOSUID:
        pytest.skip("the test directory's file system takes no set-uid programs")
    pair = Pair(built, UNHURT / "setuid.c", tmp_path, disk_dir)
    disk_dir.chmod(0o1777)
    for name in ("plain", "hinted"):
        installed = disk_dir / f"{name}-set-uid"
        shutil.copy(getattr(pair, name), installed)
        installed.chmod(0o4755)
        setattr(pair, name, installed)
    if run_as_nobody([built.pagecast, "--version"]).returncode != 0 or not os.stat(built.runtime).st_mode & 0o004:
        pytest.skip("others may not read the build directory")
    return pair


def test_a_set_uid_program_takes_no_options_and_is_paged(set_uid, memory_group, disk_dir):
    group = memory_group(64 << 20)
    stats, elsewhere = disk_dir / "stats.json", disk_dir / "elsewhere"
    elsewhere.mkdir(mode=0o777)
    expected = run_as_nobody([set_uid.plain])
    done = run_as_nobody([set_uid.hinted], group, PAGECAST_STATS=stats, PAGECAST_BACKING=elsewhere, TMPDIR=elsewhere,
                         PAGECAST_ENABLE="0", PAGECAST_MEMORY="17M", PAGECAST_VERBOSE="1", PAGECAST_WRONG="1")
    assert (done.returncode, done.stdout) == (0, expected.stdout), done.stderr
    assert not group.was_killed()
    assert not stats.exists() and "pagecast:" not in done.stderr
    words = done.stderr.split()
    if "active 0" in done.stderr:
        pytest.skip("nothing can be paged here")
    assert words[:4] == ["secure", "1", "active", "1"]
    assert int(words[5]) > 32 << 20
    assert "backing /var/tmp/" in done.stderr and "elsewhere" not in done.stderr


def test_pagecast_run_leaves_set_uid_programs_alone(set_uid, built, disk_dir):
    stats = disk_dir / "stats.json"
    done = run_as_nobody([built.pagecast, "run", "--memory", "16M", "--backing", disk_dir, "--stats", stats, "--", set_uid.plain])
    assert (done.returncode, done.stdout) == (0, run_as_nobody([set_uid.plain]).stdout), done.stderr
    assert not stats.exists() and "set-uid" in done.stderr


@pytest.fixture
def calls(built, disk_dir, tmp_path):
    """calls.c, where everybody can run it."""
    pair = Pair(built, UNHURT / "calls.c", tmp_path, disk_dir)
    disk_dir.chmod(0o1777)
    pair.stats = disk_dir / "stats.json"
    for name in ("plain", "hinted"):
        setattr(pair, name, shutil.copy(getattr(pair, name), disk_dir / name))
    return pair


def test_system_calls_with_paged_buffers(calls, built):
    expected = built.run(calls.plain)
    done = calls.run()
    assert done.stdout == expected.stdout and "-1" not in done.stdout
    assert calls.figures()["io"]["read_bytes"] > 0


def as_nobody(calls, *before):
    if os.geteuid() != 0:
        pytest.skip("becoming another user needs root")
    if run_as_nobody([calls.tools.pagecast, "--version"]).returncode != 0:
        pytest.skip("others may not read the build directory")
    expected = calls.tools.run(calls.plain)
    done = subprocess.run([str(c) for c in [*before, "setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--",
                                            *calls.command()]], capture_output=True, text=True, timeout=120,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PAGECAST_BACKEND": "pager"})
    assert (done.returncode, done.stdout) == (0, expected.stdout), done.stderr
    return done, json.loads(calls.stats.read_text())


def test_an_ordinary_user_without_userfaultfd_for_system_calls_is_not_paged(calls):
    """Faults of the program alone (UFFD_USER_MODE_ONLY) would not do: calls.c would see EFAULT, and die of the signal."""
    with open("/proc/sys/vm/unprivileged_userfaultfd") as f:
        if f.read().strip() != "0" or os.stat("/dev/userfaultfd").st_mode & 0o002:
            pytest.skip("ordinary users may use userfaultfd here")
    done, figures = as_nobody(calls)
    assert not figures["active"] and "userfaultfd is not permitted" in figures["why_not"]
    assert "/dev/userfaultfd" in figures["why_not"]


def test_an_ordinary_user_who_may_open_the_device_is_paged(calls, disk_dir):
    device = disk_dir / "device"
    try:
        os.mknod(device, 0o020666, os.stat("/dev/userfaultfd").st_rdev)
        device.chmod(0o666)
        open(device).close()
    except OSError as reason:
        pytest.skip(f"no device: {reason}")
    shell = ["unshare", "--mount", "sh", "-c", f'mount --bind {device} /dev/userfaultfd && exec "$@"', "sh"]
    if subprocess.run([*shell, "true"], capture_output=True).returncode != 0:
        pytest.skip("no mount namespace")
    done, figures = as_nobody(calls, *shell)
    assert figures["active"] and figures["io"]["read_bytes"] > 0, done.stderr
