#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# examples/quickstart.sh builds the program only where none is installed. Fakes for CMake and ration record how they were started; the real
# script in a real Debian is bare_root.quickstart.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/ration-quickstart.XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"/{tree/{cmake,examples,build/release/quickstart},tools,installed}
cp "$source"/examples/{quickstart,build}.sh "$folder/tree/examples/"

# The search path has nothing else, since this machine may have a ration.
for tool in bash dirname env nproc sh; do ln -s "$(command -v "$tool")" "$folder/tools/$tool"; done

stand_in() {
  # shellcheck disable=SC2016  # the fake expands them
  printf '#!/bin/sh\necho "%s $*" >>"%s"\n' "$2" "$folder/calls" >"$1"
  chmod +x "$1"
}
stand_in "$folder/tree/cmake/packages.sh" packages
stand_in "$folder/tools/cmake" cmake
stand_in "$folder/tree/build/release/quickstart/ration" built
stand_in "$folder/installed/ration" installed

# expect PATH LINE...: the last calls of a start with this search path
expect() {
  local path=$1 found wanted
  shift
  : >"$folder/calls"
  PATH=$path "$folder/tree/examples/quickstart.sh" --quiet
  found=$(tail -n 2 "$folder/calls" | sed "s/--parallel [0-9]* //")
  wanted=$(printf '%s\n' "$@")
  [[ $found == "$wanted" ]] || { printf 'quickstart_test: the calls were\n%s\ninstead of\n%s\n' "$found" "$wanted" >&2; exit 1; }
}

run="run examples/quickstart/jobs.toml --compare none,tradl --quiet"
expect "$folder/tools" "cmake --build --preset release --target train ration_quickstart" "built $run"
expect "$folder/installed:$folder/tools" "cmake --build --preset release --target train" "installed $run"
