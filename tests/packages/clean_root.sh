#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Depends on ration in a Debian that has a compiler, CMake, Ninja, pkg-config, git and Python, and nothing else that a program could be built with.
#
#   clean_root.sh [WAY...]               the six ways of ways.py, or these of them; then the error for a project that requires hwloc there
#   clean_root.sh --quickstart           examples/quickstart.sh to its end, in a Debian that has not even a compiler: it has to install all of it
#   clean_root.sh --quick                tests/run.sh --quick in the same Debian
#   clean_root.sh --packages FOLDER      installs the Debian packages of the folder, and runs jobs there
#   clean_root.sh --wheel FOLDER         installs the Python wheel of the folder, and runs jobs there
#   clean_root.sh --image                the two stages of the Dockerfile, without Docker: makes the packages in one Debian, installs them in another
#   clean_root.sh --compile COMPILER...  each compiler (g++, g++-15, clang++-21, ...) reads every source of program, plugins and examples,
#                                        the files of a component of the program together
#   clean_root.sh --compile-alone COMPILER...  the same with tests, and each file by itself, which finds a missing include; it takes five times as long
#   clean_root.sh --arm64                builds program, plugins and tests for ARM64 with a cross compiler, and runs the tests that only compute, a
#                                        simulation, a benchmark and two jobs under QEMU, which emulates the processor and not the kernel
#
# --release CODENAME, before these, takes another release than this machine's. Packages come from this machine's sources.
# Exit code: 0, 1 (something failed), 77 (cannot be tried here, with the reason).
# RATION_ROOTS: a folder for the root, which takes up to 5 GB, and is removed (default: that of temporary files).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)

skip() {
  echo "skipped: $1"
  exit 77
}

# The first word of this key's value in /etc/os-release.
release() {
  sed -n "s/^$1=\"\?\([^\" ]*\).*/\1/p" /etc/os-release
}

# The distribution's own sources on this machine for the wanted release, in one line each; sid has no separate updates. A clean root
# does not have other vendors' packages.
sources() {
  # shellcheck disable=SC2016  # apt expands them
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' "Origin: $(release NAME)" | sort -u |
    sed -e "s/ $(release VERSION_CODENAME)\b/ $codename/" -e '/ sid-/d'
}

# make_root PACKAGES [MMDEBSTRAP_OPTION...]: a root in $root, that can install more.
make_root() {
  local proxy packages=$1
  shift
  proxy=$(apt-config dump Acquire::http::Proxy)
  sources >"$folder/sources"
  [[ -s $folder/sources ]] || skip "apt has no package source of this distribution: is it Debian, and has apt-get update run?"
  local arguments=(--mode=root --variant=apt --include="$packages" "$@")
  [[ -z $proxy ]] || arguments+=(--aptopt="$proxy")
  if ! mmdebstrap "${arguments[@]}" "$codename" "$root" "$folder/sources" >"$folder/log" 2>&1; then
    skip "no root could be made, for want of the network or a privilege: $(grep -m 1 '^E: ' "$folder/log" || tail -n 1 "$folder/log")"
  fi
  cp --remove-destination -L /etc/resolv.conf /etc/hosts "$root/etc/"
}

# The checkout in its present state, without what was built in it.
carry_source() {
  mkdir "$root/ration"
  if [[ -e $source/.git ]]; then
    git -C "$source" ls-files -z -co --exclude-standard | tar -C "$source" --null --ignore-failed-read -T - -c | tar -C "$root/ration" -x
  else
    tar -C "$source" --exclude=./build -c . | tar -C "$root/ration" -x
  fi
}

# inside COMMAND...: in a separate mount namespace, so that none of its mounts is left.
inside() {
  # shellcheck disable=SC2016  # the inner shell expands them
  unshare --mount --propagation private --pid --fork --kill-child bash -c '
    set -e
    mount --bind "$0" "$0"  # unshare in the chroot requires that "/" is a mount point
    mount -t proc proc "$0/proc"
    for name in dev sys; do mount --rbind "/$name" "$0/$name"; done
    exec chroot "$0" "$@"' "$root" "$@"
}

# How to reach PyPI, for Conan: as this machine does.
allow_pip() {
  local name certificates
  [[ ! -e /etc/pip.conf ]] || cp /etc/pip.conf "$root/etc/"
  certificates=$(python3 -m pip config get global.cert 2>/dev/null) || certificates=/etc/ssl/certs/ca-certificates.crt
  [[ ! -e $certificates ]] || { mkdir -p "$root${certificates%/*}" && cp -L "$certificates" "$root$certificates"; }
  for name in "${!PIP_@}"; do pip+=("$name=${!name}"); done
}

try_ways() {
  local pip=()
  make_root g++,cmake,ninja-build,pkg-config,git,python3,python3-venv,ca-certificates
  carry_source
  allow_pip
  inside env -i PATH=/usr/bin:/bin LANG=C.UTF-8 "${pip[@]}" python3 -B /ration/tests/packages/ways.py --source /ration --clean-root --compiler g++ "$@"
}

# try_command COMMAND: one command of the README, where nothing is installed.
try_command() {
  make_root apt
  carry_source
  inside env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 bash -c "cd /ration && time $1"
}

# try_packages FOLDER: in a Debian that has not even a compiler.
try_packages() {
  make_root apt
  mkdir "$root/packages"
  cp "$1"/*.deb "$here/installed.sh" "$here/jobs.toml" "$root/packages/"
  inside env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive /packages/installed.sh
}

# try_wheel FOLDER: in a Debian that has Python and no compiler.
try_wheel() {
  make_root python3-minimal,python3-venv
  mkdir "$root/wheels"
  cp "$1"/*.whl "$here/installed_wheel.sh" "$here/jobs.toml" "$root/wheels/"
  inside env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 /wheels/installed_wheel.sh /wheels /wheels/installed
}

# try_image: the root in which the packages were made is removed, so that the program cannot find anything of it.
try_image() {
  try_command "cmake/debian_packages.sh /packages"
  mv "$root/packages" "$folder/packages"
  rm -rf --one-file-system "$root"
  try_packages "$folder/packages"
}

# The package of clang++-21 is clang-21, and its C compiler too; that of g++-15 is g++-15, and its C compiler gcc-15.
# A debug build has a precompiled header for the program, which takes less time; it would hide a missing include from files that are read alone.
# try_compilers together|alone COMPILER...
try_compilers() {
  local preset=debug unity=ON tests=OFF
  [[ $1 == together ]] || { preset=release; unity=OFF; tests=ON; }
  shift
  make_root "catch2,git,python3,python3-dev,$(IFS=,; echo "${*/#clang++/clang}")"
  carry_source
  # shellcheck disable=SC2016  # the inner shell expands them
  inside env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 bash -c '
    set -e
    cd /ration
    cmake/packages.sh build
    preset=$1
    unity=$2
    tests=$3
    shift 3
    for compiler; do
      c=${compiler/#clang++/clang}
      cmake --preset "$preset" -D RATION_BUILD_BENCH=OFF -D CMAKE_UNITY_BUILD="$unity" -D RATION_BUILD_TESTS="$tests" -B "build/$compiler" -D CMAKE_CXX_COMPILER="$compiler" -D CMAKE_C_COMPILER="${c/#g++/gcc}"
      "$compiler" --version | head -n 1
      time python3 -B tests/packages/syntax.py "build/$compiler"
    done' compilers "$preset" "$unity" "$tests" "$@"
}

# The libraries of the group `build` of cmake/packages.sh are those of ARM64; the programs that read or run something are this machine's.
try_arm64() {
  local libraries=(libboost-dev libc6-dev libcpp-httplib-dev libfmt-dev libhwloc-dev libsqlite3-dev libtomlplusplus-dev prometheus-cpp-dev zlib1g-dev)
  local programs=(catch2 cmake g++-aarch64-linux-gnu git libcli11-dev libjs-chart.js librange-v3-dev ninja-build nlohmann-json3-dev pkg-config python3 qemu-user-static)
  make_root "$(IFS=,; echo "${programs[*]},${libraries[*]/%/:arm64}")" "--architectures=$(dpkg --print-architecture),arm64"
  carry_source
  inside env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 bash /ration/tests/packages/arm64.sh
}

[[ $(id -u) == 0 ]] || skip "only root can make a root of its own: start it as root"
for program in mmdebstrap mount unshare chroot tar; do
  command -v "$program" >/dev/null || skip "the program $program is not installed"
done
codename=$(release VERSION_CODENAME)
if [[ ${1-} == --release ]]; then
  codename=${2:?"after --release comes the name of one, such as trixie"}
  shift 2
fi
unshare --mount --propagation private true 2>/dev/null || skip "this system does not let root make a mount namespace"
folder=$(mktemp -d "${RATION_ROOTS:-${TMPDIR:-/tmp}}/ration-root.XXXXXX")
root=$folder/root
trap 'rm -rf --one-file-system "$folder"' EXIT
case ${1-} in
  --quickstart) try_command examples/quickstart.sh ;;
  --quick) try_command "tests/run.sh --quick" ;;
  --packages) try_packages "$2" ;;
  --wheel) try_wheel "$2" ;;
  --image) try_image ;;
  --arm64) try_arm64 ;;
  --compile) shift && try_compilers together "${@:-g++}" ;;
  --compile-alone) shift && try_compilers alone "${@:-g++}" ;;
  *) try_ways "$@" ;;
esac
