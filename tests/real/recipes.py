# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The packages, named as Debian names their sources: array programs that were not written for us. `build` and
`test` are shell, run in the source tree with CC, CXX and JOBS set; flags are the package's own."""

from dataclasses import dataclass

from counting import Counter, automake, ctest, lines, sums


@dataclass(frozen=True)
class Recipe:
    name: str
    what: str
    build: str
    test: str
    count: Counter
    larger: str = ""  # a program of the package on more data than the budget; prints what must not change
    fails_with_clang: int = 0  # tests that fail with plain clang 19 at the same flags, too
    needs: tuple[str, ...] = ()  # Debian packages beyond those that Pagecast's own build needs
    large: str = "64K"  # PAGECAST_LARGE and PAGECAST_GATE: small, as the data of test suites are
    gate: str = "16K"


# Static libraries only: half the compilations, and the programs in the tree find them.
CONFIGURE = "./configure --quiet --disable-shared --disable-dependency-tracking"
CMAKE = "cmake -S . -B out -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF"

# The library's own checker, on powers, primes and products, in one dimension and more.
_FFTW = """
for plan in estimate measure; do
  for n in 7 64 100 1024 1031 30x40 8x9x10; do
    for kind in ib ob if of irf irb orf; do
      tests/bench -o$plan --verify $kind$n && echo verified $plan $kind$n || echo WRONG $plan $kind$n
    done
  done
done
for problem in if32768 of32768 ib65536 of256x512 irf100000 of16411 ob32x32x32; do
  tests/bench -oestimate --verify-rounds=1 --verify $problem && echo verified $problem || echo WRONG $problem
done
"""

_SUITESPARSE = """
export LD_LIBRARY_PATH=$PWD/lib
for d in SuiteSparse_config AMD COLAMD LDL CXSparse AMD/Demo COLAMD/Demo LDL/Demo; do
  make -C $d $(case $d in (*Demo) ;; (*) echo library ;; esac) CF='-O3 -fexceptions -fPIC' CFOPENMP= BLAS= LAPACK=
done
make -C CXSparse/Demo CF='-O3 -fexceptions -fPIC' CFOPENMP= BLAS= LAPACK= >demos.log
"""
# Outputs are compared with those in the package; of CXSparse's residuals only whether they are small, as there.
_SUITESPARSE_TEST = """
export LD_LIBRARY_PATH=$PWD/lib
agree() { if (cd $1; ./$2 | diff - $2.out); then echo agrees $1/$2; else echo DIFFERS $1/$2; fi; }
for p in amd_simple amd_demo amd_demo2 amd_l_demo; do agree AMD/Demo $p; done
for p in colamd_example colamd_l_example; do agree COLAMD/Demo $p; done
for p in simple main amd; do agree LDL/Demo ldl$p; done
residuals() {
  grep -a resid | sed -E -e 's/time: *[0-9.]+//; s/-nan/nan/; s/resid: +([0-9.]+e-(0[5-9]|[1-9][0-9])|0.00e.00)/small/; s/ +/ /g'
}
residuals <CXSparse/Demo/cs_demo.out >expected.txt
make -C CXSparse/Demo CF='-O3 -fexceptions -fPIC' CFOPENMP= BLAS= LAPACK= | residuals >found.txt
paste -d= expected.txt found.txt | awk -F= '{ print ($1 == $2 ? "agrees" : "DIFFERS"), $0 }'
"""

# Templates take long to compile; these two are 19 programs.
_EIGEN = "linearstructure redux"

_GSL = ("gsl utils sys test err const complex cheb block vector matrix permutation combination multiset sort ieee-utils cblas blas "
        "linalg eigen specfunc dht qrng rng randist fft poly fit statistics histogram wavelet spblas spmatrix filter movstat rstat "
        "bst sum interpolation min diff deriv cdf")
_GSL_TESTED = "block vector matrix sort cblas blas linalg fft statistics wavelet spmatrix spblas histogram movstat filter dht"

RECIPES = (
    Recipe(
        "gsl", "numerical library: linear algebra, transforms, statistics",
        build=f'{CONFIGURE}; for d in {_GSL}; do make -j$JOBS -C $d; done; '
              f'for d in {_GSL_TESTED}; do make -j$JOBS -C $d check TESTS=; done',
        test=f"for d in {_GSL_TESTED}; do make -C $d check || wrong=1; done; exit ${{wrong:-0}}",
        count=automake),
    Recipe(
        "fftw3", "discrete Fourier transforms",
        build=f"{CONFIGURE} --disable-fortran; make -j$JOBS",
        test=_FFTW, count=lines(r"^verified ", r"^WRONG "),
        larger="for k in of1048576 irf1000x1500; do tests/bench -oestimate --verify-rounds=1 --verify $k; echo $k verified; done"),
    Recipe(
        "gmp", "integers of any length, in C alone",
        # Debian's source comes without the manual, which configure asks for.
        build="mkdir -p doc; echo 'all check:' >doc/Makefile.in; "
              f"{CONFIGURE} --disable-assembly --enable-cxx; make -j$JOBS; make -j$JOBS check TESTS=",
        test="make -k check", count=automake, needs=("m4",)),
    Recipe(
        "nlopt", "nonlinear optimization",
        build=f"{CMAKE} -DNLOPT_PYTHON=OFF -DNLOPT_OCTAVE=OFF -DNLOPT_MATLAB=OFF -DNLOPT_GUILE=OFF -DNLOPT_SWIG=OFF -DNLOPT_TESTS=ON; "
              "cmake --build out -j$JOBS; cmake --build out -j$JOBS --target tests",
        test="cd out; ctest -j$JOBS", count=ctest),
    Recipe(
        "qhull", "convex hulls",
        build=f"{CMAKE}; cmake --build out -j$JOBS",
        test="cd out; ctest -j$JOBS", count=ctest,
        larger="out/rbox 1500000 D3 t7 | out/qhull s FA 2>&1 | grep -v -i -e seconds -e cpu"),
    Recipe(
        "sundials", "ordinary and differential-algebraic equations",
        build=f"{CMAKE} -DEXAMPLES_INSTALL=OFF -DBUILD_ARKODE=OFF -DBUILD_CVODES=OFF -DBUILD_IDAS=OFF; cmake --build out -j$JOBS",
        test="cd out; ctest -j$JOBS", count=ctest),
    Recipe(
        "libsamplerate", "resampling of sound",
        build=f"{CMAKE} -DLIBSAMPLERATE_EXAMPLES=OFF; cmake --build out -j$JOBS",
        test="cd out; ctest", count=ctest),
    Recipe(
        "libjpeg-turbo", "JPEG, its loops in C",
        build=f"{CMAKE} -DWITH_SIMD=0 -DENABLE_SHARED=0 -DWITH_JAVA=0; cmake --build out -j$JOBS",
        test="cd out; ctest -j$JOBS", count=ctest),
    Recipe(
        "zlib", "deflate",
        build="./configure; make -j$JOBS",
        test="make check", count=lines(r"\*\*\* zlib.* test OK \*\*\*", r"\*\*\* zlib.* test FAILED \*\*\*")),
    Recipe(
        "bzip2", "block-sorting compression",
        build='make -j$JOBS CC="$CC" bzip2 bzip2recover libbz2.a',
        test='make CC="$CC" test && echo "all six agree"',
        count=lines(r"^all six agree$", r"differ")),
    Recipe(
        "libpng1.6", "PNG",
        build=f"{CONFIGURE}; make -j$JOBS; make -j$JOBS check TESTS=",
        test="make -k -j$JOBS check", count=automake),
    Recipe(
        "opus", "sound codec",
        build=f"{CONFIGURE}; make -j$JOBS; make -j$JOBS check TESTS=",
        test="make -k -j$JOBS check TEST_OPUS_NOFUZZ=1", count=automake),
    Recipe(
        "suitesparse", "sparse matrices: AMD, COLAMD, LDL, CXSparse",
        build=_SUITESPARSE, test=_SUITESPARSE_TEST,
        count=lines("^agrees ", "^DIFFERS ")),
    Recipe(
        "liquid-dsp", "filters, modems and transforms for radio",
        build="./bootstrap.sh; ./configure --quiet --enable-simdoverride; make -j$JOBS; make -j$JOBS xautotest",
        test="./xautotest -R 1", count=sums(r"passed +(\d+)/ *\d+ checks", r"passed +\d+/ *(\d+) checks"),
        fails_with_clang=6, needs=("autoconf", "automake")),
    Recipe(
        "eigen3", "linear algebra, C++ templates",
        build=f"{CMAKE} -DEIGEN_BUILD_DOC=OFF; cmake --build out -j$JOBS --target {_EIGEN}",
        test=f"cd out; ctest -R '^({_EIGEN.replace(' ', '|')})(_[0-9]+)?$'", count=ctest),
)
