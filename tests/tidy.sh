#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# clang-tidy over every public header and the program's sources, and shellcheck over the scripts. Needs build/debug configured.
# The precompiled header there is GCC's, so clang reads what it was made from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

{ find "$PWD/tools" -name '*.cpp' -print0 && printf '%s\0' "$PWD/tests/odr/a.cpp"; } |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 --quiet -p build/debug --warnings-as-errors='*' --extra-arg=-Wno-ignored-gch \
    --header-filter="^$PWD/(include|backends|tools)/"
if command -v shellcheck >/dev/null; then
  find . -path ./build -prune -o \( -name '*.sh' -o -path ./.ci/run \) -print0 | xargs -0 shellcheck
fi
