#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Makes a virtual environment with the Ray Tune of PyPI, for the tests and benchmarks that need it. Takes half a gigabyte.
#
#   tests/support/ray.sh FOLDER    FOLDER keeps the environment from run to run. Exit code 77, with a reason, where it cannot be had.
set -euo pipefail
venv=${1:?usage: ray.sh FOLDER}

if ! python3 -m venv "$venv"; then
  echo "skipped: python3 cannot make a virtual environment (python3-venv)"
  exit 77
fi
"$venv/bin/python" -c 'import ray.tune' 2>/dev/null && exit 0
if ! "$venv/bin/pip" install --quiet 'ray[tune]>=2.60'; then
  echo "skipped: Ray cannot be had from PyPI (the reason is above)"
  exit 77
fi
