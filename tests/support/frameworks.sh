#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Makes a virtual environment with the present PyTorch, transformers and lightning, for the tests that need them. Takes gigabytes from PyPI.
#
#   tests/support/frameworks.sh FOLDER    FOLDER keeps the environment from run to run. Exit code 77, with a reason, where it cannot be had.
set -euo pipefail
venv=${1:?usage: frameworks.sh FOLDER}

if ! python3 -m venv "$venv"; then
  echo "skipped: python3 cannot make a virtual environment (python3-venv)"
  exit 77
fi
if ! "$venv/bin/pip" install --quiet torch transformers lightning accelerate setuptools wheel numpy; then
  echo "skipped: torch, transformers and lightning cannot be had from PyPI (the reason is above)"
  exit 77
fi
