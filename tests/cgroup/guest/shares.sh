#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Do tenants of a service with weights 3 and 1 get CPU time in this ratio under cgroup v2, with one busy job of the first and nine of the
# second? In the control all jobs are equal. In the guest: /tests/ration is the program, and busybox the only other one. The quotas have the
# ratio exactly. The host may hold the guest up for longer than the period of a quota, and then a job loses a part of its quota: one of six
# windows has to have the ratio within 3 points.
set -eu
seconds=10 windows=6
export XDG_RUNTIME_DIR=/tmp/run HOME=/tmp PATH=/bin
for applet in awk cat find grep kill mkdir rm sleep; do [ -e /bin/$applet ] || busybox ln -s busybox /bin/$applet; done
mkdir -p /etc "$XDG_RUNTIME_DIR"
busybox chmod 700 "$XDG_RUNTIME_DIR"
echo 'root:x:0:0:root:/tmp:/bin/sh' > /etc/passwd

ration() { command=$1; shift; /tests/ration "$command" --state "$state" "$@"; }

wait_until() {  # at most a minute
    for _ in $(busybox seq 300); do
        if eval "$1"; then return; fi
        sleep 0.2
    done
    echo "it did not happen: $1"
    cat "$state/events.jsonl"
    exit 1
}

# Microseconds of CPU of all jobs with a name.
used() { find /sys/fs/cgroup -path "*$1-*" -name cpu.stat -exec cat {} + | awk '$1 == "usage_usec" { sum += $2 } END { print sum + 0 }'; }

# Microseconds in each period of all jobs with a name.
quota() { find /sys/fs/cgroup -path "*$1-*" -name cpu.max -exec cat {} + | awk '$1 != "max" { sum += $1 } END { print sum + 0 }'; }

# Devices that all jobs hold.
devices() { /tests/ration list --json | grep -o '"devices_held":[0-9]*' | awk -F: '{ sum += $2 } END { print sum + 0 }'; }

measure() {
    anna=$(used anna) ben=$(used ben)
    sleep $seconds
    anna=$(($(used anna) - anna)) ben=$(($(used ben) - ben))
    awk -v a=$anna -v b=$ben -v wanted="$2" -v by="$1" 'BEGIN {
        part = 100 * a / (a + b)
        printf "by_tenant = %s: anna has %.1f %% of %.2f s of CPU time, wanted %d %%\n", by, part, (a + b) / 1e6, wanted
        exit part < wanted - 3 || part > wanted + 3
    }'
}

# check BY_TENANT PERCENT: the part of anna.
check() {
    state=/tmp/state-$1
    cat > /tmp/service.toml <<END
policy = "max_min"
max_min = { by_tenant = $1 }
tick = "200ms"
devices = { count = 40, cpu = 0.025 }
[[tenant]]
name = "anna"
weight = 3
[[tenant]]
name = "ben"
END
    /tests/ration serve --state "$state" --config /tmp/service.toml --backend cgroup --cpus 1 > /tmp/log 2>&1 &
    service=$!
    wait_until 'grep -q ready /tmp/log'
    ration drain > /tmp/drain
    for tenant in anna ben ben ben ben ben ben ben ben ben; do
        cat > /tmp/job.toml <<END
[[job]]
name = "$tenant"
tenant = "$tenant"
command = ["sh", "-c", "while :; do :; done"]
target = { loss = { objective = 0 } }
at_objective = "continue"
bounds = { gpu = { min = 1, max = 40 } }
END
        ration submit /tmp/job.toml > /tmp/label
    done
    ration drain --undo > /tmp/drain
    wait_until '[ "$(devices)" = 40 ]'
    wait_until '[ "$(used anna)" -gt 0 ] && [ "$(used ben)" -gt 0 ]'
    anna=$(quota anna) ben=$(quota ben)
    echo "by_tenant = $1: quotas of $anna and $ben us"
    [ $((100 * anna)) = $(($2 * (anna + ben))) ]
    for window in $(busybox seq $windows); do
        if measure "$1" "$2"; then break; fi
        [ "$window" != $windows ]
    done
    for id in $(busybox seq 2 10); do labels="${labels-anna-1} ben-$id"; done
    ration cancel $labels
    wait_until '[ "$(devices)" = 0 ]'
    unset labels
    kill -9 "$service"
}

check true 75
check false 10
echo "after $(cat /proc/uptime) s"
