# SPDX-License-Identifier: BSL-1.0
"""The policy: it reads the columns of `inputs`, and grants by `grant`."""
from ration.policy import CPU, LEAST_CPU, RUNNING, Policy


def weight(tier: int) -> int:
    """What a job counts when the CPU is divided."""
    return 2 if tier == 0 else 1


class MyPolicy(Policy):
    id = "org.example.my-policy"
    version = "0.1.0"
    summary = "more CPU for jobs below their first tier"
    reasons = ["", "on its way to the first tier", "has reached its first tier"]
    inputs = {"jobs/state": "u32", "jobs/tier": "u32", "jobs/min.cpu": "i64", "jobs/max.cpu": "i64", "nodes/capacity.cpu": "i64"}

    def decide(self, tick, grant) -> None:
        state, tier = tick["jobs/state"], tick["jobs/tier"]
        least, most, capacity = tick["jobs/min.cpu"], tick["jobs/max.cpu"], tick["nodes/capacity.cpu"]
        every = sum(weight(tier[job]) for job in range(len(state)) if state[job] == RUNNING)
        for job in range(len(state)):
            if state[job] == RUNNING:
                share = capacity[0] // every * weight(tier[job])
                amount = 0 if share < least[job] else min(max(share, LEAST_CPU), most[job])  # 0 pauses the job
                grant(job, 0, CPU, amount, 1 if tier[job] == 0 else 2)
