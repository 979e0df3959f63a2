# SPDX-License-Identifier: BSL-1.0
"""Jobs of a Slurm queue in the order, and with the GPUs, that a policy of ration decides.

    python3 -m ration.slurm sjf                       # prints the commands that would change the queue, and runs none of them
    python3 -m ration.slurm elastic_batch_dp --apply  # runs them, every few seconds until no such job is left

It changes only jobs whose comment begins with the word ration: sbatch --hold --comment 'ration min=1 max=4' --gres=gpu:1 train.sh.
Slurm 22.05 or later; docs/cluster.md lists the keys of a comment, and the limits.
"""
import argparse
import math
import os
import re
import secrets
import shlex
import subprocess
import sys
import time
from typing import NamedTuple, Optional

from ration.decide import Decide, DecideError, largest_parts

_PATIENCE = 20.0  # seconds for one command of Slurm: without its controller a command waits for minutes
_MANAGED_STATES = {"PENDING": False, "CONFIGURING": True, "RUNNING": True, "SUSPENDED": True}  # whether the job holds its GPUs
_USABLE_NODES = ("idle", "planned", "mixed", "allocated", "completing")  # planned: idle, and expected by a job of the backfill scheduler
_NODE_FLAGS = "~#!%$@+^-"  # not *: Slurm starts nothing on a node that does not respond
_JOB_FIELDS = "%i|%T|%Q|%U|%D|%b|%N|%n|%V|%S|%L|%M|%k"  # the comment is the last, because its text is the user's
_GRES = re.compile(r"gres[:/](gpu(?::[A-Za-z]\w*)?):(\d{1,6})", re.ASCII)
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NUMBER = r"\d{1,12}(?:\.\d{1,6})?"
_KEYS = {"min": r"\d{1,6}", "max": r"\d{1,6}", "seconds": _NUMBER, "restart": _NUMBER, "speedup": rf"{_NUMBER}(?:,{_NUMBER}){{0,255}}"}
_SCATTERED = "waits until one node has enough free GPUs"
_USUAL_RESTART = 10.0  # seconds from a requeue to the next step
_LONGEST_PERIOD = 86400.0  # seconds between two decisions


class SlurmError(Exception):
    """A command of Slurm has failed."""


class JobSpec(NamedTuple):
    """The keys of a comment: the specification that the user gives of a job."""

    least: int
    most: int
    seconds: Optional[float]  # expected run time
    restart: float
    speedup: Optional[list]  # on 1, 2, ... GPUs


class Job(NamedTuple):
    """A job that ration manages."""

    number: int
    is_running: bool
    is_held: bool  # by the user or an operator
    user: int
    kind: str  # of its gres: "gpu" or "gpu:TYPE"
    gpus: int
    node: Optional[str]  # where it runs, or the only one on which it may start
    submitted: int
    started: Optional[int]
    left: float  # seconds of its time limit
    used: float  # seconds since its start
    spec: JobSpec


class Placement(NamedTuple):
    """GPUs on one node."""

    node: str
    gpus: int


def _seconds(text):
    """Slurm's [days-][hours:]minutes:seconds; infinite for UNLIMITED."""
    match = re.fullmatch(r"(?:(?:(\d{1,5})-)?(\d{1,2}):)?(\d{1,5}):(\d{2})", text)
    if match is None:
        return math.inf
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def read_spec(comment, gpus):
    """The keys after the word ration. Raises ValueError with the first key that is not valid."""
    values = {}
    for word in comment.split()[1:]:
        key, _, value = word.partition("=")
        if not re.fullmatch(_KEYS.get(key, "(?!)"), value, re.ASCII):
            raise ValueError(f"{word[:60]!r} is not one of {', '.join(_KEYS)} with a number")
        values[key] = value
    least, most = int(values.get("min", gpus)), int(values.get("max", gpus))
    if not 1 <= least <= most:
        raise ValueError(f"min={least} and max={most} are not a range of GPUs")
    speedup = [float(value) for value in values["speedup"].split(",")] if "speedup" in values else None
    return JobSpec(least, most, float(values["seconds"]) if "seconds" in values else None, float(values.get("restart", _USUAL_RESTART)), speedup)


def _read_job(fields):
    """A job that ration manages, None for another one. Raises ValueError with the reason why it cannot be managed."""
    number, state, priority, user, nodes, gres, node, required, submitted, started, left, used, comment = fields
    if comment.split()[:1] != ["ration"] or state not in _MANAGED_STATES:
        return None
    found = _GRES.fullmatch(gres)
    if not number.isdecimal():
        raise ValueError("is an array; submit its jobs one by one")
    if nodes != "1" or found is None or int(found[2]) == 0:
        raise ValueError("does not run on one node with --gres=gpu:N")
    is_running = _MANAGED_STATES[state]
    only_node = node if is_running else required
    return Job(int(number), is_running, priority == "0" and not is_running, int(user), found[1], int(found[2]),
               only_node if _NODE.fullmatch(only_node) else None, int(submitted), int(started) if started.isdecimal() and is_running else None,
               _seconds(left), _seconds(used) if is_running else 0.0, read_spec(comment, int(found[2])))


def read_jobs(text, mark):
    """(jobs, warnings) of squeue's output. Only lines that begin with `mark` are Slurm's: a comment can have line feeds, and any text after them."""
    jobs, warnings = [], []
    for line in text.split("\n"):
        fields = line.split("|", 13)
        if fields[0] != mark or len(fields) != 14:
            continue
        try:
            job = _read_job(fields[1:])
        except ValueError as problem:
            warnings.append(f"job {fields[1]}: {problem}. ration leaves it to Slurm.")
            continue
        if job is not None:
            jobs.append(job)
    return sorted(jobs), warnings


def read_nodes(text, jobs):
    """The GPUs that managed jobs can have, by node: all of a usable node, without those of other jobs. A drained node keeps its jobs."""
    nodes = {}
    for line in text.splitlines():
        name, gres, used, state = (line.split() + [""] * 4)[:4]
        if not _NODE.fullmatch(name):
            continue
        total, taken = (sum(int(n) for n in re.findall(r"(?:^|,)gpu(?::[A-Za-z]\w*)?:(\d{1,6})", words)) for words in (gres, used))
        managed = sum(job.gpus for job in jobs if job.is_running and job.node == name)
        is_usable = state.rstrip(_NODE_FLAGS) in _USABLE_NODES
        nodes[name] = max(managed, total - max(0, taken - managed)) if is_usable else managed
    return nodes


def placement_of(job):
    """The GPUs that a job has, or will have as soon as Slurm starts it; None if it waits for a decision."""
    return Placement(job.node, job.gpus) if job.node is not None and not job.is_held else None


def _row(job, tenants, largest_node):
    total = job.used + job.left if job.spec.seconds is None else job.spec.seconds  # a step is one second
    steps = {"step": int(job.used), "nominal_steps_per_second": 1, "measured_steps_per_second": 1}
    if math.isfinite(total):
        steps.update(total_steps=total, remaining=max(0.0, total - job.used))
    speedup = job.spec.speedup or range(1, largest_node + 1)
    speedup = [0, *speedup, *[0] * largest_node][:largest_node + 1]  # all jobs have the same length; 0: not on this number of GPUs
    return {"id": job.number, "state": "queued" if placement_of(job) is None else "running", "tenant": tenants.setdefault(job.user, len(tenants)),
           "submitted": job.submitted * 10**9, "started": -1 if job.started is None else job.started * 10**9, **steps,
           "request.gpu": job.gpus, "min.gpu": job.spec.least, "max.gpu": job.spec.most, "used.gpu": job.gpus if job.is_running else 0,
           "attained": job.used * job.gpus, "restart_cost": job.spec.restart, "speedup": speedup, "batch": [1] * len(speedup)}


def request(jobs, nodes, now, tenants):
    """The request to `ration decide`. `now`: seconds since 1970, as in the times of the jobs."""
    held = [{"job": job.number, "node": placement.node, "resource": "gpu", "amount": placement.gpus}
            for job in jobs if (placement := placement_of(job)) is not None and placement.node in nodes]
    return {"t": int(now * 1e9), "nodes": [{"id": name, "capacity.gpu": gpus} for name, gpus in nodes.items()],
            "jobs": [_row(job, tenants, max(nodes.values(), default=0)) for job in jobs], "held": held}


def placements_in(grants, least):
    """{job: (placement or None, reason)}. A job runs on one node, so a grant on several counts with its largest part, if that is enough: least[job]."""
    placements = {}
    for job, grant in largest_parts(grants, "gpu").items():
        if grant["amount"] >= least[job]:
            placements[job] = Placement(grant["node"], grant["amount"]), grant["reason"]
        else:
            placements[job] = None, grant["reason"] if grant["amount"] == 0 else _SCATTERED
    return placements


def commands_for(job, placement):
    """The words of scontrol after which the job has this placement, or waits. A running job first returns to the queue, and gets its placement later."""
    if placement == placement_of(job):
        return []
    number = str(job.number)
    if job.is_running:
        return [["requeuehold", number]]
    if placement is None:
        return [] if job.is_held else [["hold", number]]
    update = ["update", f"JobId={number}", f"Gres={job.kind}:{placement.gpus}", f"ReqNodeList={placement.node}"]
    return [update, ["release", number]] if job.is_held else [update]


def plan(jobs, grants):
    """(words of scontrol, reason) in the order of the grants. Releases are last, so that the devices of other jobs become free first."""
    by_number = {job.number: job for job in jobs}
    placements = placements_in(grants, {job.number: job.spec.least for job in jobs})
    wanted = [(words, reason) for number, (placement, reason) in placements.items() for words in commands_for(by_number[number], placement)]
    unplaced = [(["hold", str(job.number)], "waits for a decision") for job in jobs
                if job.number not in placements and not job.is_held and not job.is_running and job.node is None]
    return sorted(unplaced + wanted, key=lambda command: command[0][0] in ("update", "release"))


def run_slurm(*words):
    """The standard output of a command of Slurm."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False,
                              env={**os.environ, "SLURM_TIME_FORMAT": "%s"})
    except OSError as problem:
        raise SlurmError(f"{words[0]}: {problem.strerror}; install Slurm's commands") from problem
    except subprocess.TimeoutExpired as problem:
        raise SlurmError(f"{words[0]}: no answer within {_PATIENCE:g} s; look at `scontrol ping`") from problem
    if done.returncode != 0:
        raise SlurmError(f"{shlex.join(words)}: {done.stderr.strip()}")
    return done.stdout


class Queue:
    """The managed jobs of the queue, and the policy that decides about them."""

    def __init__(self, policy, parameters, program):
        self._decide = Decide(policy, parameters, program)
        self._tenants, self._now, self._warned = {}, 0.0, set()

    def warn(self, text):
        """Prints a warning once."""
        if text not in self._warned:
            print(f"ration.slurm: {text}", file=sys.stderr, flush=True)
        self._warned.add(text)

    def commands(self):
        """The present jobs, and the commands that apply the policy's decision."""
        mark = secrets.token_hex(16)
        jobs, warnings = read_jobs(run_slurm("squeue", "--noheader", "--all", "--format", f"{mark}|{_JOB_FIELDS}"), mark)
        for text in warnings:
            self.warn(text)
        if not jobs:
            return jobs, []
        nodes = read_nodes(run_slurm("sinfo", "--noheader", "--Node", "--Format", "NodeList:65,Gres:200,GresUsed:200,StateLong:40"), jobs)
        self._now = max(self._now, time.time())
        answer = self._decide.ask(**request(jobs, nodes, self._now, self._tenants))
        for refused in answer["rejected"]:
            self.warn(f"grant to job {refused['grant']['job']} refused: {refused['detail']}")
        return jobs, plan(jobs, answer["grants"])

    def apply(self, commands):
        """Runs the commands. One that Slurm refuses is tried again after the next decision."""
        for words, _ in commands:
            try:
                run_slurm("scontrol", *words)
            except SlurmError as problem:
                self.warn(str(problem))


def _print(commands):
    for words, reason in commands:
        print(f"{shlex.join(['scontrol', *words]):<60} # {reason}", flush=True)


def _work(queue, options):
    jobs, commands = queue.commands()
    _print(commands)
    if not options.apply:
        return
    while jobs:
        queue.apply(commands)
        time.sleep(options.every)
        try:
            jobs, commands = queue.commands()
        except (SlurmError, DecideError) as problem:  # the jobs stay as they are until both answer
            queue.warn(str(problem))
            commands = []
        _print(commands)


def _period(text):
    if re.fullmatch(_NUMBER, text, re.ASCII) is None or float(text) > _LONGEST_PERIOD:
        raise argparse.ArgumentTypeError(f"write a number of seconds up to {_LONGEST_PERIOD:g}")
    return float(text)


def _parameter(text):
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError("write POLICY.NAME=VALUE")
    return name, value


def main():
    parser = argparse.ArgumentParser(prog="python3 -m ration.slurm", description="Jobs of a Slurm queue as a policy of ration decides.")
    parser.add_argument("policy", help="the name of a policy, or the path of a plugin")
    parser.add_argument("--apply", action="store_true", help="run the commands, until no job with such a comment is left")
    parser.add_argument("--every", type=_period, default=5.0, metavar="SECONDS", help="from one decision to the next")
    parser.add_argument("--set", type=_parameter, action="append", default=[], metavar="POLICY.NAME=VALUE", help="a parameter of the policy")
    parser.add_argument("--ration", default="ration", metavar="PATH", help="the program")
    options = parser.parse_args()
    try:
        _work(Queue(options.policy, dict(options.set), options.ration), options)
    except (SlurmError, DecideError) as problem:
        print(f"ration.slurm: {problem}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
