#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Asks a policy of ration about two nodes with four GPUs each: client.sh [RATION [POLICY]]
set -euo pipefail

coproc decide { exec "${1:-ration}" decide "${2:-pack}"; }

# Sends a request, and prints the grants. `held` has them in the form of the next request.
ask() {
  local answer
  printf '%s\n' "$1" >&"${decide[1]}"
  IFS= read -r answer <&"${decide[0]}"
  if [[ $answer == '{"error"'* ]]; then
    printf '%s\n' "$answer" >&2
    exit 1
  fi
  held=$(grep -o '{"job":[^{}]*}' <<<"${answer%%\"rejected\"*}") || true
  # A scheduler starts, resizes or stops the jobs here.
  sed -nE 's/.*"job":"(.*)","node":"(.*)","resource":"(.*)","amount":(.*),"group".*/\1 gets \4 \3 on \2/p' <<<"$held"
}

nodes='{"id":"n1","capacity.gpu":4},{"id":"n2","capacity.gpu":4}'
job() { printf '{"id":"%s","state":"queued","request.gpu":%d}' "$@"; }
ask "{\"nodes\":[$nodes],\"jobs\":[$(job a 4),$(job b 2),$(job c 4)]}"
running=$(sed -E 's/.*"job":("[^"]*").*/{"id":\1,"state":"running"}/' <<<"$held")
ask "{\"jobs\":{\"changed\":[${running//$'\n'/,}]},\"held\":{\"changed\":[${held//$'\n'/,}]}}"
echo 'a ends'
ask '{"jobs":{"removed":["a"]}}'
