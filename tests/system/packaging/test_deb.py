# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Debian packages: what lintian says, what is in them, and, with PAGECAST_TEST_CHROOT=1, a life in a fresh Debian."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

PROGRAM = """
data = bytearray(96 << 20)
for i in range(0, len(data), 4096):
    data[i] = i >> 12 & 255
print(sum(data[i] for i in range(0, len(data), 4096)))
"""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **options)


@pytest.fixture(scope="module")
def packages(tools, tmp_path_factory) -> dict[str, Path]:
    if not shutil.which("dh") or not shutil.which("dpkg-buildpackage"):
        pytest.skip("debhelper and dpkg-dev are not installed")
    output = tmp_path_factory.mktemp("deb")
    done = run(sys.executable, ROOT / "packaging" / "deb" / "make_deb.py", "--build", tools.build, "--output", output)
    assert done.returncode == 0, done.stderr
    return {path.name.split("_")[0]: path for path in output.glob("*.deb")}


def test_there_are_two(packages):
    assert set(packages) == {"pagecast", "libpagecast-dev"}
    field = run("dpkg-deb", "-f", packages["pagecast"], "Depends").stdout
    assert "libc6" in field and "libyaml-cpp" in field and "llvm" not in field


def test_lintian_finds_nothing(packages):
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    done = run("lintian", "--allow-root", "--fail-on", "error,warning", *packages.values())
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_the_command_runs_from_where_it_is_unpacked(packages, tmp_path, tools, disk_dir):
    for package in packages.values():
        assert run("dpkg-deb", "-x", package, tmp_path).returncode == 0
    assert run(tmp_path / "usr/bin/pagecast", "--version").stdout == run(tools.pagecast, "--version").stdout
    done = run(tmp_path / "usr/bin/pagecast", "run", "--memory", "32M", "--backing", disk_dir, "--", sys.executable, "-c", PROGRAM)
    assert (done.returncode, done.stdout) == (0, f"{sum(i & 255 for i in range(96 << 8))}\n"), done.stderr
    assert "prefix=/usr/lib/pagecast\n" in (tmp_path / "usr/share/pkgconfig/pagecast.pc").read_text()
    assert (tmp_path / "usr/include/pagecast/pagecast.h").exists()


def test_what_is_missing_is_said(tmp_path):
    (tmp_path / "python3").symlink_to(sys.executable)
    done = run(sys.executable, ROOT / "packaging" / "deb" / "make_deb.py", env={"PATH": str(tmp_path)})
    assert done.returncode == 1 and "apt-get install debhelper dpkg-dev" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.alone
def test_installed_tried_and_removed_in_a_fresh_debian(packages, disk_dir):
    if os.environ.get("PAGECAST_TEST_CHROOT") != "1":
        pytest.skip("PAGECAST_TEST_CHROOT=1 makes a Debian of its own from the network, in two minutes")
    if os.geteuid() or not shutil.which("debootstrap"):
        pytest.skip("a chroot needs root and debootstrap")
    root = disk_dir / "debian"

    def within(*command):
        return run("chroot", root, "/usr/bin/env", "DEBIAN_FRONTEND=noninteractive", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *command)
    try:
        done = run("debootstrap", "--variant=minbase", "--include=python3-minimal", "bookworm", root)
        assert done.returncode == 0, done.stdout[-2000:]
        for kind, place in (("proc", "proc"), ("sysfs", "sys")):
            subprocess.run(["mount", "-t", kind, kind, root / place], check=True)
        for package in packages.values():
            shutil.copy(package, root / "tmp")
        before = within("dpkg-query", "-W", "-f", "${Package}\n").stdout
        done = within("sh", "-c", "apt-get -q -y install --no-install-recommends /tmp/*.deb")
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        as_user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        done = within(*as_user, "pagecast", "run", "--memory", "32M", "--", "python3", "-c", PROGRAM)
        assert (done.returncode, done.stdout) == (0, f"{sum(i & 255 for i in range(96 << 8))}\n"), done.stderr
        assert within(*as_user, "pagecast", "doctor", "--no-disk").returncode in (0, 1)
        done = within("sh", "-c", "apt-get -q -y purge --auto-remove pagecast libpagecast-dev")
        assert done.returncode == 0, done.stderr
        assert within("dpkg-query", "-W", "-f", "${Package}\n").stdout == before
        assert not (root / "usr/lib/pagecast").exists() and not (root / "usr/bin/pagecast").is_symlink()
    finally:
        for place in ("proc", "sys"):
            subprocess.run(["umount", root / place], capture_output=True)
        shutil.rmtree(root, ignore_errors=True)
