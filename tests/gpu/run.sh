#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# What only a machine with an NVIDIA GPU can show: that a process under a mask sees exactly the devices that were meant, that a job under a share by MPS is a client, and what shares of a
# quarter, a half and three quarters leave of a GPU's throughput, by MPS and by green contexts. A driver is needed, and g++ 12 or newer; no CUDA toolkit.
#
#   tests/gpu/run.sh [FOLDER]     builds into FOLDER (build/gpu), prints, and writes FOLDER/transcript.txt
#
# RATION_GPU_SECONDS: how long each job computes (2). RATION_GPU_PROGRAMS: a folder with `look` and `burn`, already built. RATION_PROGRAM: a built `ration`, whose doctor is asked too; and where
# RATION_GPU_PYTHON (python3) has a PyTorch that finds the GPU, two training jobs are moved between shares of it by `ration run`, RATION_GPU_STEPS (4000) steps each.
#
# Resets nothing, and changes neither MIG nor the compute mode. Starts its own MPS daemon, in a separate folder, and ends it. Exit code: 0, 1 (a check failed), 77 (no GPU here, with
# one sentence). Rates are printed and not judged.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=${1:-$root/build/gpu}
seconds=${RATION_GPU_SECONDS:-2}
mkdir -p "$folder" && folder=$(cd "$folder" && pwd)
programs=${RATION_GPU_PROGRAMS:-$folder}

build() {
  local flags=(-O2 -Wall -Wextra -I"$root/backends/cuda/include" -I"$root/backends/process/include" -I"$root/include")
  "${CXX:-g++}" -std=c++20 "${flags[@]}" "$here/look.cpp" -o "$programs/look" -ldl &&
    "${CC:-gcc}" -std=c99 "${flags[@]}" "$here/burn.c" -o "$programs/burn" -ldl
}

failed=0

# A job's line: SMs shown, SMs of its green context, rate. Its standard input is held open while it is looked at.
# job MPS? ENVIRONMENT...
job() {
  local with_mps=$1 answer pid
  shift
  coproc JOB { exec env CUDA_VISIBLE_DEVICES="$gpu" CUDA_DEVICE_ORDER=PCI_BUS_ID "$@" "$programs/burn" "$seconds" 2>>"$folder/jobs.log"; }
  pid=$!
  local from=${JOB[0]-0} to=${JOB[1]-0}
  if [[ $with_mps == mps ]] && ! answer=$("$programs/look" client "$pid"); then
    echo "not a client of MPS: $answer" >&2
    eval "exec $to>&-"
    wait "$pid"
    return 1
  fi
  read -r answer <&"$from" || answer="0 0 0"
  eval "exec $to>&-"
  wait "$pid" || return 1
  echo "$answer"
}

row() {  # NAME SHARE LINE
  local shown green rate
  read -r shown green rate <<<"$3"
  awk -v n="$1" -v s="$2" -v a="$shown" -v g="$green" -v r="$rate" -v w="$whole" \
    'BEGIN { printf "  %-16s %8s %10s %12s %14.4g %10.2f\n", n, s, a, (g == 0 ? "-" : g), r, (w > 0 ? r / w : 0) }'
}

by_mps() {
  local share percent line
  if ! command -v nvidia-cuda-mps-control >/dev/null; then
    echo "  by MPS: nvidia-cuda-mps-control is not installed"
    return
  fi
  CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d)
  CUDA_MPS_LOG_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY
  export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  trap 'echo quit | timeout 30 nvidia-cuda-mps-control >/dev/null 2>&1; rm -rf "$CUDA_MPS_PIPE_DIRECTORY"' EXIT
  timeout 30 nvidia-cuda-mps-control -d || { echo "  by MPS: the daemon does not start"; return 1; }
  for share in 250 500 750 1000; do
    percent=$("$programs/look" percent "$share")
    line=$(job mps CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="$percent") || { echo "  by MPS, $share: the job failed"; return 1; }
    row "MPS" "$share" "$line"
  done
  # Two at once: what one leaves the other.
  (job mps CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50 >"$folder/first") &
  line=$(job mps CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50) || return 1
  wait $! || return 1
  row "MPS, two at once" 500 "$(<"$folder/first")"
  row "" 500 "$line"
}

by_green_contexts() {
  local share line
  for share in 250 500 750; do
    line=$(job alone RATION_SM_SHARE="$share") || { echo "  by green contexts, $share: the job failed"; return 1; }
    row "green context" "$share" "$line"
  done
}

# By the program itself: the daemon, percentages, restarts and the list of clients are its own business.
by_ration_run() {
  local python=${RATION_GPU_PYTHON:-python3}
  if [[ ! -x ${RATION_PROGRAM-} ]]; then
    echo "  left out: RATION_PROGRAM names no built ration"
  elif ! command -v nvidia-cuda-mps-control >/dev/null; then
    echo "  left out: nvidia-cuda-mps-control is not installed"
  elif ! "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>>"$folder/jobs.log"; then
    echo "  left out: $python has no PyTorch that finds a GPU"
  else
    CUDA_VISIBLE_DEVICES=$gpu "$python" "$root/examples/elastic/three_to_one.py" "$RATION_PROGRAM" --devices gpu --width 8192 --repetitions 1 --steps "${RATION_GPU_STEPS:-4000}" --arrival 15
  fi
}

all() {
  local names
  names=$("$programs/look" gpus) || { local code=$?; echo "$names"; return $code; }
  date -u +"%Y-%m-%d %H:%M UTC"
  timeout 60 nvidia-smi -L 2>/dev/null
  timeout 60 nvidia-smi --query-gpu=index,pci.bus_id,driver_version,compute_mode,mig.mode.current --format=csv 2>/dev/null
  [[ -x ${RATION_PROGRAM-} ]] && "$RATION_PROGRAM" doctor
  echo
  echo "Masks"
  "$programs/look" masks || failed=1
  read -r gpu _ <<<"$names"
  : >"$folder/jobs.log"
  echo
  echo "Two training jobs on quarters of $gpu under ration run, by loss_delta_ratio"
  by_ration_run || failed=1  # before this script starts its own daemon
  echo
  echo "Throughput of $gpu, float multiply-adds a second, $seconds s each"
  printf '  %-16s %8s %10s %12s %14s %10s\n' "" "per mille" "SMs shown" "SMs granted" rate "of whole"
  whole=$(job alone) || { echo "  the job failed: $(tail -n 1 "$folder/jobs.log")"; return 1; }
  local first=$whole
  whole=${whole##* }
  row whole 1000 "$first"
  by_green_contexts || failed=1
  by_mps || failed=1
  echo
  echo "$([[ $failed == 0 ]] && echo "All checks passed." || echo "A check FAILED.") What the jobs said of themselves is in jobs.log beside this transcript."
  return $failed
}

[[ -n ${RATION_GPU_PROGRAMS-} ]] || build || { echo "tests/gpu/run.sh: the programs do not build" >&2; exit 1; }
all 2>&1 | tee "$folder/transcript.txt"
exit "${PIPESTATUS[0]}"
