#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Makes the Debian packages of a build tree, and looks at them.
#
#   debian_packages.sh BUILD         the fields, the files and the program of the packages, and lintian's opinion where it is installed
#   debian_packages.sh BUILD --root  installs them in a Debian that has nothing else, and runs jobs there
#
# Exit code: 0, 1 (a package is wrong), 77 (cannot be tried here, with the reason).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1
# The contact address of the packages does not receive mail yet.
expected_tags=bogus-mail-host,bogus-mail-host-in-debian-changelog

wrong() {
  echo "debian_packages: $1" >&2
  exit 1
}

# field PACKAGE NAME
field() {
  dpkg-deb --field "$folder"/"$1"_*.deb "$2"
}

has_file() {
  [[ $(dpkg-deb --contents "$folder"/"$1"_*.deb) == *" ./$2"* ]] || wrong "$1 lacks /$2"
}

look_at() {
  local policy
  field ration Depends | grep -q libhwloc || wrong "ration does not depend on the libraries that it links"
  [[ $(field ration-dev Architecture) == all ]] || wrong "ration-dev has headers only, and is not for all architectures"
  [[ -z $(field ration-dev Depends) ]] || wrong "ration-dev depends on $(field ration-dev Depends)"
  has_file ration usr/share/man/man1/ration.1.gz
  has_file ration-dev usr/include/ration/ration.hpp
  has_file ration-plugins usr/lib/ration/plugins/tradl.so
  dpkg-deb --extract "$folder"/ration_*.deb "$folder/files"
  dpkg-deb --extract "$folder"/ration-plugins_*.deb "$folder/files"
  policy=$("$folder/files/usr/bin/ration" policies --show "$folder/files/usr/lib/ration/plugins/fifo.so")
  [[ $policy == *fifo* ]] || wrong "the program does not read the plugin fifo.so: $policy"
  if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning --suppress-tags "$expected_tags" "$folder"/*.deb || wrong "lintian found the above"
  fi
}

[[ -x $(command -v dpkg-shlibdeps) && -x $(command -v cpack) ]] || { echo "skipped: dpkg-shlibdeps or cpack is not installed"; exit 77; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/ration-packages.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cpack --config "$build/CPackConfig.cmake" -B "$folder" >"$folder/log" 2>&1 || { cat "$folder/log"; wrong "cpack failed"; }
rm -rf "$folder/_CPack_Packages"
case ${2-} in
  --root) "$here/clean_root.sh" --packages "$folder" ;;
  *) look_at ;;
esac
