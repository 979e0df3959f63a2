# SPDX-License-Identifier: BSL-1.0
"""Event logs of a made-up machine, on which the speed of every job is known: jobs share its cores fairly, and make steps in proportion to them."""
import dataclasses
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import logs

TICK = logs.SECOND // 4


@dataclasses.dataclass
class Job:
    name: str
    speed: float          # steps per core-second
    steps: int
    at: int = 0           # seconds
    start: float = 0      # core-seconds before the first step
    acceptable: int = 0   # the steps of its tiers
    objective: int = 0
    more: str = ""        # keys of the jobs file

    @staticmethod
    def loss(step: float) -> float:
        return 0.1 + 2 / (1 + step / 100)

    def source(self) -> str:
        tiers = f"acceptable = {self.loss(self.acceptable):.17g}, objective = {self.loss(self.objective):.17g}"
        return f'[[job]]\nname = "{self.name}"\ncommand = ["x"]\nat = "{self.at}s"\ntarget = {{ loss = {{ {tiers} }} }}\n{self.more}\n'


class Run:
    """Each tick all running jobs get an equal part of `cores`, of which a job uses one at most."""

    def __init__(self, jobs: list[Job], cores: float = 1, shown: float | None = None, policy: str = "none") -> None:
        self.jobs, self.cores, self.shown, self.policy = jobs, cores, shown or cores, policy
        self.work = dict.fromkeys((job.name for job in jobs), 0.0)  # core-seconds
        self.moments: dict[str, dict[str, int]] = {job.name: {} for job in jobs}
        self.lines = [logs.run(policy, 'policy = "none"\n' + "".join(job.source() for job in jobs), schema=3, cpus=math.ceil(self.shown), tick=TICK)]

    def step(self, job: Job) -> int:
        return int(min(max(0.0, self.work[job.name] - job.start) * job.speed, job.steps))

    def mark(self, job: Job, what: str, t: int, line: str) -> None:
        if what not in self.moments[job.name]:
            self.moments[job.name][what] = t
            self.lines.append(line)

    def running(self, t: int) -> list[Job]:
        return [job for job in self.jobs if job.at * logs.SECOND <= t and "end" not in self.moments[job.name]]

    def decide(self, t: int, number: int, used: dict[str, float]) -> None:
        there = self.running(t)
        self.lines.append(logs.decision(t, number, {
            "jobs/id": [1 + self.jobs.index(job) for job in there], "jobs/state": [1] * len(there), "jobs/step": [self.step(job) for job in there],
            "jobs/used.cpu": [1000 * used.get(job.name, 0) for job in there], "jobs/held.cpu": [2**63 - 1] * len(there),
            "jobs/total_steps": [job.steps for job in there], "nodes/capacity.cpu": [int(1000 * self.shown)]}))

    def note(self, job: Job, t: int) -> None:
        step = self.step(job)
        if step > 0:
            self.lines.append(logs.progress(job.name, t, step, job.loss(step)))
        for tier, (what, wanted) in enumerate((("acceptable", job.acceptable), ("objective", job.objective)), 1):
            if step >= wanted:
                self.mark(job, what, t, logs.line("tier_reached", t, job=job.name, tier=tier, step=wanted, value=job.loss(wanted), after=t - job.at * logs.SECOND))
        if step >= job.steps:
            self.mark(job, "end", t, logs.ended(job.name, t))

    def log(self) -> str:
        """Runs all jobs to their ends."""
        t, number = 0, 0
        while any("end" not in moments for moments in self.moments.values()):
            there = self.running(t)
            for job in there:
                self.mark(job, "start", t, logs.started(job.name, t, 1 + self.jobs.index(job)))
            share = min(1.0, self.cores / max(1, len(there)))
            t += TICK
            for job in there:
                self.work[job.name] += share * TICK / logs.SECOND
            self.decide(t, number, {job.name: share for job in there})
            for job in there:
                self.note(job, t)
            number += 1
        summaries = [logs.summary(job.name, job.at * logs.SECOND, *(self.moments[job.name].get(what) for what in ("start", "acceptable", "objective", "end")))
                     | {"step": job.steps, "released": False} for job in self.jobs]
        self.lines.append(logs.run_ended(t, summaries, self.policy))
        return "".join(self.lines)


@dataclasses.dataclass
class ElasticJob(Job):
    rates: dict[int, float] = dataclasses.field(default_factory=dict)  # steps per second by number of devices
    restart: float = 0  # seconds without a step before the first one on new devices
    save: float = 0     # seconds from the grant of other devices until they end; the job trains meanwhile

    def source(self) -> str:
        return super().source() + f"bounds = {{ gpu = {{ min = 1, max = {max(self.rates)} }} }}\n"


class ElasticRun:
    """All devices in equal parts, as loss_delta_ratio with gamma = 0 divides them; every change costs each job its restart."""
    HEAD = 'policy = "loss_delta_ratio"\nloss_delta_ratio = { gamma = 0 }\ndevices = { count = 4, cpu = 0.25 }\n'

    def __init__(self, jobs: list[ElasticJob], devices: int = 4) -> None:
        self.jobs, self.devices = jobs, devices
        self.steps = dict.fromkeys((job.name for job in jobs), 0.0)
        self.held = dict.fromkeys((job.name for job in jobs), 0)
        self.ready = dict.fromkeys((job.name for job in jobs), 0.0)
        self.leaves: dict[str, tuple[float, int]] = {}  # when the job stops on its former devices, and their number
        self.ends: dict[str, int] = {}
        self.lines = [logs.run("loss_delta_ratio", self.HEAD + "".join(job.source() for job in jobs), schema=3, cpus=1, tick=TICK,
                               devices=[f"cpu-{i}" for i in range(devices)], parameters={"gamma": 0})]

    def there(self, t: float) -> list[ElasticJob]:
        return [job for job in self.jobs if job.at <= t and job.name not in self.ends]

    def grant(self, t: float) -> None:
        there = self.there(t)
        for job in there:
            share = self.devices // len(there)
            if self.held[job.name] == share:
                continue
            stop = t + (job.save if self.held[job.name] else 0)
            self.leaves[job.name] = (stop, self.held[job.name])
            self.held[job.name], self.ready[job.name] = share, stop + job.restart

    def launch(self, t: float) -> None:
        for job in self.there(t):
            if job.name in self.leaves and t >= self.leaves[job.name][0]:
                self.lines.append(logs.started(job.name, int(t * logs.SECOND), 1 + self.jobs.index(job)))
                del self.leaves[job.name]

    def trains_on(self, job: ElasticJob, t: float) -> int:
        """The devices that it uses until t."""
        if job.name in self.leaves:
            return self.leaves[job.name][1]
        return self.held[job.name] if t > self.ready[job.name] else 0

    def decide(self, t: float, number: int) -> None:
        there = self.there(t)
        self.lines.append(logs.decision(int(t * logs.SECOND), number, {
            "jobs/id": [1 + self.jobs.index(job) for job in there], "jobs/state": [1 if self.trains_on(job, t) else 2 for job in there],
            "jobs/step": [int(self.steps[job.name]) for job in there], "jobs/used.cpu": [0] * len(there), "jobs/held.cpu": [0] * len(there),
            "jobs/held.gpu": [self.held[job.name] for job in there], "nodes/capacity.cpu": [1000], "nodes/capacity.gpu": [self.devices]}))

    def log(self) -> str:
        t, number = 0.0, 0
        while len(self.ends) < len(self.jobs):
            self.decide(t, number)
            self.grant(t)
            self.launch(t)
            t, number = t + TICK / logs.SECOND, number + 1
            for job in self.there(t):
                devices = self.trains_on(job, t)
                if devices == 0:
                    continue
                self.steps[job.name] += job.rates[devices] * TICK / logs.SECOND
                step = int(self.steps[job.name])
                self.lines.append(logs.progress(job.name, int(t * logs.SECOND), step, job.loss(step)))
                if step >= job.steps:
                    self.ends[job.name] = int(t * logs.SECOND)
                    self.lines.append(logs.ended(job.name, self.ends[job.name]))
        summaries = [logs.summary(job.name, job.at * logs.SECOND, job.at * logs.SECOND, None, None, self.ends[job.name]) | {"step": job.steps, "released": False}
                     for job in self.jobs]
        self.lines.append(logs.run_ended(int(t * logs.SECOND), summaries, "loss_delta_ratio"))
        return "".join(self.lines)
