#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# A user's first steps with the wheel, in a separate virtual environment. They need python3 with venv, and no compiler.
#
#   installed_wheel.sh WHEELS FOLDER    installs the one wheel of the folder WHEELS into FOLDER, which it makes
set -euo pipefail

wrong() {
  echo "installed_wheel: $1" >&2
  exit 1
}

jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/jobs.toml
wheels=$1
folder=$2
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-index "$wheels"/ration-*.whl
installed=("$folder"/lib/python3.*/site-packages/ration/installed)
for library in libfmt libhwloc libsqlite3; do  # those of the wheel, not of this machine
  [[ $(ldd "${installed[0]}/bin/ration" | grep "$library") == *ration.libs* ]] || wrong "it needs the $library of this machine"
done
cd "$folder"
PATH=$folder/bin:$PATH
version=$(ration --version)
[[ $(python3 -m ration --version) == "$version" ]] || wrong "python3 -m ration is another program than ration"
ration check "${installed[0]}/lib/ration/plugins/tradl.so" || wrong "tradl.so does not keep the rules of the plugin ABI"
ration run "$jobs" --policy tradl --backend process | tee run.log
grep -q "a reached Acceptable" run.log || wrong "the job does not reach its target"
python3 -c '
from ration.decide import Decide
with Decide("equal_share") as policy:
    answer = policy.ask(nodes=[{"id": "n", "capacity.cpu": 2000}], jobs=[{"id": "j", "state": "running"}])
assert answer["grants"][0]["amount"] == 2000, answer' || wrong "ration.decide gets no answer"
echo "installed_wheel: $version works"
