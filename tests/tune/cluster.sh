#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# ration.tune with the Ray of PyPI, on a cluster of two nodes with simulated GPUs on this machine.
#
#   tests/tune/cluster.sh FOLDER    FOLDER keeps the virtual environment; RATION_PROGRAM is the program
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${1:?usage: cluster.sh FOLDER}
"$here/../support/ray.sh" "$venv"
export PYTHONPATH=$here/../../python:$here
"$venv/bin/python" "$here/cluster_test.py"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! HOME=$scratch "$venv/bin/python" "$here/../../examples/ray_tune/search.py" "$RATION_PROGRAM" >"$scratch/output" 2>"$scratch/errors"; then
  tail -n 20 "$scratch/errors" >&2
  echo "the example has failed" >&2
  exit 1
fi
lines=$(grep -c '^rate [1-5]: loss 0\.[1-5]0, at the end on [12] GPUs$' "$scratch/output" || true)
[[ $lines == 5 ]] || { echo "the example has printed $lines trials instead of 5" >&2; exit 1; }
