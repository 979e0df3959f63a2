#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Six elastic jobs on a Slurm cluster of this machine, under elastic_batch_dp or another policy. One node fails in the middle, and its jobs continue on the others.
#
#   examples/slurm.sh [POLICY]      RATION_PROGRAM: the program, instead of an installed `ration`, or the one that is built here; RATION_NODES: 2 to 4; RATION_STEPS: of a job, each 0.1 s on one device
#
# It needs root, installs Debian's Slurm if that is missing, and starts its daemons on the loopback interface in a temporary folder.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
RATION_PROGRAM=${RATION_PROGRAM:-$(command -v ration || true)}
if [[ -z $RATION_PROGRAM ]]; then
  "$here/build.sh" ration
  RATION_PROGRAM=$here/../build/release/bin/ration
fi
RATION_NODES=${RATION_NODES:-4}
export RATION_PROGRAM RATION_NODES
steps=${RATION_STEPS:-150}

# Each node has two CPU devices in place of GPUs.
write_jobs() {
  printf 'policy = "%s"\ndevices = { count = 2, cpu = 0.5 }\ntick = "500ms"\n' "$1"
  for name in ada bo cy dee eve fay; do
    cat <<END

[[job]]
name = "$name"
command = ["python3", "$here/nodes/elastic_train.py", "$steps"]
target = { loss = { objective = 0.1 } }
at_objective = "continue"
bounds = { gpu = { min = 1, max = 2 } }
speedup = [0, 1, 1.8]
deadlines = { save = "2s", stop = "2s" }
grace = "1s"
END
  done
}

# Debian starts the daemons of a new package, unless a policy forbids it.
install_slurm() {
  policy=/usr/sbin/policy-rc.d
  [[ $(id -u) == 0 ]] || { echo "slurm.sh: the daemons of Slurm start as root only; run it as root" >&2; exit 3; }
  [[ -e $policy ]] || (
    trap 'rm -f "$policy"' EXIT
    install -m 755 /dev/stdin $policy <<<$'#!/bin/sh\nexit 101'
    "$here/../cmake/packages.sh" slurm
  )
  "$here/../cmake/packages.sh" slurm
}

# Within the allocation.
run_jobs() {
  "$RATION_PROGRAM" run jobs.toml --nodes slurm --node-lease 3s --log log.jsonl &
  until grep -qs "job_started.*\"n$RATION_NODES:" log.jsonl; do
    kill -0 $! || exit 3
    sleep 0.2
  done
  sleep 3
  python3 "$here/../tests/slurm/lab.py" fail "n$RATION_NODES"
  echo "node n$RATION_NODES has failed"
  wait $!
}

if [[ ${1:-} == --in-allocation ]]; then
  run_jobs
  exit
fi
python3 "$here/../tests/slurm/lab.py" reason >/dev/null || install_slurm
folder=$(mktemp -d)
export XDG_RUNTIME_DIR=$folder  # so that the runs of this user are left alone
trap '"$RATION_PROGRAM" clean >/dev/null; rm -rf "$folder"' EXIT  # the agent of the failed node could not remove its groups
write_jobs "${1:-elastic_batch_dp}" >"$folder/jobs.toml"
cd "$folder"
python3 "$here/../tests/slurm/lab.py" run "$folder/lab" \
  salloc --quiet --nodes="$RATION_NODES" --ntasks-per-node=2 --gres=gpu:2 --no-kill "$here/slurm.sh" --in-allocation
