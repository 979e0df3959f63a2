#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# A service in a temporary folder: six jobs of two tenants are submitted and watched until all have ended.
#
#   examples/service.sh      RATION_PROGRAM: the program, instead of an installed `ration`, or the one that is built here;
#                            RATION_SECONDS: the length of a job
#                            RATION_PORT: of the page, on this machine
set -euo pipefail

ration=${RATION_PROGRAM:-$(command -v ration || true)}
if [[ -z $ration ]]; then
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  "$here/examples/build.sh" ration
  ration=$here/build/release/bin/ration
fi
length=${RATION_SECONDS:-3}
port=${RATION_PORT:-$((20000 + $$ % 10000))}
folder=$(mktemp -d)
chmod 700 "$folder"
export XDG_RUNTIME_DIR=$folder  # so that the runs of this user are left alone
state=$folder/state
token=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')

(umask 077; printf '%s\n' "$token" >"$folder/token")
printf '[[tenant]]\nname = "%s"\n' anna ben >"$folder/service.toml"
: >"$folder/serve.log"  # which the loop below may read before the service has begun
"$ration" serve --state "$state" --backend process --max-running 2 --config "$folder/service.toml" \
  --listen "127.0.0.1:$port" --token-file "$folder/token" >"$folder/serve.log" 2>&1 &
service=$!
trap 'kill "$service" 2>/dev/null || true; wait "$service" || true; "$ration" clean >/dev/null; rm -rf "$folder"' EXIT
until grep -q ready "$folder/serve.log"; do
  kill -0 "$service" || { cat "$folder/serve.log" >&2; exit 3; }
  sleep 0.1
done
echo "page: http://127.0.0.1:$port/#token=$token"

jobs=()
for number in 1 2 3; do
  for tenant in anna ben; do
    cat >"$folder/job.toml" <<END
[[job]]
name = "$tenant"
tenant = "$tenant"
command = ["sleep", "$length"]
target = { loss = { objective = 0 } }
at_objective = "continue"
END
    jobs+=("$("$ration" submit --state "$state" --key "$tenant.$number" "$folder/job.toml")")
  done
done
for job in "${jobs[@]}"; do
  "$ration" list
  "$ration" wait --state "$state" "$job"
done
"$ration" status --state "$state"
