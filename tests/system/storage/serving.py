# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A server of `pagecast serve`, and clients of it."""

import contextlib
import importlib.util
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BLOCK = 64 << 10
DEBIANS_PYTHON = "/usr/lib/python3/dist-packages"  # libnbd has no package on PyPI


def nbd():
    """libnbd's module, which is the system's and not the virtual environment's."""
    if "nbd" not in sys.modules:
        sys.path.append(DEBIANS_PYTHON)
        try:
            if not importlib.util.find_spec("nbd"):
                pytest.skip("python3-libnbd is not installed")
            importlib.import_module("nbd")
        finally:
            sys.path.remove(DEBIANS_PYTHON)
    return sys.modules["nbd"]


class Server:
    def __init__(self, process: subprocess.Popen):
        self.process = process
        line = process.stdout.readline()
        self.uri = json.loads(line)["uri"] if line else ""
        self.final = None

    @property
    def socket(self) -> str:
        return self.uri.partition("?socket=")[2]

    def open(self, name: str, client: str = "", **tls):
        """A connection to the file `name`, in the name of `client`."""
        handle = nbd().NBD()
        handle.set_export_name(f"{name}?client={client}" if client else name)
        handle.connect_unix(self.socket)
        return handle

    def counts(self) -> dict:
        handle = self.open("pagecast:counts")
        return json.loads(handle.pread(handle.get_size(), 0))

    def of(self, client: str, final: bool = False) -> dict:
        counts = self.end() if final else self.counts()
        return next(each for each in counts["clients"] if each["name"] == client)

    def end(self, how: int = signal.SIGINT) -> dict:
        """Ends the server, and returns its last counts."""
        if self.final is None:
            self.process.send_signal(how)
            text, _ = self.process.communicate(timeout=60)
            assert self.process.returncode == 0
            self.final = json.loads(text)
        return self.final


@contextlib.contextmanager
def serving(tools, directory: Path, *options):
    """A server of the directory's files, with its messages on standard error."""
    if not shutil.which("nbdkit"):
        pytest.skip("nbdkit is not installed")
    nbd()
    process = subprocess.Popen([tools.pagecast, "serve", directory, "--json", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, start_new_session=True)
    try:
        server = Server(process)
        assert server.uri, process.communicate()[1]
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        process.stdout.close()
        process.stderr.close()
