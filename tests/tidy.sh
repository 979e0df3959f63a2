#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Runs clang-tidy 19 with the checks of .clang-tidy. Configures build/tidy, where each file has its own compile command, and builds nothing.
#
#   tests/tidy.sh            every public header and the program's sources; also shellcheck over the scripts
#   tests/tidy.sh --changed  of these, the files that differ from the merge base with main, or else from the commit before; at most 8.
#                            A finding in a header counts if the header differs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C

most=8                 # files of --changed
headers=tests/odr/a.cpp  # includes every public header

# The commit to compare with; fails where the clone has no other, as a shallow one.
base() {
  local branch found
  for branch in origin/main main; do
    found=$(git merge-base HEAD "$branch" 2>/dev/null) || continue
    [[ $found == "$(git rev-parse HEAD)" ]] || { echo "$found"; return; }
  done
  git rev-parse --quiet --verify HEAD~1
}

# The paths that differ from the base, with changes that are not committed; without a base, those of the last commit.
changed() {
  local from
  if from=$(base); then
    git diff --name-only --diff-filter=d "$from"
  else
    git show --name-only --diff-filter=d --pretty= HEAD
  fi
}

# Of the paths on stdin, what clang-tidy reads.
sources() {
  local path
  while read -r path; do
    case $path in
      tools/*.cpp) echo "$path" ;;
      include/*.hpp | include/*.h | backends/*.hpp | backends/*.h) echo "$headers" ;;
    esac
  done | sort -u
}

filter="(include|backends|tools)/"  # headers whose findings count
if [[ ${1-} == --changed ]]; then
  mapfile -t files < <(changed | sources)
  filter="($(changed | grep -E '^(include|backends|tools)/.*[.](hpp|h)$' | paste -sd '|' || true))$"
  if ((${#files[@]} > most)); then
    echo "clang-tidy: ${#files[@]} files differ, and at most $most are checked; tests/tidy.sh checks all. Left out:"
    printf '  %s\n' "${files[@]:most}"
    files=("${files[@]:0:most}")
  fi
else
  mapfile -t files < <(find tools -name '*.cpp' | sort && echo "$headers")
fi

if ((${#files[@]})); then
  printf 'clang-tidy: %s\n' "${files[@]}"
  cmake --preset debug -B build/tidy -DCMAKE_UNITY_BUILD=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
  # The precompiled header is GCC's; clang reads what it is made from. libstdc++ 12 itself uses a function that it deprecates.
  printf '%s\0' "${files[@]/#/$PWD/}" |
    xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 --quiet -p build/tidy --warnings-as-errors='*' --extra-arg=-Wno-ignored-gch --extra-arg=-Wno-deprecated-declarations \
      --header-filter="^$PWD/$filter"
else
  echo "clang-tidy: no file that it checks differs"
fi
if [[ ${1-} != --changed ]] && command -v shellcheck >/dev/null; then
  find . -path ./build -prune -o \( -name '*.sh' -o -path ./.ci/run \) -print0 | xargs -0 shellcheck
fi
