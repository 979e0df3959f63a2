# SPDX-License-Identifier: BSL-1.0
# [policy]
from ration.policy import CPU, LEAST_CPU, RUNNING, Policy


class Half(Policy):
    """Half of the machine for the job that came first, the rest for the others."""

    id = "org.example.half"
    version = "1.0.0"
    summary = "half of the CPU for the first job, an equal share of the rest for the others"
    reasons = ["", "it came first", "one of the others"]
    inputs = {"jobs/state": "u32", "nodes/capacity.cpu": "i64"}

    def decide(self, tick, grant):
        running = [job for job, state in enumerate(tick["jobs/state"]) if state == RUNNING]
        half = tick["nodes/capacity.cpu"][0] // 2
        for job in running:
            first = job == running[0]
            share = half if first else half // (len(running) - 1)
            grant(job, 0, CPU, max(share, LEAST_CPU), 1 if first else 2)
# [policy]
