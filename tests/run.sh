#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds ration and runs its tests; installs what is missing first. The end of the output says what ran, what was skipped and why.
#
#   tests/run.sh            what every change has to pass
#   tests/run.sh --quick    one compiler, no sanitizer
#   tests/run.sh --all      also the slow tests, those in a browser, the benchmarks' build, both compilers in full, the headers
#                           under clang 16, clang-tidy, and under the sanitizers every test program and every test of the plugin ABI
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

extent=usual
case "${1-}" in
  "") ;;
  --quick | --all) extent=${1#--} ;;
  *) echo "tests/run.sh: '$1' is no option: --quick, --all or nothing" >&2; exit 2 ;;
esac

jobs=$(nproc)
slow='^(slow|soak|mutation|qemu-full)$'  # with --all, once, in the first preset: another one would say the same
# What other presets run of the tests on every change, by label. The program itself is built there with --all: that takes too long.
second_compiler=(fast threads)
under_asan=(fast threads plugin_host)
under_tsan=(threads)
rows=()       # step, result, seconds
suites=()     # presets whose tests ran, the main one first
failed=0

record() {
  rows+=("$(printf '%-34s %-8s %s' "$1" "$2" "$3")")
}

# step NAME command...: runs it and goes on after a failure, so that one start tells all that is wrong.
step() {
  local name=$1 begin=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  if "$@"; then
    record "$name" passed "$((SECONDS - begin)) s"
  else
    record "$name" FAILED "$((SECONDS - begin)) s"
    failed=1
    return 1
  fi
}

skip() {
  printf '\n== %s: skipped, %s\n' "$1" "$2"
  record "$1" skipped "$2"
}

build() {
  local preset=$1
  shift
  step "$preset: configure" cmake --preset "$preset" && step "$preset: build" cmake --build --preset "$preset" --parallel "$jobs" "$@"
}

# shellcheck disable=SC2317  # `step` calls it
run_ctest() {
  ctest --preset "$@" --parallel "$jobs" --no-tests=error --output-junit tests.xml --test-output-size-passed 65536 |
    tee "build/$1/tests.log"
}

# suite PRESET ctest-arguments...
suite() {
  suites+=("$1")
  step "$1: tests" run_ctest "$@"
}

# These labels as a regular expression.
any_of() {
  local IFS='|'
  printf '^(%s)$' "$*"
}

# labelled PRESET LABEL...: builds the tests with one of these labels, and runs them.
labelled() {
  local preset=$1
  shift
  build "$preset" --target "${@/#/tests_}" && suite "$preset" --label-regex "$(any_of "$@")"
}

usual_labels=(--label-exclude "$slow")
[[ $extent == all ]] && usual_labels=()

check_gcc() {
  build debug --target all all_verify_interface_header_sets && suite debug "${usual_labels[@]}"
}

check_clang() {
  if ! command -v clang++-19 >/dev/null; then
    skip clang-debug "clang++-19 is not installed"
  elif [[ $extent == all ]]; then
    build clang-debug --target all all_verify_interface_header_sets && suite clang-debug --label-exclude "^(house|misuse|compile_cost)$|$slow"
  else
    labelled clang-debug "${second_compiler[@]}"
  fi
}

# The oldest clang that is promised reads each header alone.
check_oldest_clang() {
  if ! command -v clang++-16 >/dev/null; then
    skip "clang 16: headers" "clang++-16 is not installed"
    return
  fi
  step "clang 16: configure" cmake --preset clang-debug -B build/clang-16 -DCMAKE_C_COMPILER=clang-16 -DCMAKE_CXX_COMPILER=clang++-16 &&
    step "clang 16: headers" cmake --build build/clang-16 --parallel "$jobs" --target all_verify_interface_header_sets
}

check_sanitizers() {
  if [[ $extent == all ]]; then
    labelled asan program plugin new || true
    labelled tsan threads plugin new
  else
    labelled asan "${under_asan[@]}" || true
    labelled tsan "${under_tsan[@]}"
  fi
}

check_release() {
  cmake/packages.sh bench
  build release && suite release --label-exclude "$slow"
  if command -v clang-tidy-19 >/dev/null; then
    step clang-tidy tests/tidy.sh
  else
    skip clang-tidy "clang-tidy-19 is not installed"
  fi
}

report() {
  printf '\n== Skipped and failed tests\n'
  python3 tests/house/suites.py "${suites[@]}"
  printf '\n== Steps\n'
  printf '%s\n' "${rows[@]}"
  local preset closing
  for ((index = ${#suites[@]} - 1; index >= 0; --index)); do
    preset=${suites[index]}
    printf '\nctest --preset %s\n' "$preset"
    closing=$(grep '% tests passed, ' "build/$preset/tests.log" | tail -n 1) || true
    echo "${closing:-did not come to its end}"
  done
}

if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime  # without it nothing is kept of the tests, which have a precompiled header
fi
cmake/packages.sh build test pytorch docs
[[ $extent != all ]] || cmake/packages.sh browser full
check_gcc || true
if [[ $extent != quick ]]; then
  check_clang || true
  check_sanitizers || true
fi
if [[ $extent == all ]]; then
  check_oldest_clang || true
  check_release || true
fi
report
exit $failed
