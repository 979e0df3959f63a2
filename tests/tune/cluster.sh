#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# ration.tune with the Ray of PyPI, on a cluster of two nodes with stand-in GPUs on this machine.
#
#   tests/tune/cluster.sh FOLDER    FOLDER keeps the virtual environment; RATION_PROGRAM is the program
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${1:?usage: cluster.sh FOLDER}
"$here/../support/ray.sh" "$venv"
PYTHONPATH="$here/../../python:$here" exec "$venv/bin/python" "$here/cluster_test.py"
