# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing visible changes: effects, statuses, signals, job control."""

import os
import pty
import random
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from speculating import speculation, storage  # noqa: F401

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def effects(tmp_path_factory):
    program = tmp_path_factory.mktemp("effects") / "effects"
    subprocess.run(["cc", "-O2", HERE / "effects.c", "-o", program], check=True)
    return program


def listing(directory: Path) -> list:
    """All that is to be seen of a directory."""
    return [(p.name, p.lstat().st_mode, p.lstat().st_size, p.read_bytes() if p.is_file() else b"") for p in sorted(directory.iterdir())]


def test_everything_that_can_be_seen_outside(speculation, storage, tmp_path, effects):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_bytes(os.urandom(8 << 20))
    seen = []
    for run in (speculation.plain, speculation.run):
        written = tmp_path / run.__name__
        written.mkdir()
        done = run(effects, "file", written, "300", cwd=storage(tmp_path / "data"))
        seen.append((done.returncode, done.stdout, done.stderr, listing(written)))
    assert seen[0] == seen[1]
    assert b"failures 0" in seen[0][1] and b"fifo 0" in seen[0][1] and b"breaks 0 lease 1" in seen[0][1]
    assert speculation.figures()["copies"]["made"] > 3


@pytest.mark.parametrize("stats", [False, True])
@pytest.mark.parametrize("script,status", [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -9), ("kill -TERM $$", -15), ("kill -SEGV $$", -11)])
def test_statuses(speculation, script, status, stats):
    done = subprocess.run(speculation.command("sh", "-c", script, stats=stats), capture_output=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")
    assert not stats or speculation.figures()["status"] == (status if status >= 0 else 128 - status)


@pytest.mark.parametrize("stats", [False, True])
@pytest.mark.parametrize("separator", [["--"], []])
def test_arguments_and_environment(speculation, stats, separator):
    command = speculation.command("sh", "-c", 'echo "$0" "$@" "$OF_THE_TEST"', "--", "", "-x", "--stats", stats=stats)
    command[command.index("--"):command.index("--") + 1] = separator
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, env={**os.environ, "OF_THE_TEST": "here"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "--  -x --stats here\n", "")


@pytest.mark.parametrize("stats", [False, True])
def test_a_program_that_is_not_there(speculation, stats):
    done = subprocess.run(speculation.command("/nowhere/program", stats=stats), capture_output=True, text=True, timeout=30)
    assert done.returncode == 127
    assert done.stderr == "pagecast: /nowhere/program cannot be run: no such file or directory\n"


def test_one_that_cannot_be_executed(speculation, tmp_path):
    (tmp_path / "text").write_text("text")
    done = subprocess.run(speculation.command(tmp_path / "text", stats=False), capture_output=True, text=True, timeout=30)
    assert done.returncode == 126 and "permission denied" in done.stderr


def test_the_program_is_the_process_that_was_started(speculation):
    with subprocess.Popen(speculation.command("sh", "-c", "echo $$ $PPID; read line; exec cat", stats=False), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == f"{process.pid} {os.getpid()}\n"
        process.communicate("go\n", timeout=30)
    assert process.returncode == 0


def test_no_child_is_found_that_the_program_has_not_made(speculation):
    done = subprocess.run(speculation.command("/usr/bin/python3", "-c", "import os\ntry:\n  os.wait()\nexcept ChildProcessError:\n  print('none')",
                                              stats=False), capture_output=True, text=True, timeout=30)
    assert done.stdout == "none\n"


@pytest.mark.parametrize("stats", [False, True])
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_signals_reach_the_program_once(speculation, stats, sent):
    script = f"n=0; trap 'n=$((n+1))' {sent.value}; echo ready; for i in 1 2 3 4 5; do sleep 0.1; done; echo $n"
    # Where the tests were started to go on without a terminal, SIGHUP is ignored, and a shell keeps it so.
    with subprocess.Popen(speculation.command("sh", "-c", script, stats=stats), stdout=subprocess.PIPE, text=True,
                          preexec_fn=lambda: signal.signal(sent, signal.SIG_DFL)) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(sent)
        assert process.stdout.read() == "1\n"
    assert process.returncode == 0


def test_the_controller_may_use_the_processors_of_the_program(speculation):
    """It is kept away from the program's only while that begins. Where there is no other, both begin on the same."""
    allowed = sorted(os.sched_getaffinity(0))
    script = """import os, time
own = os.sched_getaffinity(0)
with open('/proc/self/task/%d/children' % os.getpid()) as file: child = int(file.read())
end = time.monotonic() + 20
while os.sched_getaffinity(child) != own or open('/proc/%d/comm' % child).read() != 'pagecast-watch\\n':
    if time.monotonic() > end: raise SystemExit('the controller has %s' % os.sched_getaffinity(child))
    time.sleep(0.01)
print(sorted(own), sorted(os.listdir('/proc/self/fd')))"""
    for some in (allowed, allowed[-1:]):
        line = ["taskset", "-c", ",".join(map(str, some)), *speculation.command("/usr/bin/python3", "-c", script, stats=False)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.stderr, done.returncode) == (f"{some} ['0', '1', '2', '3']\n", "", 0)


@pytest.mark.parametrize("separator", [["--"], []])
def test_the_program_is_found_as_by_other_commands(tools, tmp_path, separator):
    """Without options, the command becomes it before the C library has begun, which must not be seen: neither where the program is
    looked for, nor of signals, nor of descriptors."""
    (tmp_path / "script").write_text("echo script $1\n")  # without a line that says what runs it
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "script").write_text("echo closed\n")
    for path in (tmp_path / "script", tmp_path / "closed" / "script"):
        path.chmod(0o755 if path.parent == tmp_path else 0o644)
    state = "import os, signal; print(signal.pthread_sigmask(0, []), sorted(os.listdir('/proc/self/fd')))"
    for command, path in ((["script", "a"], f"/nowhere:{tmp_path}/closed::/usr/bin:/bin"), (["./script", "a b"], ""), (["nothing"], "/usr/bin"),
                          ([str(tmp_path)], ""), (["/usr/bin/python3", "-c", state], "/usr/bin:/bin"), (["x" * 5000], "/usr/bin")):
        plain, beside = (subprocess.run([*before, *command], capture_output=True, cwd=tmp_path, env={"PATH": path}, timeout=30)
                         for before in (["/usr/bin/env"], [str(tools.pagecast), "speculate", *separator]))
        assert (beside.stdout, beside.returncode) == (plain.stdout, plain.returncode), (command, beside.stderr)


def shell(script: str, answers: list[tuple[str, bytes]]) -> str:
    """An interactive shell on a terminal of its own: each answer is typed after its text was seen."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    os.write(terminal, script.encode() + b"\n")
    seen = ""
    end = time.monotonic() + 60
    try:
        for text, keys in answers:
            while text not in seen:
                assert time.monotonic() < end and select.select([terminal], [], [], 20)[0], seen
                seen += os.read(terminal, 4096).decode(errors="replace")
            seen = seen.split(text, 1)[1]
            time.sleep(0.2)
            os.write(terminal, keys)
        return seen
    finally:
        os.kill(process, signal.SIGKILL)
        os.close(terminal)
        os.waitpid(process, 0)


@pytest.mark.parametrize("stats", [False, True])
def test_job_control(speculation, stats):
    command = " ".join(speculation.command("sh", "-c", "'echo be\"\"gun; cat; echo en\"\"ded $?'", stats=stats))
    shell(f"PS1='$ '; {command}", [
        ("begun", b"line\n"), ("line\r\nline", b"\x1a"), ("Stopped", b"jobs; echo lis''ted\n"), ("listed", b"fg\n"), ("cat", b"again\n"),
        ("again\r\nagain", b"\x03"), ("$ ", b"echo status $(($? + 1000))x\n"), ("status 1130x", b"exit\n")])


def test_the_controller_may_die(speculation, storage, tmp_path):
    """At ten moments, in some of them while copies run."""
    from slow import write_tree
    tree = write_tree(tmp_path / "tree", 4, 15)
    plain = speculation.plain("grep", "-r", "needle", ".", cwd=tree)
    for i in range(10):
        place = storage(tree, servers=8, milliseconds=0.5)
        with subprocess.Popen(speculation.command("grep", "-r", "needle", ".", stats=False), cwd=place, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            time.sleep(0.002 + 0.0035 * i)
            subprocess.run(["pkill", "-9", "-P", str(process.pid), "pagecast-watch"], check=False)
            output, errors = process.communicate(timeout=60)
        assert (output, errors, process.returncode) == (plain.stdout, b"", plain.returncode)
    left = subprocess.run(["pgrep", "-x", "pagecast-copy"], capture_output=True, text=True).stdout
    assert not [p for p in left.split() if Path(f"/proc/{p}/cwd").exists() and os.readlink(f"/proc/{p}/cwd").startswith(str(tmp_path))]


def controller_of(process: int) -> int:
    """It is the child that is called so, as soon as the program has begun."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
            if Path(f"/proc/{child}/comm").read_text() == "pagecast-watch\n":
                return int(child)
        time.sleep(0.001)
    raise AssertionError("there is no controller")


def processes_of(program: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "exe") == str(program):
                found.append((process / "stat").read_text())
        except OSError:
            continue  # it has ended
    return found


def test_the_controller_is_killed_at_each_point_of_an_injection(speculation, storage, tmp_path):
    """Fifty of the system calls by which it stops the program, has it clone itself, lets go of it, and locks up the clone."""
    for name in ("reader", "killer"):
        subprocess.run(["cc", "-O2", HERE / f"{name}.c", "-o", tmp_path / name], check=True)
    (tmp_path / "data").mkdir()
    with open(tmp_path / "data" / "file", "wb") as file:
        file.truncate(2 << 30)
    place = storage(tmp_path / "data")

    def run(turn: int, call: int | None) -> str:
        """What the killer says. Each turn reads another part of the file."""
        command = speculation.command(tmp_path / "reader", place / "file", turn * 20, stats=False)
        command[2:2] = ["--eager"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            with subprocess.Popen([tmp_path / "killer", str(controller_of(process.pid)), *([] if call is None else [str(call)])],
                                  stdout=subprocess.PIPE, text=True) as killer:
                assert killer.stdout.readline() == "ready\n"
                output, errors = process.communicate(b"go\n", timeout=60)
                said = killer.stdout.read()
        assert (output, errors, process.returncode) == (b"81920\n", b"", 0), (call, said)
        return said
    said = [run(0, None)]
    while not said[-1] and len(said) < 10:  # beside others, it may look too late for a copy
        said.append(run(len(said), None))
    calls = int(said[-1])
    assert calls > 40
    killed = [run(turn, call).startswith("killed") for turn, call in enumerate(sorted(random.Random(7).sample(range(calls), min(50, calls))), len(said))]
    assert sum(killed) >= len(killed) / 2, "in some runs, the stop may have come too late for a copy"
    end = time.monotonic() + 10
    while processes_of(tmp_path / "reader") and time.monotonic() < end:
        time.sleep(0.05)
    assert not processes_of(tmp_path / "reader")
