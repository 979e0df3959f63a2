#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The adapters with the present transformers and lightning, and the package as pip installs it.
#
#   tests/elastic/frameworks.sh FOLDER    FOLDER keeps the virtual environment from run to run
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${1:?usage: frameworks.sh FOLDER}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

"$here/../support/frameworks.sh" "$venv"
mkdir -p "$copy/include/ration"  # pip would leave its build beside the source
cp -r "$here/../../python" "$copy"
cp -r "$here/../../include/ration/plugin" "$copy/include/ration"
"$venv/bin/pip" install --quiet --no-deps --no-build-isolation --force-reinstall "$copy/python"
"$venv/bin/python" "$here/test_frameworks.py"
