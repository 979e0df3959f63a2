#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds ration and runs its tests; installs what is missing first. The end of the output reports what ran, what was skipped and why.
#
#   tests/run.sh            what every change has to pass
#   tests/run.sh --quick    one compiler, no sanitizer, nothing in another Debian
#   tests/run.sh --all      also the slow tests, those in a browser, the benchmarks' build, both compilers in full, the headers
#                           under clang 16, clang-tidy over all files, and under the sanitizers every test program and every test of the plugin ABI
#   tests/run.sh --fuzz 10m only the fuzz targets, each for that time (s, m or h)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

extent=usual
fuzz_seconds=6  # of each target; 20 with --all
case "${1-}" in
  "") ;;
  --quick) extent=quick ;;
  --all)
    extent=all
    fuzz_seconds=20
    ;;
  --fuzz)
    extent=fuzz
    if [[ ! ${2-} =~ ^([1-9][0-9]{0,4})([smh])$ ]]; then
      echo "tests/run.sh: '--fuzz ${2-}' is not a time: write a number and s, m or h, as in --fuzz 10m" >&2
      exit 2
    fi
    declare -A unit=([s]=1 [m]=60 [h]=3600)
    fuzz_seconds=$((BASH_REMATCH[1] * unit[${BASH_REMATCH[2]}]))
    ;;
  *) echo "tests/run.sh: '$1' is not an option: --quick, --all, --fuzz TIME or nothing" >&2; exit 2 ;;
esac

jobs=$(nproc)
tests_at_once=$((2 * jobs))  # many only wait for a job
slow='slow|soak|mutation|qemu-full'  # only with --all
once="^($slow|bare-root)$"           # only in the first preset: another one would say the same. A bare root, which runs --quick, makes no other
# What clang runs of the tests on every change, by label. One build serves as the second compiler and as AddressSanitizer with UBSan.
# The program itself is built there with --all: that takes too long.
under_asan=(fast threads plugin_host)
under_tsan=(threads)
rows=()       # step, result, seconds
suites=()     # presets whose tests ran, the main one first
failed=0

record() {
  rows+=("$(printf '%-34s %-8s %s' "$1" "$2" "$3")")
}

# step NAME command...: runs it and continues after a failure, so that one start reports all failures.
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

# may_save_time PRESET: not with --all, and not in a tree that is configured already.
may_save_time() {
  [[ $extent != all && ! -f build/$1/CMakeCache.txt ]]
}

# configure PRESET [cmake-argument...]: in a new tree the files of a folder are compiled together, which takes less time.
configure() {
  local together=()
  ! may_save_time "$1" || together=(-D CMAKE_UNITY_BUILD=ON)
  step "$1: configure" cmake --preset "$@" "${together[@]}"
}

compile() {
  local preset=$1
  shift
  step "$preset: build" cmake --build --preset "$preset" --parallel "$jobs" "$@"
}

build() {
  configure "$1" && compile "$@"
}

# shellcheck disable=SC2317  # `step` calls it
run_ctest() {
  ctest --preset "$@" --parallel "$tests_at_once" --no-tests=error --output-junit tests.xml --test-output-size-passed 65536 |
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

case $extent in
  quick) labels=(--label-exclude "$once") ;;
  usual) labels=(--label-exclude "^($slow)$") ;;
  all) labels=() ;;
esac

check_gcc() {
  local information=()
  ! may_save_time debug || information=(-D CMAKE_CXX_FLAGS_DEBUG=-g1)  # less, which is faster
  configure debug "${information[@]}" && compile debug --target all all_verify_interface_header_sets && suite debug "${labels[@]}"
}

check_clang() {
  if ! command -v clang++-19 >/dev/null; then
    skip "clang-debug, asan, tsan" "clang++-19 is not installed"
  elif [[ $extent == all ]]; then
    build clang-debug --target all all_verify_interface_header_sets && suite clang-debug --label-exclude "^(house|misuse|compile_cost)$|$once"
    labelled asan program plugin new
    labelled tsan threads plugin new
  else
    labelled asan "${under_asan[@]}"
    labelled tsan "${under_tsan[@]}"
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

# A small program shows whether clang has libFuzzer: its package is another one than the compiler's.
has_fuzzer() {
  command -v clang++-19 >/dev/null &&
    clang++-19 -fsanitize=fuzzer,address -x c++ -o /dev/null - <<<'extern "C" int LLVMFuzzerTestOneInput(unsigned char const*, unsigned long) { return 0; }' 2>/dev/null
}

check_fuzz() {
  if ! has_fuzzer; then
    skip fuzz "clang++-19 or its libFuzzer (libclang-rt-19-dev) is not installed"
    return
  fi
  local plain=()
  [[ $extent == fuzz ]] || ! may_save_time fuzz ||
    plain=(-D CMAKE_C_FLAGS_DEBUG=-g1 -D CMAKE_CXX_FLAGS_DEBUG=-g1)  # without -O1: half of the time to compile
  configure fuzz "${plain[@]}" && compile fuzz && RATION_FUZZ_SECONDS=$fuzz_seconds suite fuzz
}

# What each target's last run came to.
fuzz_report() {
  local file total=0 count
  printf '\n== Executions of each fuzz target in %s s\n' "$fuzz_seconds"
  for file in build/fuzz/fuzz/*/executions; do
    count=$(tail -n 1 "$file")
    printf '%-12s %12s\n' "$(basename "$(dirname "$file")")" "$count"
    total=$((total + count))
  done
  printf '%-12s %12s\n' all "$total"
}

check_release() {
  cmake/packages.sh bench
  build release && suite release --label-exclude "$once"
}

# check_tidy [--changed]
check_tidy() {
  if command -v clang-tidy-19 >/dev/null; then
    step clang-tidy tests/tidy.sh "$@"
  else
    skip clang-tidy "clang-tidy-19 is not installed"
  fi
}

report() {
  printf '\n== Skipped and failed tests\n'
  python3 tests/house/suites.py "${suites[@]}"
  [[ " ${suites[*]} " != *" fuzz "* ]] || fuzz_report
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
if command -v ld.lld >/dev/null; then
  export LDFLAGS="${LDFLAGS-} -fuse-ld=lld"  # of the hundred test programs each links in a quarter of the time
fi
[[ $extent != all ]] || cmake/packages.sh browser full slurm
[[ $extent == fuzz ]] || check_gcc || true
if [[ $extent == usual || $extent == all ]]; then
  check_clang || true
fi
if [[ $extent != quick ]]; then
  check_fuzz || true
fi
if [[ $extent == all ]]; then
  check_oldest_clang || true
  check_release || true
  check_tidy || true
elif [[ $extent == usual ]]; then
  check_tidy --changed || true
fi
report
exit $failed
