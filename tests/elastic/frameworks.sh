#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The adapters with the present transformers and lightning, and the package as pip installs it. Takes gigabytes from PyPI.
#
#   tests/elastic/frameworks.sh FOLDER    FOLDER keeps the virtual environment from run to run
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${1:?usage: frameworks.sh FOLDER}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

if ! python3 -m venv "$venv"; then
  echo "skipped: python3 cannot make a virtual environment (python3-venv)"
  exit 77
fi
if ! "$venv/bin/pip" install --quiet torch transformers lightning accelerate setuptools wheel numpy; then
  echo "skipped: torch, transformers and lightning cannot be had from PyPI (the reason is above)"
  exit 77
fi
mkdir -p "$copy/include/ration"  # pip would leave its build beside the source
cp -r "$here/../../python" "$copy"
cp -r "$here/../../include/ration/plugin" "$copy/include/ration"
"$venv/bin/pip" install --quiet --no-deps --no-build-isolation --force-reinstall "$copy/python"
"$venv/bin/python" "$here/test_frameworks.py"
