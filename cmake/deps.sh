#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs those Debian packages that Pagecast needs and that are missing. Says nothing when none is.
set -eu

# Among them are nbdkit, which carries the storage cache of `pagecast serve`, and the clients that test it: libnbd has no
# package on PyPI. The helper for pages on servers is built with libnbd-dev. The programs of apps/shared are compiled with MPICH.
needed='
  clang-19 clang-format-19 flang-19 llvm-19-dev llvm-19-tools libclang-rt-19-dev libomp-19-dev lld-19
  g++ cmake ninja-build pkg-config
  liburing-dev liblz4-dev libcli11-dev nlohmann-json3-dev libyaml-cpp-dev libgtest-dev zlib1g-dev libzstd-dev libxml2-dev
  nbdkit nbdkit-plugin-dev libnbd-bin libnbd-dev python3-libnbd
  mpich libmpich-dev
  python3 python3-venv mount util-linux'

say() { echo "deps: $*"; }

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

if ! command -v dpkg-query >/dev/null; then
  say "not a Debian system, so nothing is installed; needed are the equivalents of:" $needed
  exit 0
fi

missing=
for package in $needed; do
  is_installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    say "these packages are missing, and installing them needs root or sudo:$missing" >&2
    exit 1
  fi
  as_root=sudo
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The time zone and other questions of packages must not stop an unattended build.
apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q --no-install-recommends "$@" >"$log" 2>&1
}

has_candidates() {
  for package in $missing; do
    apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [^(]' || return 1
  done
}

refresh() {
  say "refreshing the package lists"
  apt update || { cat "$log" >&2; say "apt-get update failed" >&2; exit 1; }
}

refreshed=
has_candidates || { refresh; refreshed=1; }

say "installing$missing"
if ! apt install $missing; then
  # Lists that are too old name files that are gone from the archive: refresh once and try again.
  [ -n "$refreshed" ] || refresh
  apt install $missing || { cat "$log" >&2; say "apt-get install failed" >&2; exit 1; }
fi
