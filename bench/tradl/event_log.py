# SPDX-License-Identifier: BSL-1.0
"""Reads the parts of an event log of `ration run` that the benchmark needs: docs/event-log.md describes the log."""

import dataclasses
import json
import pathlib

SECOND = 1e9  # times in a log are in nanoseconds
UNLIMITED = 2**63 - 1
RUNNING = 1  # jobs/state
SETTLED = 3 * SECOND  # the measured use follows a change with a delay
TIERS = ("acceptable", "objective")


@dataclasses.dataclass
class Job:
    """Times in seconds; tiers from the job's arrival, None where it did not get there."""

    arrived: float
    acceptable: float | None
    objective: float | None
    ended: float | None
    how: str


@dataclasses.dataclass
class Run:
    makespan: float
    mean_cpu: float  # cores
    backend: str
    jobs: dict[str, Job]
    limited: list[float]  # use of jobs under a limit, in fair shares, one value a job and tick
    others: list[float]  # use of the other running jobs at the same ticks
    kept: list[float]  # use of a job under a limit over that limit


def lines(path: pathlib.Path) -> list[dict]:
    """The events in the file. A last line without an end is the trace of a run that was killed, and left out."""
    events = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(keepends=True), 1):
        try:
            event = json.loads(line)
            if not isinstance(event, dict) or "event" not in event:
                raise ValueError("no event")
            events.append(event)
        except ValueError as problem:
            if line.endswith("\n"):
                raise ValueError(f"{path}:{number}: {problem}") from problem
    return events


def seconds(time: int | None, since: int = 0) -> float | None:
    return None if time is None else (time - since) / SECOND


def job_of(summary: dict) -> Job:
    arrived = summary["arrived"]
    tiers = {tier: seconds(summary[f"{tier}_at"], arrived) for tier in TIERS}
    return Job(arrived=seconds(arrived), ended=seconds(summary["ended_at"]), how=summary["how"], **tiers)


class Shares:
    """Follows the decisions: what limited jobs use and what the others use, as multiples of 1/n of the machine."""

    def __init__(self):
        self.limited, self.others, self.kept = [], [], []
        self.situation, self.since = None, 0

    def see(self, decision: dict) -> None:
        columns = decision["columns"]
        holds = columns["jobs/held.cpu"]
        running = [row for row, state in enumerate(columns["jobs/state"]) if state == RUNNING and holds[row] > 0]
        held = {row: holds[row] for row in running}
        if held != self.situation:
            self.situation, self.since = held, decision["t"]
        limited = {row for row in running if held[row] < UNLIMITED}
        if not limited or decision["t"] - self.since < SETTLED:
            return
        fair = columns["nodes/capacity.cpu"][0] / len(running)
        for row in running:
            used = columns["jobs/used.cpu"][row]
            (self.limited if row in limited else self.others).append(used / fair)
            if row in limited:
                self.kept.append(used / held[row])


def read(path: pathlib.Path) -> Run:
    """The one run in a log. Raises ValueError with the fault of the file, KeyError for a field that is missing."""
    events = lines(path)
    ends = [event for event in events if event["event"] == "run_ended"]
    if len(ends) != 1:
        raise ValueError(f"{path}: {len(ends)} runs came to their end in it, one is needed")
    if ends[0]["interrupted"] or ends[0]["lost_events"]:
        raise ValueError(f"{path}: the run was interrupted or lost events")
    shares = Shares()
    for event in events:
        if event["event"] == "decision":
            shares.see(event)
    controls = next(event for event in events if event["event"] == "run")["controls"]
    backend = ", ".join(control["backend"] for control in controls if control["resource"] == "cpu")
    return Run(makespan=seconds(ends[0]["makespan"]), mean_cpu=ends[0]["mean_cpu"], backend=backend,
               jobs={summary["job"]: job_of(summary) for summary in ends[0]["jobs"]},
               limited=shares.limited, others=shares.others, kept=shares.kept)
