#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds the unit tests with a sanitizer and runs them: sanitize.sh address|undefined|thread BUILD-DIRECTORY
set -eu
kind=$1 build=$2
cmake -S . -B "$build" -G Ninja --log-level=WARNING -DPAGECAST_SANITIZE="$kind"
cmake --build "$build" --target core_test runtime_test faults_test simulator_test storage_test
echo "== $kind sanitizer"
# SIGBUS is what some tests want to see.
ASAN_OPTIONS=handle_sigbus=0 TSAN_OPTIONS="handle_sigbus=0 suppressions=$PWD/tests/unit/tsan.supp" PAGECAST_STRESS_OPS=10000 ctest --test-dir "$build" -R '^(core|runtime|simulator|storage)\.' --output-on-failure --timeout 600 -j 2
