#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Four small trainers share one core, first without a policy and then under TRADL; the table at the end compares the two.
# Installs and builds what is missing, so the second start begins at once. Where a `ration` is installed,
# only the trainers are built. Arguments are passed on to `ration run`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake/packages.sh build
if [[ ! -f build/release/build.ninja ]]; then
  # A third less to compile than a release; bench/run.sh configures it again.
  cmake --preset release -D RATION_BUILD_TESTS=OFF -D RATION_BUILD_BENCH=OFF -D CMAKE_UNITY_BUILD=ON -D CMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG"
fi
program=$(command -v ration || true)
targets=(train)
if [[ -z $program ]]; then
  program=build/release/bin/ration
  targets+=(ration)
fi
cmake --build --preset release --parallel "$(nproc)" --target "${targets[@]}"
exec "$program" run examples/quickstart/jobs.toml --compare none,tradl "$@"
