#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# differential.sh <source> <prefix of temporary files> [flags]: the program must print the same
# plain and with the plugin, at each level, with the gate shut, open, and open but nothing granted.
set -eu
source=$1
out=$2
shift 2
case $source in
*.cpp) compiler=$CLANGXX ;;
*) compiler=$CLANG ;;
esac
"$CLANG" -O1 -I"$HEADERS" -c "$INPUTS/fake_runtime.c" -o "$out.runtime.o"
for level in -O1 -O2 -O3 -Os -Oz "-O3 -march=native" "-O2 -g"; do
  name=$out$(echo "$level" | tr -d ' =')
  "$compiler" $level "$@" "$source" -o "$name.plain" -lm
  "$name.plain" >"$name.expected"
  "$compiler" $level "$@" -fpass-plugin="$PLUGIN" -c "$source" -o "$name.o"
  "$compiler" "$name.o" "$@" -o "$name.alone" -lm
  "$name.alone" >"$name.got"
  cmp "$name.expected" "$name.got"
  "$compiler" "$name.o" "$@" "$out.runtime.o" -o "$name.hinted" -lm
  for setting in FAKE_GATE=0 FAKE_STRIP=1 FAKE_STRIP=7 FAKE_STRIP=18446744073709551615 FAKE_NULL=1 \
    FAKE_GATE=18446744073709551615; do
    env $setting "$name.hinted" >"$name.got" || { echo "$level $setting: failed"; exit 1; }
    cmp "$name.expected" "$name.got" || { echo "$level $setting: differs"; exit 1; }
  done
done
