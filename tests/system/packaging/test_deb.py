# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Debian packages: what lintian says, what is in them, and, with PAGECAST_TEST_CHROOT=1, a life in a fresh Debian."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from paging import PYTHON_SUM, PYTHON_SUMMED
from places import ROOT

pytestmark = pytest.mark.xdist_group("deb")  # or each process makes the packages


@pytest.fixture(scope="module")
def packages(tools, tmp_path_factory) -> dict[str, Path]:
    if not shutil.which("dh") or not shutil.which("dpkg-buildpackage"):
        pytest.skip("debhelper and dpkg-dev are not installed")
    output = tmp_path_factory.mktemp("deb")
    done = tools.run(sys.executable, ROOT / "packaging" / "deb" / "make_deb.py", "--build", tools.build, "--output", output,
                     timeout=600)
    assert done.returncode == 0, done.stderr
    return {path.name.split("_")[0]: path for path in output.glob("*.deb")}


def test_there_are_two(tools, packages):
    assert set(packages) == {"pagecast", "libpagecast-dev"}
    field = tools.run("dpkg-deb", "-f", packages["pagecast"], "Depends").stdout
    assert "libc6" in field and "libyaml-cpp" not in field and "llvm" not in field
    # Who runs programs as they are waits for no compiler: it is hundreds of megabytes, and `pagecast cc` says what to install.
    assert "clang" not in tools.run("dpkg-deb", "-f", packages["pagecast"], "Depends", "Recommends").stdout


def test_lintian_finds_nothing(tools, packages):
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    done = tools.run("lintian", "--allow-root", "--fail-on", "error,warning", *packages.values(), timeout=600)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_the_command_runs_from_where_it_is_unpacked(packages, tmp_path, tools, disk_dir):
    for package in packages.values():
        assert tools.run("dpkg-deb", "-x", package, tmp_path).returncode == 0
    assert tools.run(tmp_path / "usr/bin/pagecast", "--version").stdout == tools.run(tools.pagecast, "--version").stdout
    done = tools.run(tmp_path / "usr/bin/pagecast", "run", "--memory", "32M", "--backing", disk_dir, "--", sys.executable, "-c", PYTHON_SUM)
    assert (done.returncode, done.stdout) == (0, PYTHON_SUMMED), done.stderr
    assert "prefix=/usr/lib/pagecast\n" in (tmp_path / "usr/share/pkgconfig/pagecast.pc").read_text()
    assert (tmp_path / "usr/include/pagecast/pagecast.h").exists()


def test_the_plugins_of_the_build_are_in_the_package(packages, tmp_path, tools):
    """That of `make plugin16`, too, where it was made of the same sources as the first one."""
    assert tools.run("dpkg-deb", "-x", packages["pagecast"], tmp_path).returncode == 0
    first = tools.plugin.stat().st_mtime
    made = {plugin.name for plugin in tools.plugin.parent.glob("pagecast-llvm*.so") if plugin.stat().st_mtime >= first}
    assert {plugin.name for plugin in (tmp_path / "usr/lib/pagecast/lib/pagecast").glob("pagecast-llvm*.so")} == made
    if "pagecast-llvm16.so" not in made or not shutil.which("clang-16"):
        return
    (tmp_path / "p.c").write_text("double f(double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }\n")
    done = tools.run(tmp_path / "usr/bin/pagecast-cc", "-O2", "-c", "p.c", "-o", "p.o", cwd=tmp_path, env={"PAGECAST_CLANG": "clang-16"})
    assert done.returncode == 0, done.stderr
    assert "__pagecast_enter" in tools.run("llvm-nm-19", tmp_path / "p.o").stdout


def test_a_program_that_gives_hints_about_files_links_without_more(packages, tmp_path, tools):
    for package in packages.values():
        assert tools.run("dpkg-deb", "-x", package, tmp_path).returncode == 0
    libraries = next((tmp_path / "usr/lib").glob("*-linux-gnu"))
    source = tmp_path / "hints.c"
    source.write_text("#include <pagecast/hints.h>\nint main(void) { return pagecast_hint_path(\"hints.c\") < 0; }\n")
    # As it would be for the paths of a system in which the packages are installed.
    done = tools.run("cc", source, "-I", tmp_path / "usr/include", "-L", libraries, "-lpagecast-hints", "-o", tmp_path / "hints")
    assert done.returncode == 0, done.stderr
    done = tools.run(tmp_path / "hints", env={**os.environ, "LD_LIBRARY_PATH": str(libraries)}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_is_missing_is_said(tools, tmp_path):
    (tmp_path / "python3").symlink_to(sys.executable)
    done = tools.run(sys.executable, ROOT / "packaging" / "deb" / "make_deb.py", env={"PATH": str(tmp_path)})
    assert done.returncode == 1 and "apt-get install debhelper dpkg-dev" in done.stderr and "Traceback" not in done.stderr


@pytest.fixture
def fresh_debian():
    """Stands before the packages in a test's list, so that none are made for a test that is skipped."""
    if os.environ.get("PAGECAST_TEST_CHROOT") != "1":
        pytest.skip("PAGECAST_TEST_CHROOT=1 makes a Debian of its own from the network, in two minutes")
    if os.geteuid() or not shutil.which("debootstrap"):
        pytest.skip("a chroot needs root and debootstrap")


@pytest.fixture(scope="module")
def debian(tools, tmp_path_factory):
    """A function: the folder of a Debian that has nothing but Python beside the least that there is."""
    root = Path(tempfile.mkdtemp(prefix="pagecast-test-", dir="/var/tmp")) / "debian"

    def made() -> Path:
        if not root.exists():
            done = tools.run("debootstrap", "--variant=minbase", "--include=python3-minimal", "bookworm", root, timeout=900)
            assert done.returncode == 0, done.stdout[-2000:]
        return root
    yield made
    shutil.rmtree(root.parent)


def test_an_image_is_made_of_any_debian(tools, fresh_debian, packages, debian, disk_dir):
    """As a container engine builds it, whose isolation is chroot's here, and without network."""
    if not shutil.which("buildah"):
        pytest.skip("buildah is not installed")
    build = ("buildah", "--root", disk_dir / "root", "--runroot", disk_dir / "run", "--storage-driver", "vfs")

    def buildah(*words) -> str:
        done = tools.run(*build, *words, timeout=600)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout.strip()
    try:
        archive = disk_dir / "base.tar"
        subprocess.run(["tar", "-C", debian(), "-cf", archive, "--exclude=./proc/*", "--exclude=./sys/*", "."], check=True)
        base = buildah("from", "scratch")
        buildah("add", "-q", base, archive, "/")
        buildah("commit", "-q", base, "base")
        buildah("bud", "--isolation", "chroot", "--build-arg", "BASE=localhost/base", "-t", "pagecast", "-f",
                ROOT / "packaging" / "container" / "Containerfile", packages["pagecast"].parent)
        within = buildah("from", "pagecast")
        printed = buildah("run", "--isolation", "chroot", within, "pagecast", "run", "--memory", "32M", "--", "python3", "-c", PYTHON_SUM)
        assert printed + "\n" == PYTHON_SUMMED
    finally:
        tools.run(*build, "rm", "--all")
        tools.run(*build, "rmi", "--all", "--force")


def test_installed_tried_and_removed_in_a_fresh_debian(tools, fresh_debian, packages, debian):
    root = debian()

    def within(*command):
        return tools.run("chroot", root, "/usr/bin/env", "DEBIAN_FRONTEND=noninteractive", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *command,
                         timeout=600)
    try:
        for kind, place in (("proc", "proc"), ("sysfs", "sys")):
            subprocess.run(["mount", "-t", kind, kind, root / place], check=True)
        for package in packages.values():
            shutil.copy(package, root / "tmp")
        before = within("dpkg-query", "-W", "-f", "${Package}\n").stdout
        done = within("sh", "-c", "apt-get -q -y install /tmp/*.deb")
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        # What is waited for is what the user came for: no compiler comes along.
        assert set(within("dpkg-query", "-W", "-f", "${Package}\n").stdout.split()) - set(before.split()) == set(packages)
        as_user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        done = within(*as_user, "pagecast", "run", "--memory", "32M", "--", "python3", "-c", PYTHON_SUM)
        assert (done.returncode, done.stdout) == (0, PYTHON_SUMMED), done.stderr
        done = within(*as_user, "pagecast", "doctor", "--no-disk")
        assert (done.returncode, "warn  clang" in done.stdout) == (0, True), done.stdout
        done = within("sh", "-c", "apt-get -q -y purge --auto-remove pagecast libpagecast-dev")
        assert done.returncode == 0, done.stderr
        assert within("dpkg-query", "-W", "-f", "${Package}\n").stdout == before
        assert not (root / "usr/lib/pagecast").exists() and not (root / "usr/bin/pagecast").is_symlink()
    finally:
        for place in ("proc", "sys"):
            subprocess.run(["umount", root / place], capture_output=True)
        shutil.rmtree(root, ignore_errors=True)
