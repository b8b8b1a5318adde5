#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# differential.sh <source> <prefix of temporary files> [flags]: with the plugin the program must print at each level what it
# prints without, with the gate shut, open, and open but nothing granted.
# What slices run on does not depend on the setting: they are run in the first one.
# Only the instructions of a machine may change what a program prints without the plugin: it is compiled once for each.
set -eu
source=$1
out=$2
shift 2
case $source in
*.cpp) compiler=$CLANGXX ;;
*) compiler=$CLANG ;;
esac

# check <name> <expected output> <flags>
check() {
  name=$out.$1
  expected=$2
  shift 2
  "$compiler" "$@" -fpass-plugin="$PLUGIN" -c "$source" -o "$name.o"
  "$compiler" "$name.o" -o "$name.alone" -lm
  "$name.alone" >"$name.got"
  cmp "$expected" "$name.got"
  "$compiler" "$name.o" "$FAKE_RUNTIME" -o "$name.hinted" -lm
  for setting in FAKE_SLICES=1 FAKE_STRIP=1 FAKE_STRIP=7 FAKE_STRIP=18446744073709551615 FAKE_NULL=1 \
    FAKE_GATE=18446744073709551615; do
    env FAKE_SLICES=0 $setting "$name.hinted" >"$name.got" || { echo "$* $setting: failed"; exit 1; }
    cmp "$expected" "$name.got" || { echo "$* $setting: differs"; exit 1; }
  done
}

"$compiler" -O2 "$@" "$source" -o "$out.plain" -lm
"$out.plain" >"$out.expected"
"$compiler" -O3 -march=native "$@" "$source" -o "$out.plain.native" -lm
"$out.plain.native" >"$out.expected.native"
check O1 "$out.expected" -O1 "$@"
check O2 "$out.expected" -O2 "$@"
check O3 "$out.expected" -O3 "$@"
check Os "$out.expected" -Os "$@"
check Oz "$out.expected" -Oz "$@"
check g "$out.expected" -O2 -g "$@"
check native "$out.expected.native" -O3 -march=native "$@"
