#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds the Debian packages of the program, the plugins and the headers; installs what is missing. The Dockerfile calls this script.
#
#   cmake/debian_packages.sh [FOLDER]    the packages are written to FOLDER (default: dist)
set -euo pipefail
if (($# > 1)) || [[ ${1-} == -* ]]; then
  echo "debian_packages: the arguments are '$*'; give at most the folder for the packages" >&2
  exit 2
fi
folder=$(realpath -m "${1:-dist}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake/packages.sh build deb
cmake --preset release -B build/packages -D RATION_BUILD_TESTS=OFF -D RATION_BUILD_BENCH=OFF -D RATION_BUILD_EXAMPLES=OFF -D CMAKE_UNITY_BUILD=ON
cmake --build build/packages --parallel "$(nproc)"
cpack --config build/packages/CPackConfig.cmake -B "$folder"
rm -rf "$folder/_CPack_Packages"
