#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds targets for the examples, such as `examples/build.sh ration train`; installs what is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake/packages.sh build
if [[ ! -f build/release/build.ninja ]]; then
  # A third less to compile than a release; bench/run.sh configures it again.
  cmake --preset release -D RATION_BUILD_TESTS=OFF -D RATION_BUILD_BENCH=OFF -D CMAKE_UNITY_BUILD=ON -D CMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG"
fi
cmake --build --preset release --parallel "$(nproc)" --target "$@"
