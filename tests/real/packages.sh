#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Runs examples/real/packages.toml with the present lightning and transformers.
#
#   tests/real/packages.sh FOLDER    FOLDER keeps the virtual environment from run to run
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${1:?usage: packages.sh FOLDER}
"$here/../support/frameworks.sh" "$venv"
"$venv/bin/python" "$here/packages_test.py"
