#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The controller of `ration run --nodes` with 10, 100 and 1000 nodes: its CPU time, memory and files, and how soon it notices a lost agent.

    bench/run.sh nodes.wire [--short]

The agents are fakes in this process (agents.py), on this machine. There is a job for every two nodes, and each reports its progress once a second.
Exit code: 0, or 1 if a job was launched twice or did not finish, or if the run reports anything else than the two faults of this benchmark.
"""
import argparse
import collections
import dataclasses
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import agents

TICK = 0.5  # seconds
HEAD = f'policy = "max_min"\ndevices = {{ count = 2, cpu = 0.25 }}\ntick = "{TICK}s"\n'
JOB = '[[job]]\nname = "job-{}"\ncommand = ["true"]\ntarget = {{ loss = {{ objective = 0.1 }} }}\nbounds = {{ gpu = {{ min = 1, max = 2 }} }}\n'
PATIENCE = 300  # seconds for each thing that a run waits for
LONGEST_STEP = 0.01  # seconds between two reads of the event log
START_LIMIT = 60  # seconds in which a node has to be up, else ration leaves it out
NODE_LIMIT = 1024  # that ration accepts
SILENT, ENDED = "it does not answer; its jobs keep their devices, and it gets no others", "its command has ended; it is started again"


@dataclasses.dataclass
class Figures:
    nodes: int
    decided: float = 0.0  # seconds from the start until all nodes are up and the first decision is made
    ticks: int = 0  # in the window, as the next five
    seconds: float = 0.0
    cpu: float = 0.0
    sleeps: int = 0
    took: float = 0.0  # of all decisions together
    memory: int = 0  # bytes
    files: int = 0
    killed: float = 0.0  # seconds until it is noticed
    silent: float | None = None
    problems: list[str] = dataclasses.field(default_factory=list)


def read_event(line: bytes) -> dict:
    """Of a decision only the time that it took: with 1000 nodes its tables are 200 KB."""
    return json.loads(line if not line.startswith(b'{"event":"decision"') else line[: line.index(b',"status"')] + b"}")


class Controller:
    """`ration run`, its event log as it comes, and what the kernel accounts to it."""

    def __init__(self, program: str, folder: pathlib.Path, nodes: int, stand_ins: agents.Agents) -> None:
        (folder / "runtime").mkdir(mode=0o700)
        (folder / "jobs.toml").write_text(HEAD + "".join(JOB.format(number) for number in range(nodes // 2)))
        self.started = time.monotonic()
        with open(folder / "errors", "wb") as errors:
            self.run = subprocess.Popen(
                [program, "run", "jobs.toml", "--quiet", "--log", "log", "--nodes", stand_ins.command, "--hosts", ",".join(f"n{i}" for i in range(nodes))],
                cwd=folder, env={**os.environ, "XDG_RUNTIME_DIR": str(folder / "runtime")}, stdout=subprocess.DEVNULL, stderr=errors)
        self.agents, self.errors = stand_ins, folder / "errors"
        self.events: dict[str, list[tuple[float, dict]]] = collections.defaultdict(list)  # by kind, with the time at which each came
        self.log, self.unread = open(folder / "log", "a+b"), b""  # pylint: disable=consider-using-with

    def read_events(self) -> None:
        *lines, self.unread = (self.unread + self.log.read()).split(b"\n")
        for event in map(read_event, lines):
            self.events[event["event"]].append((time.monotonic(), event))

    def until(self, condition, what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end or self.run.poll() is not None:
                raise RuntimeError(f"waited in vain until {what}\n{self.errors.read_text()}")
            self.agents.step(LONGEST_STEP)
            self.read_events()

    def finish(self) -> None:
        end = time.monotonic() + PATIENCE
        while self.run.poll() is None and time.monotonic() < end:
            self.agents.step(LONGEST_STEP)
        self.read_events()

    def wait(self, seconds: float) -> None:
        """At least for this long, and for two decisions."""
        end, first = time.monotonic() + seconds, len(self.events["decision"])
        self.until(lambda: time.monotonic() >= end and len(self.events["decision"]) >= first + 2, "the window is over")

    def until_warning(self, node: str, message: str) -> float:
        """The time at which this warning came."""
        def find() -> list[float]:
            return [at for at, event in self.events["warning"] if event["subject"] == f"node {node}" and event["message"] == message]
        self.until(find, f"node {node}: {message}")
        return find()[0]

    def cpu(self) -> float:
        """Seconds of all threads, user and system."""
        tasks = pathlib.Path(f"/proc/{self.run.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def status(self, name: str) -> int:
        lines = pathlib.Path(f"/proc/{self.run.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name + ":"))


def measure_ticks(controller: Controller, out: Figures, seconds: float) -> None:
    before, began = (controller.cpu(), controller.status("voluntary_ctxt_switches")), time.monotonic()
    first = len(controller.events["decision"])
    controller.wait(seconds)
    out.seconds = time.monotonic() - began
    out.cpu, out.sleeps = controller.cpu() - before[0], controller.status("voluntary_ctxt_switches") - before[1]
    decisions = controller.events["decision"][first:]
    out.ticks, out.took = len(decisions), sum(event["took"] for _, event in decisions) / 1e9
    out.memory, out.files = controller.status("VmRSS") * 1024, len(os.listdir(f"/proc/{controller.run.pid}/fd"))


def measure_faults(controller: Controller, stand_ins: agents.Agents, out: Figures, with_silence: bool) -> set[tuple[str, str]]:
    """Both nodes are idle, so that no job has to be launched again."""
    killed, silent = stand_ins.idle()[:2]
    at = time.monotonic()
    stand_ins.remove(killed)
    out.killed = controller.until_warning(killed.name, ENDED) - at
    controller.until(lambda: stand_ins.by_name[killed.name] is not killed and stand_ins.by_name[killed.name].list > 0, "the killed agent is back")
    expected = {(f"node {killed.name}", ENDED), (f"node {killed.name}", SILENT)}
    if with_silence:
        silent.is_silent = True
        out.silent = controller.until_warning(silent.name, SILENT) - silent.sent_at
        silent.is_silent = False
        silent.send_beat()
        expected.add((f"node {silent.name}", SILENT))
    return expected


def check(controller: Controller, stand_ins: agents.Agents, jobs: int, expected: set[tuple[str, str]]) -> list[str]:
    names = {f"job-{number}" for number in range(jobs)}
    problems = [f"{name} was launched {stand_ins.launches[name]} times" for name in names if stand_ins.launches[name] != 1]
    ended = [(event["job"], event["how"]) for _, event in controller.events["job_ended"]]
    if sorted(ended) != sorted((name, "finished") for name in names):
        problems.append(f"{len(ended)} of {jobs} jobs have ended, {len({job for job, how in ended if how == 'finished'})} of them finished")
    warnings = {(event["subject"], event["message"]) for _, event in controller.events["warning"]}
    problems += [f"unexpected warning: {subject}: {message}" for subject, message in sorted(warnings - expected)]
    if controller.run.returncode != 0:
        problems.append(f"ration has ended with {controller.run.returncode}: {controller.errors.read_text()}")
    return problems


def measure(program: str, nodes: int, seconds: float, with_silence: bool) -> Figures:
    out, jobs = Figures(nodes), nodes // 2
    with tempfile.TemporaryDirectory() as name:
        stand_ins = agents.Agents(pathlib.Path(name))
        controller = Controller(program, pathlib.Path(name), nodes, stand_ins)
        try:
            controller.until(lambda: controller.events["decision"], "the first decision")
            out.decided = controller.events["decision"][0][0] - controller.started
            controller.until(lambda: len(controller.events["job_started"]) >= jobs, "all jobs run")
            controller.wait(min(2.0, seconds))  # the ticks of the starts
            measure_ticks(controller, out, seconds)
            expected = measure_faults(controller, stand_ins, out, with_silence)
            stand_ins.end_jobs()
            controller.finish()
            out.problems = check(controller, stand_ins, jobs, expected)
        finally:
            controller.run.kill()
            controller.run.wait()
            stand_ins.close()
    return out


def print_row(f: Figures) -> None:
    silent = "" if f.silent is None else f"{f.silent:.1f}"
    print(f"| {f.nodes} | {f.decided:.1f} | {f.cpu / f.ticks * 1e3:.1f} | {f.took / f.ticks * 1e3:.1f} "
          f"| {f.cpu / f.seconds * 100:.1f} | {f.sleeps / f.seconds:.0f} | {f.memory / 2**20:.0f} | {f.files} | {f.killed * 1e3:.0f} | {silent} |",
          flush=True)


def reach(limit: float, small: Figures, large: Figures, figure) -> float:
    """Number of nodes at which the figure reaches its limit, if it grows with the same power as from the smaller to the larger size."""
    power = math.log(figure(large) / figure(small)) / math.log(large.nodes / small.nodes)
    return large.nodes * (limit / figure(large)) ** (1 / power) if power > 0 else math.inf


def two_digits(number: float) -> str:
    return "more than 100 000" if number > 1e5 else f"{float(f'{number:.1e}'):.0f}"


def print_limits(none: Figures, small: Figures, large: Figures) -> None:
    """`none`: the smallest size, whose memory and files the others have too."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    rows = [("number of nodes that ration accepts", NODE_LIMIT),
            (f"all nodes start within {START_LIMIT} s, on this machine", reach(START_LIMIT, small, large, lambda f: f.decided)),
            (f"CPU time of the controller per tick: the tick of {TICK} s", reach(TICK, small, large, lambda f: f.cpu / f.ticks)),
            (f"open files: {files} per process", reach(files - none.files, small, large, lambda f: f.files - none.files)),
            (f"memory of this machine: {memory / 2**30:.0f} GiB", reach(memory - none.memory, small, large, lambda f: f.memory - none.memory))]
    print("\n| limit | nodes at which it is reached |\n|---|--:|")
    for name, nodes in sorted(rows, key=lambda row: row[1]):
        print(f"| {name} | {nodes if nodes == NODE_LIMIT else two_digits(nodes)} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/ration", type=os.path.abspath)
    parser.add_argument("--short", action="store_true", help="4 and 8 nodes, for a second each, without a silent agent")
    options = parser.parse_args()
    sizes, seconds = ((4, 8), 1.0) if options.short else ((10, 100, 1000), 15.0)
    print("| nodes | first decision, s | CPU per tick, ms | time of a decision, ms | CPU, % of a core | times that it slept per s | memory, MiB | open files "
          "| killed agent noticed, ms | silent agent noticed, s |\n|" + "--:|" * 10)
    done = []
    for nodes in sizes:
        done.append(measure(options.program, nodes, seconds, not options.short))
        print_row(done[-1])
    if not options.short:
        print_limits(*done)
    problems = [f"nodes.wire: {f.nodes} nodes: {problem}" for f in done for problem in f.problems]
    print("\n".join(problems[:20]) or f"\nEach of {sum(f.nodes // 2 for f in done)} jobs was launched once and has finished.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
