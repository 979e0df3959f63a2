#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The one list of the packages that ration is built, tested and measured with, for Debian 12 and 13.
#
#   cmake/packages.sh build [test] [bench] [pytorch] [slurm] [full] [browser] [docs] [deb]    installs what is missing; upgrades what is there only where apt must
#
# A name that ends in ? may be absent from a release: tests that need it are then skipped with that reason.
set -euo pipefail

build=(cmake make ninja-build g++ pkg-config libcli11-dev libtomlplusplus-dev libfmt-dev nlohmann-json3-dev libboost-dev
  prometheus-cpp-dev libcpp-httplib-dev librange-v3-dev libsqlite3-dev zlib1g-dev dataset-fashion-mnist "libhwloc-dev?" "libjs-chart.js?")
test=(catch2 git python3 "python3-dev?" "python3-venv?" "clang-19?" "clang-format-19?" "clang-tidy-19?" "libclang-rt-19-dev?" "lld?" "qemu-system-x86?" "busybox-static?" "cpio?"
  "python3-prometheus-client?" "mandoc?" "groff-base?" "mount?" "zsh?" "fish?" "mmdebstrap?")
bench=(libbenchmark-dev "libglpk-dev?")
pytorch=("python3-torch?" "libopenblas0-pthread?")
slurm=("slurmctld?" "slurmd?" "slurm-client?" "munge?" "slurm-wlm-basic-plugins?")
full=("clang-16?" "shellcheck?")
browser=("chromium?" "fonts-dejavu-core?")
docs=("mkdocs?" "mkdocs-material?" "doxygen?")
deb=(dpkg-dev file)

wanted=()
for group in "$@"; do
  case $group in
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${test[@]}") ;;
    bench) wanted+=("${bench[@]}") ;;
    pytorch) wanted+=("${pytorch[@]}") ;;
    slurm) wanted+=("${slurm[@]}") ;;
    full) wanted+=("${full[@]}") ;;
    browser) wanted+=("${browser[@]}") ;;
    docs) wanted+=("${docs[@]}") ;;
    deb) wanted+=("${deb[@]}") ;;
    *) echo "packages: no group is called '$group': name build, test, bench, pytorch, slurm, full, browser, docs or deb" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "packages: this system has no dpkg, so nothing is installed. If a later step fails, install what it names; Debian calls" \
    "the packages ${wanted[*]%\?}"
  exit 0
fi

is_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

has_candidate() {
  local candidate
  candidate=$(apt-cache policy "$1" | sed -n 's/^  Candidate: //p')
  [[ -n $candidate && $candidate != "(none)" ]]
}

missing=()
for name in "${wanted[@]}"; do
  is_installed "${name%\?}" || missing+=("$name")
done
((${#missing[@]})) || exit 0

# Users who may install: root, or sudo when it asks for nothing or there is a terminal to ask on.
as_root=(env DEBIAN_FRONTEND=noninteractive)
if [[ $(id -u) != 0 ]]; then
  if ! command -v sudo >/dev/null || ! { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
    echo "packages: something is missing, and only root or sudo can install it. Ask somebody who has that to run:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]%\?}" >&2
    exit 3
  fi
  as_root=(sudo "${as_root[@]}")
fi

echo "packages: missing ${missing[*]%\?}"
"${as_root[@]}" apt-get update -qq || echo "packages: the lists could not be renewed; going on with those that are here"

chosen=()
for name in "${missing[@]}"; do
  plain=${name%\?}
  if has_candidate "$plain"; then
    chosen+=("$plain")
  elif [[ $plain == "$name" ]]; then
    echo "packages: $plain is needed and no package source of this system has it. Tried are Debian 12 and 13: on another" \
      "system install what it calls this package" >&2
    exit 4
  else
    echo "packages: no source of this system has $plain; what needs it will be skipped"
  fi
done
((${#chosen[@]})) || exit 0
"${as_root[@]}" apt-get install -qq --yes --no-install-recommends --no-upgrade --no-remove "${chosen[@]}"
