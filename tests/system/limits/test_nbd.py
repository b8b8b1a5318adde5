# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages on an NBD server: what programs compute while it errs, is slow, goes away, comes back, or was none."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
enum { kBlocks = 6, kWords = 1 << 20 };
static unsigned long *block[kBlocks];
static unsigned long pass(void) {
  unsigned long sum = 0;
  for (int b = 0; b < kBlocks; ++b)
    for (unsigned long i = 0; i < kWords; ++i) sum = sum * 31 + block[b][i];
  return sum;
}
static void fill(int n) {
  for (int b = 0; b < kBlocks; ++b)
    for (unsigned long i = 0; i < kWords; ++i) block[b][i] = i * 2654435761u + b + n;
}
int main(int argc, char **argv) {
  for (int b = 0; b < kBlocks; ++b) block[b] = malloc(kWords * sizeof(long));
  fill(0);
  if (argc > 1 && argv[1][0] == 'f') {  // both sides change everything
    const pid_t child = fork();
    fill(child == 0);
    printf("%s %lx\n", child ? "parent" : "child", pass());
    fflush(stdout);
    if (child == 0) _exit(0);
    int status;
    waitpid(child, &status, 0);
    return status != 0;
  }
  if (argc > 1 && argv[1][0] == 'r' && syscall(SYS_fork) == 0) { // a child that nobody tells of the fork
    dprintf(1, "%ld\n", (long)syscall(SYS_getpid));
    for (;;) pause();
  }
  if (argc > 1) puts("filled"), fflush(stdout), getchar();
  printf("%lx\n", pass());
  printf("%lx\n", pass());
  if (waitpid(-1, NULL, 0) != -1) puts("a child that is not mine");
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    home = tmp_path_factory.mktemp("program")
    (home / "p.c").write_text(SOURCE)
    return home / "p.c"


@pytest.fixture(scope="module")
def program(built, source):
    return built.compile("clang-19", source, "-O2")


@pytest.fixture
def serve(tmp_path):
    """A function that starts nbdkit on a socket and returns the process and the address; all end with the test."""
    if not shutil.which("nbdkit"):
        pytest.skip("nbdkit is not installed")
    started = []

    def start(*arguments, name="s"):
        place = tmp_path / name
        with contextlib.suppress(FileNotFoundError):
            place.unlink()
        server = subprocess.Popen(["nbdkit", "-f", "-U", place, *map(str, arguments)], stderr=subprocess.DEVNULL)
        started.append(server)
        while not place.exists():
            assert server.poll() is None
            time.sleep(0.01)
        return server, f"nbd+unix:///?socket={place}"
    yield start
    for server in started:
        server.kill()
        server.wait()


@pytest.fixture(params=["alone", "one of two"])
def backing(serve, request):
    """A function that names where pages go: the server, or it and another one that stays."""
    def of(address):
        return address if request.param == "alone" else f"{address},{serve('memory', '128M', name='other')[1]}"
    return of


@pytest.fixture
def run(program, tmp_path, tools):
    if not (tools.pagecast.parent.parent / "lib/pagecast/pagecast-nbd").exists():
        pytest.skip("built without libnbd")

    def begin(backing, *arguments, what=program, **options):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
        clean |= {"PAGECAST_MEMORY": "16M", "PAGECAST_STATS": str(tmp_path / "stats")}
        clean |= {f"PAGECAST_{name.upper()}": value for name, value in options.items()}
        return subprocess.Popen([tools.pagecast, "run", "--backing", backing, "--", what, *arguments], env=clean, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return begin


def filled(process):
    assert process.stdout.readline() == "filled\n"
    return process


def go_on(process):
    process.stdin.write("\n")
    process.stdin.flush()


def memories(pid):
    """The shared memories that a process has open."""
    with contextlib.suppress(OSError):
        files = [f for f in Path(f"/proc/{pid}/fd").iterdir() if "memfd:pagecast-nbd" in os.readlink(f)]
        return {f.stat().st_ino for f in files}
    return set()


def helper_of(process):
    """The number of the helper that shares memory with the process; None: there is none."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (place / "cmdline").read_bytes() == b"pagecast-nbd\0serve\0" and memories(place.name) & memories(process.pid):
                return int(place.name)
    return None


def is_running(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def comes(true):
    for _ in range(1000):
        if true():
            return True
        time.sleep(0.01)
    return False


def ended(process, text=""):
    try:
        out, err = process.communicate(text, timeout=60)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        raise
    if "userfaultfd" in err or "seccomp" in err:
        pytest.skip(err)
    return process.returncode, out, err


@pytest.fixture(scope="module")
def plain(program):
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def stores(tmp_path):
    return json.loads((tmp_path / "stats").read_text())["stores"]


@pytest.mark.parametrize("server", [("memory", "128M"), ("--filter=delay", "memory", "128M", "delay-read=2ms"),
                                    ("--filter=error", "memory", "128M", "error-pwrite=EIO", "error-pwrite-rate=5%"),
                                    ("--filter=nozero", "--no-sr", "memory", "128M")])
def test_results_are_those_of_memory(serve, run, plain, tmp_path, server):
    _, address = serve(*server)
    status, out, err = ended(run(address))
    assert (status, out) == (0, plain), err
    assert stores(tmp_path)[0]["name"] == address and stores(tmp_path)[0]["read_bytes"] > 0
    assert ("failed (Input/output error)" in err) == ("error-pwrite=EIO" in server)


def test_a_program_with_hints_ends_as_it_should(serve, run, built, source, plain, tmp_path):
    _, address = serve("memory", "128M")
    status, out, err = ended(run(address, what=built.compile(built.cc, source, "-O2")))
    assert (status, out, err) == (0, plain, "") and stores(tmp_path)[0]["read_bytes"] > 0


def test_nothing_of_the_library_is_in_the_program_and_nothing_stays_behind(serve, run):
    _, address = serve("memory", "128M")
    process = filled(run(address, "wait"))
    helper = helper_of(process)
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    assert helper and "libnbd" not in maps and "gnutls" not in maps
    process.kill()
    process.communicate()
    assert comes(lambda: not is_running(helper))


def test_a_child_that_lives_longer_does_not_keep_the_helper(serve, run):
    _, address = serve("memory", "128M")
    process = run(address, "raw")
    said = {process.stdout.readline() for _ in range(2)}
    (child,) = said - {"filled\n"}
    try:
        helper = helper_of(process)
        process.kill()
        process.wait()
        assert helper and comes(lambda: not is_running(helper)) and is_running(int(child))
    finally:
        os.kill(int(child), signal.SIGKILL)
        process.communicate()


def test_another_helper_goes_on_where_one_is_killed(serve, run, plain):
    _, address = serve("memory", "128M")
    process = filled(run(address, "wait"))
    helper = helper_of(process)
    os.kill(helper, signal.SIGKILL)
    assert comes(lambda: not is_running(helper))
    status, out, err = ended(process, "\n")
    assert (status, out) == (0, plain) and f"the helper for {address} has ended: another one goes on" in err


def test_stripes_go_over_servers_and_disks(serve, run, plain, tmp_path, disk_dir):
    _, one = serve("memory", "128M", name="one")
    _, two = serve("memory", "128M", name="two")
    status, out, err = ended(run(f"{one},{disk_dir},{two}"))
    assert (status, out, err) == (0, plain, "")
    assert len(stores(tmp_path)) == 3 and all(s["written_bytes"] and s["read_bytes"] for s in stores(tmp_path))


def test_a_server_that_comes_back_with_its_data_costs_time_only(serve, backing, run, plain, tmp_path):
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(128 << 20)
    server, address = serve("file", image)
    process = filled(run(backing(address), "wait"))
    server.kill()
    server.wait()
    go_on(process)
    assert "is lost" in process.stderr.readline()
    serve("file", image)
    status, out, err = ended(process)
    assert (status, out) == (0, plain) and "there again" in err


def test_what_only_a_server_had_that_stays_away_is_a_bus_error(serve, backing, run):
    server, address = serve("memory", "128M")
    process = filled(run(backing(address), "wait", patience="1"))
    server.kill()
    server.wait()
    status, out, err = ended(process, "\n")
    assert status == -signal.SIGBUS and out == ""
    assert f"the connection to {address} is lost" in err and f"back from {address} failed" in err and "raises SIGBUS" in err


def test_a_server_that_stalls_is_waited_for(serve, backing, run, plain):
    server, address = serve("memory", "128M")
    process = filled(run(backing(address), "wait", patience="1"))
    server.send_signal(signal.SIGSTOP)
    go_on(process)
    assert f"the server {address} has not answered for" in process.stderr.readline()
    server.send_signal(signal.SIGCONT)
    assert ended(process)[:2] == (0, plain)


def test_keys_of_tls_must_be_the_servers(serve, run, plain, tmp_path):
    for name, key in (("right", "0123456789abcdef"), ("wrong", "fedcba9876543210")):
        (tmp_path / name).write_text(f"alice:{key}\n")
    _, address = serve("--tls=require", f"--tls-psk={tmp_path / 'right'}", "memory", "128M")
    address = address.replace("nbd+unix:///?", "nbds+unix://alice@/?")
    status, out, err = ended(run(f"{address}&tls-psk-file={tmp_path / 'right'}"))
    assert (status, out, err) == (0, plain, "") and stores(tmp_path)[0]["read_bytes"] > 0
    for bad in (f"{address}&tls-psk-file={tmp_path / 'wrong'}", address.replace("nbds+unix://alice@", "nbd+unix://")):
        status, out, err = ended(run(bad))
        assert (status, out) == (0, plain) and f"they cannot be paged: backing {bad}: " in err


def test_doctor_measures_servers(serve, tools):
    _, address = serve("memory", "128M")
    done = tools.run(tools.pagecast, "doctor", "--json", "--disk-seconds", "0.1", env={"PAGECAST_BACKING": address})
    disk = json.loads(done.stdout)["disks"][0]
    assert disk["directory"] == address and disk["read_bytes_per_s"] > 0 and disk["random_reads_per_s"] > 0
    assert disk["write_bytes_per_s"] is None
    done = tools.run(tools.pagecast, "doctor", "--no-disk", env={"PAGECAST_BACKING": f"{address},nbd://127.0.0.1:1/"})
    assert done.returncode == 1 and f"{address}, 128 MiB over 4 connections" in done.stdout
    assert "fail  backing               nbd://127.0.0.1:1/: " in done.stdout


def test_what_only_a_server_had_that_comes_back_empty_is_a_bus_error(serve, backing, run):
    server, address = serve("memory", "128M")
    process = filled(run(backing(address), "wait"))
    server.kill()
    server.wait()
    serve("memory", "128M")
    status, out, err = ended(process, "\n")
    assert status == -signal.SIGBUS and out == ""
    assert f"{address} does not hold what was written to it" in err and "raises SIGBUS" in err


def test_parent_and_child_do_not_disturb_each_other(serve, run, program):
    _, address = serve("memory", "256M")
    expected = subprocess.run([program, "fork"], capture_output=True, text=True, check=True).stdout
    status, out, err = ended(run(address, "fork"))
    assert status == 0 and sorted(out.split("\n")) == sorted(expected.split("\n")), err


def test_an_export_that_is_too_small_or_in_use_is_refused(serve, run, plain):
    _, small = serve("memory", "8M", name="small")
    status, out, err = ended(run(small))
    assert (status, out) == (0, plain) and "MiB free, but" in err and small in err
    _, shared = serve("memory", "128M", name="shared")
    first = filled(run(shared, "wait"))
    status, out, err = ended(run(shared))
    assert (status, out) == (0, plain) and "another program on this machine uses that export" in err
    assert ended(first, "\n")[:2] == (0, plain)


def test_an_export_that_cannot_be_written_is_refused(serve, run, plain):
    """The program then is as it would be without, and no page is asked for."""
    _, address = serve("--readonly", "memory", "128M")
    status, out, err = ended(run(address))
    assert (status, out) == (0, plain) and f"they cannot be paged: backing {address}: the server does not let it be written" in err


@pytest.mark.parametrize("address", ["nbd://127.0.0.1:1/", "nbd+unix:///?socket=/nonexistent", "nbd://"])
def test_who_does_not_answer_is_refused(run, plain, address):
    status, out, err = ended(run(address))
    assert (status, out) == (0, plain) and f"they cannot be paged: backing {address}: " in err


def test_an_address_of_another_kind_is_said(run):
    status, out, err = ended(run("http://127.0.0.1/"))
    assert status != 0 and out == "" and "is none of nbd://" in err


def test_a_server_that_sends_garbage_is_refused(run, plain, tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "garbage"))
        listener.listen()

        def answer():
            with contextlib.suppress(OSError):
                peer, _ = listener.accept()
                peer.sendall(b"garbage" * 1000)
                peer.close()
        threading.Thread(target=answer, daemon=True).start()
        status, out, err = ended(run(f"nbd+unix:///?socket={tmp_path / 'garbage'}"))
    assert (status, out) == (0, plain) and "cannot be paged" in err


def test_garbage_in_the_middle_costs_the_connection(serve, run, plain, tmp_path):
    """From between a server and its clients, once all is filled: what comes is no answer, and another connection is made."""
    # By one thread for each connection: nbdkit 1.32 fails an assertion where one thread sees it end while another one answers.
    serve("--threads=1", "memory", "128M", name="behind")
    peers = []

    def pass_on(source, target):
        with contextlib.suppress(OSError):
            while part := source.recv(1 << 16):
                target.sendall(part)

    def listen(listener):
        with contextlib.suppress(OSError):
            while True:
                peer, behind = listener.accept()[0], socket.socket(socket.AF_UNIX)
                behind.connect(str(tmp_path / "behind"))
                peers.append(peer)
                for pair in ((peer, behind), (behind, peer)):
                    threading.Thread(target=pass_on, args=pair, daemon=True).start()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "between"))
        listener.listen()
        threading.Thread(target=listen, args=(listener,), daemon=True).start()
        process = filled(run(f"nbd+unix:///?socket={tmp_path / 'between'}", "wait"))
        for peer in list(peers):
            with contextlib.suppress(OSError):
                peer.sendall(b"garbage" * 1000)
        status, out, err = ended(process, "\n")
    assert (status, out) == (0, plain) and "is lost" in err and "there again" in err


def test_a_server_that_has_less_than_it_says_is_waited_for(serve, run, plain, tmp_path):
    full = tmp_path / "full"
    full.touch()
    _, address = serve("--filter=error", "memory", "128M", "error-pwrite=ENOSPC", "error-pwrite-rate=1", f"error-pwrite-file={full}")
    process = run(address)
    said = process.stderr.readline()
    assert f"writing the program's data to {address} failed (No space left on device): they stay in memory" in said
    full.unlink()
    assert ended(process)[:2] == (0, plain)
