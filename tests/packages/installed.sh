#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# What a user does first with the installed packages, in a Debian with nothing else. The last line is the proof that a job ran under a policy.
set -euo pipefail
apt-get -qq update
apt-get -o APT::Sandbox::User=root --yes --no-install-recommends install /packages/*.deb >"$HOME/log" 2>&1 || { cat "$HOME/log"; exit 1; }
ration --version
ration policies /usr/lib/ration/plugins/fifo.so
ration sim --generate rigid:jobs=50 --cluster 2x4 --policy fifo,las
cat >"$HOME/jobs.toml" <<'JOBS'
[[job]]
name = "a"
command = ["/bin/sh", "-c", "for i in 3 2 1; do echo loss=$i; sleep 0.2; done"]
log = 'loss=(?<loss>\S+)'
target = { loss = { acceptable = 2 } }
JOBS
cd && ration run jobs.toml --policy tradl --backend process
