#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds ration for ARM64 with a cross compiler and tries it under QEMU. clean_root.sh --arm64 starts this in a Debian with the libraries of both.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/release  # where examples/quickstart/jobs.toml has its trainer; a run reports a missing program

cmake -G Ninja -B $build -D CMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O1 \
  -D CMAKE_UNITY_BUILD=ON -D RATION_BUILD_BENCH=OFF
cmake --build $build --parallel "$(nproc)" --target ration train tests_fast
# QEMU takes more than five minutes for the test `simulation`.
ctest --test-dir $build --label-regex '^fast$' --exclude-regex '^simulation$' --parallel "$(nproc)" --no-tests=error --output-on-failure

ration() {
  qemu-aarch64-static -L /usr/aarch64-linux-gnu $build/bin/ration "$@"
}
ration --version
# QEMU 7.2 on Linux 6.18 hangs when a program starts a second thread, as `ration bench` does.
ration sim --generate rigid:jobs=200,per_hour=60 --cluster 4x8 --policy fifo,las --threads 1 --quiet
ration policies
ration run examples/quickstart/jobs.toml --dry-run
