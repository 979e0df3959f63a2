#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# A service in a temporary folder: six jobs of two names are submitted and watched until all have ended.
#
#   examples/service.sh      RATION_PROGRAM: the program, instead of `ration`; RATION_SECONDS: the length of a job
set -euo pipefail

ration=${RATION_PROGRAM:-ration}
length=${RATION_SECONDS:-3}
folder=$(mktemp -d)
chmod 700 "$folder"
export XDG_RUNTIME_DIR=$folder  # so that the runs of this user are left alone
state=$folder/state

"$ration" serve --state "$state" --backend process --max-running 2 >"$folder/serve.log" 2>&1 &
service=$!
trap 'kill "$service" 2>/dev/null || true; wait "$service" || true; "$ration" clean >/dev/null; rm -rf "$folder"' EXIT
until grep -q ready "$folder/serve.log"; do
  kill -0 "$service" || { cat "$folder/serve.log" >&2; exit 3; }
  sleep 0.1
done

jobs=()
for name in vae cnn vae cnn vae cnn; do
  jobs+=("$("$ration" submit --state "$state" --name "$name" -- sleep "$length")")
done
for job in "${jobs[@]}"; do
  "$ration" list
  "$ration" wait --state "$state" "$job"
done
"$ration" status --state "$state"
