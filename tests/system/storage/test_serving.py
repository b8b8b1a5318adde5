# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pagecast serve as a command: addresses, bad input, and that nothing is left behind."""

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from serving import BLOCK, nbd, serving


@pytest.fixture
def data(tmp_path):
    place = tmp_path / "data"
    place.mkdir()
    (place / "file").write_bytes(bytes(range(256)) * 1024)
    return place


@pytest.mark.parametrize(("options", "sentence"), [
    (["--cache", "lots"], "--cache 'lots' is not a size"),
    (["--cache", "128K"], "--cache '128K' is too small: it must hold four blocks of 64 KiB"),
    (["--cache", "1000T"], "--cache '1000T' is more than the "),
    (["--block", "5000"], "--block '5000' is not a power of two from 4K to 16M"),
    (["--block", "32M"], "is not a power of two"),
    (["--policy", "fifo"], "'fifo' is none of aging, 2q"),
    (["--latency", "-1"], "no number from 0 to 10000"),
    (["--listen", "here"], "'here' is no address; write a path with a slash, or HOST:PORT"),
    (["--listen", "127.0.0.1:99999"], "is no address"),
    (["--listen", "127.0.0.1:0"], "is no address"),
    (["--listen", "0.0.0.0:10809"], "other machines can reach 0.0.0.0:10809; serve it with --tls"),
    (["--listen", "./" + "x" * 120], "is too long for a socket"),
    (["--listen", "./nowhere/socket"], "is in no directory"),
    (["--listen", "./data"], "'./data' exists already"),
    (["--tls", "./nothing"], "--tls './nothing' is neither"),
    (["--listen", ""], "what follows it is empty"),
])
def test_bad_input_is_a_sentence(tools, data, options, sentence):
    done = tools.run(tools.pagecast, "serve", data, *options, cwd=data.parent)
    assert done.returncode == 2 and sentence in done.stderr and done.stdout == "" and len(done.stderr.splitlines()) == 1, done.stderr


def test_what_is_no_directory_is_a_sentence(tools, data, tmp_path):
    for name, sentence in ((tmp_path / "none", "there is no directory"), (data / "file", "is no directory")):
        done = tools.run(tools.pagecast, "serve", name)
        assert done.returncode == 2 and sentence in done.stderr and len(done.stderr.splitlines()) == 1


def test_without_the_server_it_is_named(tools, data):
    done = tools.run(tools.pagecast, "serve", data, env={"PATH": "/nowhere"})
    assert done.returncode == 2 and "apt install nbdkit" in done.stderr


@pytest.fixture
def short_place():
    """A directory for sockets: pytest's own have paths that are nearly as long as a socket's may be."""
    with tempfile.TemporaryDirectory(prefix="pc-", dir="/tmp") as place:
        yield Path(place)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_and_nothing_is_left(tools, data, short_place, monkeypatch, how):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_place))
    with serving(tools, data) as server:
        handle = server.open("file", "one")
        assert handle.pread(4, 0) == bytes(range(4))
        (private,) = short_place.iterdir()
        assert private.stat().st_mode & 0o777 == 0o700 and server.socket.startswith(str(private))
        (child,) = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        counts = server.end(how)  # with the connection open
    assert counts["final"] and counts["all"]["misses"] == 1
    assert not list(short_place.iterdir()) and not Path(f"/proc/{child}").exists()


def test_who_asks_twice_at_once_gets_the_counts(tools, data):
    """As timeout does, which signals the process and then its group."""
    with serving(tools, data) as server:
        handle = server.open("file", "one")
        assert handle.pread(4, 0) == bytes(range(4))
        server.process.send_signal(signal.SIGTERM)
        assert server.end(signal.SIGHUP)["final"]


def test_a_server_whose_own_check_fails_is_started_again(tools, data):
    with serving(tools, data) as server:
        assert server.open("file", "one").pread(4, 0) == bytes(range(4))
        (child,) = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGABRT)
        for _ in range(1000):
            with contextlib.suppress(nbd().Error):
                assert server.open("file", "two").pread(4, 0) == bytes(range(4))
                break
            time.sleep(0.01)
        counts = server.end(signal.SIGINT)
    assert counts["final"] and [client["name"] for client in counts["clients"]] == ["two"] and counts["all"]["misses"] == 1


def test_a_directory_whose_name_is_too_long_for_a_socket_is_left_alone(tools, data, short_place, monkeypatch):
    long = short_place / ("x" * 100)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    monkeypatch.setenv("TMPDIR", str(long))
    with serving(tools, data) as server:
        assert server.open("file", "one").pread(4, 0) == bytes(range(4))
        assert Path(server.socket).parent.parent == Path("/tmp") and not list(long.iterdir())
        server.end(signal.SIGINT)
    assert not Path(server.socket).parent.exists()


def test_the_server_does_not_outlive_the_command_and_the_next_one_tidies_up(tools, data, short_place, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_place))
    with serving(tools, data) as server:
        (child,) = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        place = Path(server.socket).parent
        descriptor = os.pidfd_open(int(child))
        server.process.kill()
        server.process.wait()
        assert select.select([descriptor], [], [], 60)[0], "the server runs on"
        os.close(descriptor)
    assert list(short_place.iterdir()) == [place]
    with serving(tools, data) as server:
        assert list(short_place.iterdir()) == [Path(server.socket).parent] != [place]
        server.end(signal.SIGINT)


def test_a_socket_of_ones_own_and_a_table(tools, data, tmp_path):
    path = tmp_path / "socket"
    process = subprocess.Popen([tools.pagecast, "serve", data, "--listen", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == f"serving {data} at nbd+unix:///?socket={path}\n"
    handle = nbd().NBD()
    handle.set_export_name("file?client=rank 0")
    handle.connect_unix(str(path))
    handle.pread(2 * BLOCK, 0)
    process.send_signal(signal.SIGINT)
    text, said = process.communicate(timeout=60)
    assert process.returncode == 0 and not path.exists() and said == ""
    text = text.splitlines()
    assert text[0].split() == ["client", "hits", "late", "misses", "prefetches", "dropped", "duplicate", "unused", "harmful"]
    assert text[1].split() == ["rank", "0", "0", "0", "2", "0", "0", "0", "0", "0/0"] and text[2].split()[:4] == ["all", "0", "0", "2"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_port(tools, data):
    with serving(tools, data, "--listen", f"127.0.0.1:{(port := free_port())}") as server:
        assert server.uri == f"nbd://127.0.0.1:{port}/"
        handle = nbd().NBD()
        handle.connect_uri(f"nbd://127.0.0.1:{port}/file")
        assert handle.pread(4, 4) == bytes(range(4, 8))
        (client,) = server.end()["clients"]
        assert client["name"].startswith("127.0.0.1:") and client["misses"] == 1


def test_a_port_that_is_taken_is_said(tools, data):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = tools.run(tools.pagecast, "serve", data, "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert done.returncode == 2 and "Address already in use" in done.stderr and "nbdkit did not start" in done.stderr


def test_keys(tools, data, tmp_path):
    (tmp_path / "keys").write_text("alice:" + "ab" * 16 + "\n")
    with serving(tools, data, "--tls", tmp_path / "keys", "--listen", tmp_path / "socket") as server:
        assert server.uri == f"nbds+unix:///?socket={tmp_path}/socket"

        def connect(user):
            handle = nbd().NBD()
            handle.set_uri_allow_local_file(True)
            handle.connect_uri(f"nbds+unix://{user}@/file?socket={tmp_path}/socket&tls-psk-file={tmp_path}/{user}")
            return handle
        (tmp_path / "alice").write_text((tmp_path / "keys").read_text())
        (tmp_path / "mallory").write_text("mallory:" + "cd" * 16 + "\n")
        assert connect("alice").pread(4, 0) == bytes(range(4))
        with pytest.raises(nbd().Error):
            connect("mallory")
        plain = nbd().NBD()
        plain.set_export_name("file")
        with pytest.raises(nbd().Error):
            plain.connect_unix(str(tmp_path / "socket"))


def test_it_is_a_plugin_of_nbdkit(tools, data, tmp_path):
    """Without the command, too: nbdkit's own help knows it."""
    if not shutil.which("nbdkit"):
        pytest.skip("nbdkit is not installed")
    plugin = tools.build / "lib" / "pagecast" / "nbdkit-pagecast-plugin.so"
    refusing = ("nbdkit", "--foreground", "-U", tmp_path / "socket", plugin)  # with "-U -" it would leave a folder in /tmp
    assert "policy=aging|2q" in tools.run("nbdkit", plugin, "--help").stdout
    for word, sentence in (("policy=x", "policy: aging or 2q"), ("block=5000", "a power of two"), ("cache=100K", "at least four blocks"),
                           ("speed=1", "there is no parameter speed"), ("latency=x", "latency")):
        done = tools.run(*refusing, f"dir={data}", word)
        assert done.returncode != 0 and sentence in done.stderr
    done = tools.run(*refusing)
    assert done.returncode != 0 and "dir is missing" in done.stderr
    if shutil.which("nbdcopy"):
        done = tools.run("nbdkit", "-U", "-", plugin, data, "--run", f'nbdcopy "nbd+unix:///file?socket=$unixsocket" - | cmp - {data}/file')
        assert done.returncode == 0, done.stderr
