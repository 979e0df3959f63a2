# SPDX-License-Identifier: BSL-1.0
"""Event logs made up for tests: small ones by hand, large ones from a seed; and what the pages made of them hold."""
import json
import random
import re

SECOND = 10**9
SOURCE = '[[job]]\nname = "a"\ncommand = ["x"]\ntarget = { loss = { acceptable = 0.5, objective = 0.1 } }\n'
SERVICE = '[[job]]\nname = "web"\ncommand = ["x"]\ntarget = { p95 = { at_most = 0.2, over = "2s" } }\n'


def line(event: str, t: int, **fields) -> str:
    return json.dumps({"event": event, "t": t, **fields}, separators=(",", ":")) + "\n"


def run(policy: str = "none", source: str = SOURCE, **more) -> str:
    return line("run", 0, **{"schema": 1, "ration": "0.1.0", "policy": policy, "policy_version": "1.0.0", "isolation": "none", "seed": 2**64 - 1, "unix_time": 1_790_000_000, "cpus": 4,
                             "tick": SECOND, "machine": {"cpus": 4, "cpu_model": "made up", "memory": 2**34, "kernel": "Linux"}, "controls": [], "file": "jobs.toml", "source": source, **more})


def started(job: str, t: int, id: int = 1, incarnation: int = 1) -> str:
    return line("job_started", t, job=job, id=id, incarnation=incarnation, pid=7, command=["x"])


def progress(job: str, t: int, step: int, value: float) -> str:
    return line("progress", t, job=job, incarnation=1, step=step, metric="loss", value=value, count=1, smoothed=value)


def level(t: int, holds: bool, value: float | str, met: float) -> str:
    return line("level", t * SECOND, job="web", holds=holds, step=t, metric="p95", value=value, met=met, slack="nan")


def ended(job: str, t: int, how: str = "finished") -> str:
    return line("job_ended", t, job=job, incarnation=1, how=how, exit_code=0 if how == "finished" else 1, signal=None, step=9, why="")


def decision(t: int, number: int, columns: dict) -> str:
    ids = columns.get("jobs/id", [])
    return line("decision", t, number=number, seed=1, budget=10**8, took=1000 + number, status=0, rows=[len(ids), 1, 0], columns=columns, grants=[])


def summary(job: str, arrived: int, started_at: int | None, acceptable: int | None, objective: int | None, end: int | None, how: str = "finished") -> dict:
    return {"job": job, "arrived": arrived, "started": started_at, "acceptable_at": acceptable, "objective_at": objective, "ended_at": end, "how": how, "why": ""}


def run_ended(t: int, jobs: list[dict], policy: str = "none") -> str:
    return line("run_ended", t, policy=policy, makespan=t, mean_cpu=3.5, interrupted=False, lost_events=0, jobs=jobs, approximate=[])


def many_jobs(jobs: int, policy: str, seed: int) -> str:
    """A run with `jobs` jobs, and a decision every 20 s with those that are there."""
    dice, events, ends = random.Random(seed), [], []
    for i in range(jobs):
        name, arrived = f"job-{i:05d}", i * SECOND // 2
        start = arrived + int(dice.expovariate(1 / 20) * SECOND)
        acceptable = start + int(dice.lognormvariate(4, 1) * SECOND) if dice.random() > 0.05 else None
        end = (acceptable or start) + int(dice.lognormvariate(3, 1) * SECOND)
        objective = end - 1 if acceptable and dice.random() > 0.1 else None
        events += [(start, started(name, start, i + 1)), (end - 2, progress(name, end - 2, 5, 0.25)), (end, ended(name, end))]
        events += [(t, line("tier_reached", t, job=name, tier=tier, step=4, value=0.5, after=t - arrived)) for tier, t in ((1, acceptable), (2, objective)) if t]
        ends.append(summary(name, arrived, start, acceptable, objective, end))
    last = max(t for t, _ in events)
    for number, t in enumerate(range(0, last, 20 * SECOND)):
        there = [i + 1 for i, one in enumerate(ends) if one["started"] <= t < one["ended_at"]][:400]
        events.append((t, decision(t, number, {"jobs/id": there, "jobs/used.cpu": [4000 / len(there) for _ in there], "jobs/held.cpu": [100] * len(there), "nodes/capacity.cpu": [4000]})))
    return run(policy, source="") + "".join(text for _, text in sorted(events, key=lambda e: e[0])) + run_ended(last, ends, policy)


def data_of(page: str, name: str = "data"):
    (text,) = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)
