#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Runs one benchmark, such as `bench/run.sh plugin`; installs and builds what is missing. Arguments are passed on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The benchmarks that are scripts.
declare -A scripts=(
  [decision]=bench/decision/decision.py
  [threads]=bench/threads/threads.py
  [run.policies]=bench/run/policies.py
  [run.warm_launches]=bench/run/warm_launches.py
  [published.ray]=bench/published/ray_tune.py
  [published.elastic_rmi_live]=bench/published/elastic_rmi_live.py
  [published.perseus_live]=bench/published/perseus_live.py
  [published.robus_live]=bench/published/robus_live.py
  [published.virtual_cluster_live]=bench/published/virtual_cluster_live.py
  [published.ai4dl_live]=bench/published/ai4dl_live.py
  [published.cm_dare_live]=bench/published/cm_dare_live.py
  [slurm.order]=bench/slurm/order.py
  [nodes.wire]=bench/nodes/wire.py
  [nodes.srun]=bench/nodes/srun.py
  [service.overhead]=bench/service/overhead.py
  [service.neighbours]=bench/service/neighbours.py
)

names() {
  { grep -rhoE 'add_executable\(bench\.[^ )]+' bench | sed 's/.*bench\.//'; printf '%s\n' "${!scripts[@]}"; } | sort
}
if [[ $# == 0 ]] || ! names | grep -qxF -- "$1"; then
  printf 'bench/run.sh: name a benchmark: %s\n' "$(names | paste -sd ' ')" >&2
  exit 2
fi
name=$1
shift

cmake/packages.sh build bench
cmake --preset release >/dev/null
if [[ -v "scripts[$name]" ]]; then
  cmake --build --preset release --parallel "$(nproc)" --target ration >&2
  case $name in
    threads | run.warm_launches | published.ai4dl_live | published.cm_dare_live | published.perseus_live | published.robus_live) cmake/packages.sh pytorch ;;
    run.policies)
      cmake --build --preset release --parallel "$(nproc)" --target train >&2
      [[ $* != *elastic* ]] || cmake/packages.sh pytorch
      ;;
    slurm.order | nodes.srun) cmake/packages.sh slurm ;;
    published.ray)
      cmake/packages.sh test
      tests/support/ray.sh build/ray >&2
      export PATH=$PWD/build/ray/bin:$PATH PYTHONPATH=$PWD/python:$PWD/tests/tune
      ;;
  esac
  exec "${scripts[$name]}" "$@"
fi
cmake --build --preset release --parallel "$(nproc)" --target "bench.$name" >&2
exec "build/release/bin/bench.$name" "$@"
