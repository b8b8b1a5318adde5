# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that programs map themselves: the plain build's results, hints as advice, and nothing where they are cached."""

import contextlib
import json
import os
import random
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from fuse import CachedFile, Unavailable, mounted

BYTES = 48 << 20
PAGES = BYTES // 4096
MEMORY = str(16 << 20)
WAYS = ["sequential", "gather", "index", "private", "shared", "buckets", "twice", "remap", "cut"]
SOURCE = Path(__file__).parent / "mapped.c"


@pytest.fixture(scope="module")
def programs(built):
    """The plain program and the one with hints."""
    return [built.compile(compiler, SOURCE, "-O3") for compiler in ("clang-19", built.cc)]


@pytest.fixture(scope="module")
def contents() -> bytes:
    return random.Random(1).randbytes(BYTES)


def write(path: Path, contents: bytes) -> Path:
    """The file, on the disk and not in memory."""
    path.write_bytes(contents)
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)
    return path


def hinted_run(built, program, file, way, tmp_path, **options):
    stats = tmp_path / "stats.json"
    env = {"PAGECAST_MEMORY": MEMORY, "PAGECAST_STATS": str(stats),
           **{f"PAGECAST_{k.upper()}": v for k, v in options.items()}}
    done = built.run(program, file, way, env=env)
    figures = json.loads(stats.read_text()) if stats.exists() else None
    if figures and figures["files"]["left_alone"] and not figures["files"]["regions"]:
        pytest.skip("files in /var/tmp are in memory")
    return done, figures


def until_hinted(run):
    """The statistics that `run` returns. A program may come to its end before a thread that gets little of a processor has given
    advice: then it is run again."""
    for _ in range(20):
        figures = run()
        if not figures or figures["files"]["hinted_pages"] and figures["files"]["calls"]:
            break
    return figures


@pytest.mark.parametrize("backend", ["auto", "advise"])
@pytest.mark.parametrize("way", WAYS)
def test_same_results(built, programs, contents, disk_dir, tmp_path, way, backend):
    plain, hinted = programs
    expected = built.run(plain, write(disk_dir / "plain", contents), way)

    def run():
        done, figures = hinted_run(built, hinted, write(disk_dir / "hinted", contents), way, tmp_path, backend=backend)
        assert (done.returncode, done.stdout, done.stderr) == (expected.returncode, expected.stdout, "")
        assert (disk_dir / "plain").read_bytes() == (disk_dir / "hinted").read_bytes()
        return figures

    figures = until_hinted(run)
    if way == "cut":
        assert expected.returncode == -7  # SIGBUS
        return
    assert figures["files"]["regions"] > 0 and figures["files"]["region_bytes"] >= BYTES // 2
    assert figures["files"]["hinted_pages"] > 0 and figures["files"]["calls"] > 0
    assert figures["io"]["written_bytes"] == 0 and figures["budget"]["regions"] == 0


@pytest.mark.parametrize("backend", ["auto", "advise"])
def test_children_give_hints_of_their_own(built, programs, contents, disk_dir, tmp_path, backend):
    plain, hinted = programs
    file = write(disk_dir / "file", contents)
    expected = built.run(plain, file, "forked")
    write(file, contents)
    done = built.run(hinted, file, "forked",
                     env={"PAGECAST_MEMORY": MEMORY, "PAGECAST_STATS": str(tmp_path / "%p"), "PAGECAST_BACKEND": backend})
    assert (done.returncode, done.stdout, done.stderr) == (0, expected.stdout, "")
    figures = [json.loads(stats.read_text())["files"] for stats in tmp_path.iterdir()]
    if figures and figures[0]["left_alone"]:
        pytest.skip("files in /var/tmp are in memory")
    parent, child = sorted(figures, key=lambda f: f["hinted_pages"])  # a child's figures begin with its parent's
    assert 0 < parent["hinted_pages"] < child["hinted_pages"] and parent["calls"] < child["calls"]


@pytest.mark.alone
def test_a_cached_file_costs_no_call(built, programs, contents, disk_dir, tmp_path):
    plain, hinted = programs
    file = disk_dir / "file"
    file.write_bytes(contents)  # not by write(): of a file that was dropped and is read again, pages may still vanish
    for way in ("sequential", "gather", "index"):
        done, figures = hinted_run(built, hinted, file, way, tmp_path)
        assert done.stdout == built.run(plain, file, way).stdout
        assert figures["files"]["resident_at_start"] == PAGES
        assert figures["files"]["hinted_pages"] == 0 and figures["files"]["calls"] == 0


def test_several_processes_have_each_block_read_once(built, programs, contents, disk_dir, tmp_path):
    """What another has asked for is in the kernel's cache or on its way, and who comes to it looks there first."""
    file, many = disk_dir / "file", 4
    stats = [tmp_path / f"{i}.json" for i in range(many)]
    expected = built.run(programs[0], write(file, contents), "sequential").stdout

    def run():
        write(file, contents)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
        started = [subprocess.Popen([programs[1], file, "sequential"], stdout=subprocess.PIPE, text=True,
                                    env=os.environ | {"PAGECAST_MEMORY": MEMORY, "PAGECAST_STATS": str(s)}) for s in stats]
        assert [p.communicate()[0] for p in started] == [expected] * many and not any(p.returncode for p in started)
        read = 512 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before)
        figures = json.loads(stats[0].read_text())
        assert not figures["files"]["regions"] or BYTES // 2 < read < 1.25 * BYTES
        return figures

    if until_hinted(run)["files"]["regions"]:
        assert sum(json.loads(s.read_text())["files"]["calls"] for s in stats) > 0


def test_nothing_is_done_where_the_file_fits(built, programs, contents, disk_dir, tmp_path):
    done, figures = hinted_run(built, programs[1], write(disk_dir / "file", contents), "gather", tmp_path, memory="128M")
    assert done.returncode == 0
    assert figures["active"] is False and figures["files"]["regions"] == 0 and figures["hints"]["nests_opened"] == 0


def test_the_pager_alone_leaves_files_alone(built, programs, contents, disk_dir, tmp_path):
    done, figures = hinted_run(built, programs[1], write(disk_dir / "file", contents), "gather", tmp_path, backend="pager")
    assert done.returncode == 0
    assert figures["active"] is False and figures["files"]["regions"] == 0


def test_a_file_in_memory_is_left_alone(built, programs, contents, tmp_path):
    directory = Path("/dev/shm")
    if not directory.is_dir():
        pytest.skip("no /dev/shm")
    file = directory / f"pagecast-test-{os.getpid()}"
    try:
        file.write_bytes(contents)
        stats = tmp_path / "stats.json"
        done = built.run(programs[1], file, "gather", env={"PAGECAST_MEMORY": MEMORY, "PAGECAST_STATS": str(stats)})
        assert done.stdout == built.run(programs[0], file, "gather").stdout
    finally:
        file.unlink(missing_ok=True)
    figures = json.loads(stats.read_text())["files"]
    assert figures["left_alone"] == 1 and figures["systems"] == {"tmpfs": 1}


@pytest.mark.few
@pytest.mark.parametrize("way", ["gather", "sequential", "shared", "buckets"])
def test_under_a_real_limit(built, programs, contents, disk_dir, tmp_path, memory_group, way):
    plain, hinted = programs
    expected = built.run(plain, write(disk_dir / "plain", contents), way)
    file, stats = write(disk_dir / "hinted", contents), tmp_path / "stats.json"
    group = memory_group(20 << 20)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PAGECAST_")}
    done = subprocess.run([hinted, file, way], capture_output=True, text=True, timeout=120, preexec_fn=group.join,
                          env={**clean, "PAGECAST_STATS": str(stats)})
    assert (done.returncode, done.stdout) == (0, expected.stdout) and not group.was_killed()
    assert (disk_dir / "plain").read_bytes() == file.read_bytes()
    figures = json.loads(stats.read_text())["files"]
    assert figures["hinted_pages"] > 0
    if way == "gather":  # most pages were there in time
        assert figures["major_faults"] < figures["hinted_pages"] / 2
    if way == "buckets":  # taken out of the page table behind the stores
        assert figures["passed_pages"] > PAGES / 2 / 2


# Other file systems.


@contextlib.contextmanager
def overlay(home: Path):
    """What containers have for their files."""
    for name in ("lower", "upper", "work", "merged"):
        (home / name).mkdir()
    done = subprocess.run(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={home}/lower,upperdir={home}/upper,workdir={home}/work",
                           home / "merged"], capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"no overlay can be mounted: {done.stderr.strip()}")
    try:
        yield home / "merged"
    finally:
        subprocess.run(["umount", "-l", home / "merged"], check=True)


@contextlib.contextmanager
def fuse(home: Path):
    with mounted(CachedFile, home, home / "store") as (place, _):
        yield place


@contextlib.contextmanager
def nfs(_: Path):
    """A directory of our own on an NFS that is mounted here: a server is not started for a test."""
    named = os.environ.get("PAGECAST_TEST_NFS")
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    places = [named] if named else [m[1] for m in mounts if m[2] in ("nfs", "nfs4") and os.access(m[1], os.W_OK)]
    if not places:
        known = "nfs" in Path("/proc/filesystems").read_text()
        raise Unavailable("no NFS is mounted here" + (" that can be written to" if known else ", and this kernel has none")
                          + "; PAGECAST_TEST_NFS may name a directory on one")
    place = Path(places[0]) / f"pagecast-test-{os.getpid()}"
    place.mkdir()
    try:
        yield place
    finally:
        shutil.rmtree(place)


@pytest.fixture(params=[fuse, overlay, nfs], ids=lambda make: make.__name__)
def elsewhere(request, disk_dir):
    """The name of another file system than the disk's, and a directory there."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    with contextlib.ExitStack() as stack:
        try:
            yield request.param.__name__, stack.enter_context(request.param(disk_dir))
        except Unavailable as reason:
            pytest.skip(str(reason))


@pytest.mark.parametrize("way", ["sequential", "gather", "index", "private", "shared", "remap", "cut"])
def test_other_file_systems_are_served_as_disks_are(built, programs, contents, elsewhere, tmp_path, way):
    name, place = elsewhere
    expected = built.run(programs[0], write(place / "file", contents), way)
    left = (place / "file").read_bytes()
    stats = tmp_path / "stats.json"

    def run():
        done = built.run(programs[1], write(place / "file", contents), way,
                         env={"PAGECAST_MEMORY": MEMORY, "PAGECAST_STATS": str(stats), "PAGECAST_VERBOSE": "1"})
        assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout), done.stderr
        assert (place / "file").read_bytes() == left
        assert f" MiB on {name}: hints become advice, " in done.stderr
        return json.loads(stats.read_text()) if stats.exists() else None

    figures = until_hinted(run)
    if way == "cut":
        assert expected.returncode == -7  # SIGBUS
        return
    figures = figures["files"]
    assert set(figures["systems"]) == {name} and figures["left_alone"] == 0
    assert figures["regions"] > 0 and figures["hinted_pages"] > 0 and figures["calls"] > 0


@pytest.mark.parametrize("way", ["sequential", "gather"])
def test_another_users_file_is_hinted(built, programs, contents, disk_dir, tmp_path, way):
    """Of a file that it may only read a process is told that all is in memory: it is not believed."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("becoming another user needs root and setpriv")
    file = write(disk_dir / "file", contents)
    home = disk_dir / "home"
    home.mkdir()
    for program, name in zip(programs, ("plain", "hinted")):
        shutil.copy(program, disk_dir / name)
    shutil.copy(built.runtime.resolve(), disk_dir)
    soname = next(p.name for p in built.runtime.parent.glob("libpagecast.so.*") if p.name.count(".") == 2)
    (disk_dir / built.runtime.resolve().name).rename(disk_dir / soname)
    for path, mode in ((disk_dir, 0o755), (file, 0o644), (home, 0o777)):
        path.chmod(mode)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    expected = built.run(*nobody, disk_dir / "plain", write(file, contents), way)
    done = built.run(*nobody, disk_dir / "hinted", write(file, contents), way,
                     env={"PAGECAST_MEMORY": MEMORY, "PAGECAST_STATS": str(home / "stats.json"), "PAGECAST_VERBOSE": "1",
                          "LD_LIBRARY_PATH": str(disk_dir)})
    assert (done.returncode, done.stdout) == (0, expected.stdout), done.stderr
    figures = json.loads((home / "stats.json").read_text())["files"]
    if figures["left_alone"]:
        pytest.skip("files in /var/tmp are in memory")
    assert "the file is another user's" in done.stderr
    assert figures["resident_at_start"] == figures["found_pages"] == figures["reclaimed_pages"] == 0
    assert figures["hinted_pages"] > 0 and figures["calls"] > 0
    if way == "gather":
        assert figures["hinted_pages"] > PAGES // 2


def read_ahead(directory: Path) -> int:
    """Bytes that the kernel reads around a miss in a file there; 0 if it does not say."""
    device = directory.stat().st_dev
    path = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
    return int(path.read_text()) << 10 if path.exists() else 0


@pytest.mark.parametrize(("way", "least", "most"), [("lookups", 1, 1), ("through", 0, 0), ("both", 2, 2)])
def test_misses_that_nothing_foretells_read_alone_where_the_rest_is_not_used(built, contents, disk_dir, tmp_path, way, least, most):
    files = unseen_run(built, contents, disk_dir, tmp_path, way)
    assert least <= files["patterns"] <= most
    if way != "both":  # a pass in order is, until the kernel reads around again
        assert files["strided_pages"] < PAGES // 8


def unseen_run(built, contents, disk_dir, tmp_path, way):
    """What became of the file of a program without hints."""
    if read_ahead(disk_dir) < 1 << 20:
        pytest.skip("the disk's read-ahead is small")
    program = built.compile("clang-19", SOURCE.parent / "unseen.c", "-O2")
    file = write(disk_dir / "file", contents)
    expected = built.run(program, file, way, "stays")
    write(file, contents)
    stats = tmp_path / "stats.json"
    done = built.run(built.pagecast, "run", "--memory", MEMORY, "--stats", stats, "--", program, file, way)
    assert (done.returncode, done.stdout) == (0, expected.stdout)
    files = json.loads(stats.read_text())["files"]
    if files["left_alone"] and not files["regions"]:
        pytest.skip("files in /var/tmp are in memory")
    return files


def test_columns_of_a_mapped_file_are_foreseen(built, contents, disk_dir, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("to see where threads fault needs root, or CAP_PERFMON")
    files = unseen_run(built, contents, disk_dir, tmp_path, "down")
    # Of 200,000 places, those of the first tenth of a second are not. Where reading around is as fast, it is tried once.
    assert files["patterns"] >= 1 and files["strided_pages"] > 2000
