# SPDX-License-Identifier: BSL-1.0
from ration.policy import GPU, RUNNING, QUEUED, Parameter, Policy


class Fastest(Policy):
    """Each device goes to the job that becomes faster by it than any other one would."""

    id = "org.example.fastest"
    version = "1.0.0"
    summary = "each device goes where it adds most speed"
    reasons = ["", "no job gains more from these devices"]
    # [rows]
    inputs = {"jobs/state": "u32", "jobs/speedup": "f64[]", "nodes/capacity.gpu": "i64"}

    least = Parameter(0.05, "a device that adds less speed than this is left free", 0, 1)

    def decide(self, tick, grant):
        state, speedup = tick["jobs/state"], tick["jobs/speedup"]
        jobs = [job for job in range(len(state)) if state[job] in (QUEUED, RUNNING)]
        holds = [0] * len(state)

        def gain(job):
            n = holds[job]
            return speedup[job][n + 1] - speedup[job][n] if n + 1 < speedup.width else -1

        for _ in range(tick["nodes/capacity.gpu"][0]):
            best = max(jobs, key=gain, default=None)
            if best is None or gain(best) < self.least:
                break
            holds[best] += 1
        # [rows]
        for job in jobs:
            grant(job, 0, GPU, holds[job], 1 if holds[job] else 0)
