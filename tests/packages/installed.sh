#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# What a user does first with the installed packages, in a Debian with nothing else. The last line is the proof that a job ran under a policy.
set -euo pipefail
apt-get -qq update
apt-get -o APT::Sandbox::User=root --yes --no-install-recommends install /packages/*.deb >"$HOME/log" 2>&1 || { cat "$HOME/log"; exit 1; }
ration --version
ration policies /usr/lib/ration/plugins/fifo.so
ration sim --generate rigid:jobs=50 --cluster 2x4 --policy fifo,las
cd && ration run /packages/jobs.toml --policy tradl --backend process
