#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Four small trainers share one core, first without a policy and then under TRADL; the table at the end compares the two.
# Installs and builds what is missing, so the second start begins at once. Of the program it builds the command `run` alone, which is less than
# half of it; `examples/build.sh ration` builds all. Where a `ration` is installed, only the trainers are built. Arguments are passed on to `ration run`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=$(command -v ration || true)
targets=(train)
if [[ -z $program ]]; then
  program=build/release/quickstart/ration
  targets+=(ration_quickstart)
fi
examples/build.sh "${targets[@]}"
exec "$program" run examples/quickstart/jobs.toml --compare none,tradl "$@"
