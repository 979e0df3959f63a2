# SPDX-License-Identifier: BSL-1.0
"""Fake agents of many nodes, in one process: they speak the wire (docs/wire.md), and their jobs are only names.

The command of a node starts `sleep`, which holds the pipes of the controller. This process opens them by /proc/PID/fd, so that a node costs no more
than that. Descriptor 3 is the standard output of the command, which is another file while `echo` writes the process number.
"""
import collections
import contextlib
import heapq
import json
import os
import pathlib
import selectors
import shlex
import signal
import time

BEAT = 1.0  # seconds between two reports of a node; each running job reports its progress as often
DEVICES = ["cpu-0", "cpu-1"]
LONGEST_RUN = 900  # seconds until `sleep` ends by itself, should this process be killed


class Agent:
    """One node: its ends of the pipes, and the jobs that it was assigned."""

    def __init__(self, name: str, relay: int) -> None:
        self.name, self.relay = name, relay
        self.orders = os.open(f"/proc/{relay}/fd/0", os.O_RDONLY | os.O_NONBLOCK)
        self.reports = os.open(f"/proc/{relay}/fd/3", os.O_WRONLY | os.O_NONBLOCK)
        self.session, self.sent, self.list = "", 0, 0
        self.unread, self.incoming = b"", []
        self.jobs: dict[str, dict] = {}
        self.is_silent, self.is_open, self.sent_at = False, True, 0.0

    def send(self, op: str, **members) -> None:
        if self.is_silent:
            return
        self.sent += 1
        self.sent_at = time.monotonic()
        head = {"op": op, "s": self.session, "q": self.sent, "clock": time.monotonic_ns()}
        os.write(self.reports, json.dumps({**head, **members}).encode() + b"\n")

    def send_event(self, kind: str, job: str, **members) -> None:
        self.send("event", event={"event": kind, "t": 0, "job": job, "incarnation": self.jobs[job]["incarnation"], **members})

    def send_state(self) -> None:
        self.send("state", grants=self.list, **{"capacity.gpu": len(DEVICES)}, more=False, jobs=list(self.jobs.values()))

    def send_beat(self) -> None:
        for name, row in self.jobs.items():
            row["attained"] += BEAT * row["devices"]
            self.send_event("progress", name, step=int(row["attained"]), metric="loss", value=1.0, count=1)
        self.send_state()

    def end_jobs(self) -> None:
        for name, row in self.jobs.items():
            row["now"] = "finished"
            self.send_event("job_ended", name, how="finished", exit_code=0, signal=None, step=int(row["attained"]), why="")
        self.send_state()

    def close(self) -> None:
        """As if the agent were killed: both ends of the pipes close at once."""
        if not self.is_open:
            return
        self.is_open = False
        os.close(self.orders)
        os.close(self.reports)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.relay, signal.SIGKILL)


def new_row(job: dict) -> dict:
    return {"job": job["job"], "now": "running", "why": "", "incarnation": job["incarnations"] + 1, "held.gpu": job["gpu"],
            "devices": job["gpu"], "settled": True, "resizable": True, "hello": True, "min.gpu": 1, "max.gpu": len(DEVICES), "requested.gpu": 0,
            "used.gpu": float(job["gpu"]), "attained": 0.0, "restart_cost": 1.0}


class Agents:
    """All nodes of a run. `step` handles the messages that have come, and sends the reports that are due."""

    def __init__(self, folder: pathlib.Path) -> None:
        path = folder / "agents"
        os.mkfifo(path)
        self.fifo = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.command = f"exec 3>&1; echo {{host}} $$ >{shlex.quote(str(path))}; exec sleep {LONGEST_RUN}"
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.fifo, selectors.EVENT_READ, self.take_relays)
        self.by_name: dict[str, Agent] = {}
        self.launches: collections.Counter[str] = collections.Counter()
        self.beats: list[tuple[float, int, Agent]] = []

    def step(self, longest: float) -> None:
        for key, _ in self.selector.select(longest):
            key.data()
        while self.beats and self.beats[0][0] <= time.monotonic():
            due, relay, agent = heapq.heappop(self.beats)
            if agent.is_open:
                agent.send_beat()
                heapq.heappush(self.beats, (due + BEAT, relay, agent))

    def take_relays(self) -> None:
        """A command of the controller has written its name and its process. PIPE_BUF bytes contain whole lines only."""
        for line in os.read(self.fifo, 1 << 20).decode().splitlines():
            name, relay = line.split()
            agent = self.by_name[name] = Agent(name, int(relay))
            self.selector.register(agent.orders, selectors.EVENT_READ, lambda agent=agent: self.take_orders(agent))

    def take_orders(self, agent: Agent) -> None:
        text = os.read(agent.orders, 1 << 20)
        if not text:
            return self.remove(agent)
        *lines, agent.unread = (agent.unread + text).split(b"\n")
        for order in map(json.loads, lines):
            if order["op"] == "hello":
                agent.session = order["s"]
            elif order["op"] == "begin":
                agent.send("hello", version=1, node=agent.name, pid=agent.relay, devices=DEVICES, backend="none", approximate="",
                           **{"capacity.cpu": 1000, "capacity.memory": 1 << 30})
                heapq.heappush(self.beats, (time.monotonic() + BEAT, agent.relay, agent))
            elif order["op"] == "jobs":
                self.take_jobs(agent, order)
            elif order["op"] == "end":
                agent.send("ended")
                return self.remove(agent)
        return None

    def take_jobs(self, agent: Agent, order: dict) -> None:
        agent.incoming += order["jobs"]
        if order["more"]:
            return
        assigned, agent.incoming, agent.list = {job["job"]: job for job in agent.incoming}, [], order["grants"]
        before, agent.jobs = agent.jobs, {name: agent.jobs.get(name) or new_row(job) for name, job in assigned.items()}
        for name in agent.jobs.keys() - before.keys():
            self.launches[name] += 1
            agent.send_event("job_started", name, pid=agent.relay, devices=",".join(DEVICES[: assigned[name]["gpu"]]), cpus="", placement="")
        for name, row in agent.jobs.items():
            row["held.gpu"] = row["devices"] = assigned[name]["gpu"]
        agent.send_state()

    def remove(self, agent: Agent) -> None:
        if agent.is_open:
            self.selector.unregister(agent.orders)
        agent.close()

    def idle(self) -> list[Agent]:
        return [agent for agent in self.by_name.values() if agent.is_open and not agent.jobs]

    def end_jobs(self) -> None:
        for agent in self.by_name.values():
            if agent.jobs:
                agent.end_jobs()

    def close(self) -> None:
        for agent in self.by_name.values():
            self.remove(agent)
        self.selector.close()
        os.close(self.fifo)
