#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# nests.sh <source> [flags]: prints the nests of a C source, with names and lines.
set -eu
"$CLANG" -O2 -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fno-discard-value-names -gline-tables-only \
  -S -emit-llvm "$@" -o - |
  "$(dirname "$CLANG")/opt" -load-pass-plugin "$PLUGIN" -passes='loop-simplify,lcssa,print<pagecast-nests>' \
    -disable-output 2>&1
