#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Runs one benchmark that is a program, such as `bench/run.sh plugin`, or the script of `threads`; installs and builds what is missing. Arguments are passed on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

names() {
  { grep -rhoE 'add_executable\(bench\.[a-z_.]+' bench | sed 's/.*bench\.//'; echo threads; } | sort
}
if [[ $# == 0 ]] || ! names | grep -qxF -- "$1"; then
  printf 'bench/run.sh: name a benchmark: %s\n' "$(names | paste -sd ' ')" >&2
  exit 2
fi
name=$1
shift

cmake/packages.sh build bench
cmake --preset release >/dev/null
if [[ $name == threads ]]; then
  cmake/packages.sh pytorch
  cmake --build --preset release --parallel "$(nproc)" --target ration >&2
  exec bench/threads/threads.py "$@"
fi
cmake --build --preset release --parallel "$(nproc)" --target "bench.$name" >&2
exec "build/release/bin/bench.$name" "$@"
