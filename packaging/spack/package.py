# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# UNTESTED: a recipe for Spack that was never built by Spack. A test checks its syntax, and that what it names is there.
# Use: copy it to packages/pagecast/ of a repository of recipes, set `git`, and `spack install pagecast`.
from spack.package import *


class Pagecast(CMakePackage):
    """Runs a program whose data do not fit in memory at the speed of the disk, without a change to the program."""

    git = "https://pagecast.invalid/pagecast.git"  # of your clone

    license("Apache-2.0 WITH LLVM-exception")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("llvm@19 +clang +flang", type=("build", "run"))  # the compiler that takes the plugin
    depends_on("liburing", type="build")  # linked statically
    depends_on("lz4 libs=static", type="build")  # linked statically
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("yaml-cpp")
    depends_on("googletest", type="build")

    conflicts("platform=darwin", msg="Linux alone has userfaultfd")

    generator("ninja")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.pagecast)("run", "--", "true")
