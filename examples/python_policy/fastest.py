# SPDX-License-Identifier: BSL-1.0
# [policy]
from ration.policy import GPU, RUNNING, QUEUED, Parameter, Policy


class Fastest(Policy):
    """Each device goes to the job that becomes faster by it than any other one would."""

    id = "org.example.fastest"
    version = "1.0.0"
    summary = "each device goes where it adds most speed"
    reasons = ["", "nobody gains more by these devices"]
    inputs = {"jobs/state": "u32", "jobs/speedup": "f64[]", "nodes/capacity.gpu": "i64"}

    least = Parameter(0.05, "a device that adds less speed than this is left free", 0, 1)

    def decide(self, tick, grant):
        state, speedup = tick["jobs/state"], tick["jobs/speedup"]
        holds = {job: 0 for job in range(len(state)) if state[job] in (QUEUED, RUNNING)}
        for _ in range(tick["nodes/capacity.gpu"][0]):
            gain = {job: speedup[job][n + 1] - speedup[job][n] for job, n in holds.items() if n + 1 < speedup.width}
            best = max(gain, key=gain.get, default=None)
            if best is None or gain[best] < self.least:
                break
            holds[best] += 1
        for job, devices in holds.items():
            grant(job, 0, GPU, devices, 1 if devices else 0)
# [policy]
