# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the Debian packages from a build tree: python make_deb.py --build build [--output build/deb]. Prints what it made.

Needs debhelper and dpkg-dev. Without --build the packages are compiled from the sources that git knows."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command[:2]))} failed:\n{(done.stdout + done.stderr)[-4000:]}")


def make(build: "Path | None", output: Path) -> list[Path]:
    for tool in ("dpkg-buildpackage", "dh"):
        if not shutil.which(tool):
            raise RuntimeError(f"{tool} is missing; apt-get install debhelper dpkg-dev")
    with tempfile.TemporaryDirectory(prefix="pagecast-deb-") as folder:
        source = Path(folder) / "pagecast"
        if build:
            source.mkdir()
        else:
            run("git", "-C", ROOT, "archive", "--prefix", "pagecast/", "-o", Path(folder) / "sources.tar", "HEAD")
            run("tar", "-xf", Path(folder) / "sources.tar", "-C", folder)
        shutil.copytree(HERE / "debian", source / "debian")
        run("dpkg-buildpackage", "--build=binary", "--no-sign", "--no-check-builddeps", cwd=source,
            env={**os.environ, **({"PAGECAST_BUILD": str(build)} if build else {}), "DEB_BUILD_OPTIONS": "noautodbgsym"})
        output.mkdir(parents=True, exist_ok=True)
        for old in output.glob("*pagecast*.deb"):
            old.unlink()
        return sorted(Path(shutil.copy(made, output)) for made in Path(folder).glob("*.deb"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, help="a build tree that is there")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "deb", help="folder for the packages")
    options = parser.parse_args()
    try:
        made = make(options.build and options.build.resolve(), options.output)
    except RuntimeError as error:
        print(f"make_deb: {error}", file=sys.stderr)
        return 1
    for package in made:
        print(f"deb: {package}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
