# SPDX-License-Identifier: BSL-1.0
"""The controller of a run on nodes is killed (SIGKILL) at calls drawn at random, while it starts, trains, and takes its nodes over. So are some of its agents, at the
start of a node, while its jobs run, and while an agent takes over the jobs of an earlier one. After each kill `--reattach` continues, with the runtime folder kept or another one. No job is lost, none runs twice at a time, and no device is in two.

RATION_CRASH_KILLS (10) kills of controllers, drawn by RATION_CRASH_SEED (1), RATION_CRASH_WORKERS (2) runs at a time."""
import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from nodes_case import HEAD, PATIENCE, RATION, Nodes, children_of, is_alive, job

KILLS, SEED = int(os.environ.get("RATION_CRASH_KILLS", 10)), int(os.environ.get("RATION_CRASH_SEED", 1))
WORKERS = int(os.environ.get("RATION_CRASH_WORKERS", 2))
MOST_CALLS, MOST_KILLS = 120, 4  # of one run
AGENT_KILLS, MOST_AGENT_CALLS = 0.5, 60  # the part of the starts in which the next agent of a node will be killed, and at which call
NODES, NO_NODE = ("n1", "n2"), 3
# The next agent of node $1 is watched if there is a file next.$1 with the number of its last call.
AGENT = """#!/bin/sh
if mv "{folder}/next.$1" "{folder}/calls.$1.$$" 2> /dev/null; then
    LD_PRELOAD="{library}" RATION_CRASH_AT="any#$(cat "{folder}/calls.$1.$$")" RATION_CRASH_TRACE="{folder}/trace.$1.$$" exec "{ration}" node
fi
exec "{ration}" node
"""
LIBRARY = os.environ["RATION_CRASH_POINTS"]
STEPS = {"a": 60, "b": 40, "c": 20}
JOBS = "".join(job(name, steps, most=1 + (name == "b"), more=f'checkpoint = "saved.{name}"') for name, steps in STEPS.items())


class Crashing(Nodes):
    """One run, until it has ended without a kill."""

    def begin(self, number: int, crash: str) -> None:
        (self.folder / "work" / "jobs.toml").write_text(HEAD + JOBS)
        watched = {"LD_PRELOAD": LIBRARY, "RATION_CRASH_AT": crash} if crash else {}
        with open(self.folder / "printed", "a", encoding="utf-8") as out:
            self.run = subprocess.Popen([RATION, "run", "jobs.toml", "--nodes", f"sh {self.folder}/agent.sh {{host}}", "--hosts", ",".join(NODES), "--log", f"log.{number}.jsonl", *(["--reattach"] if number else [])],
                                        cwd=self.folder / "work", env=self.environment | watched, stdout=out, stderr=out)

    def setUp(self) -> None:
        super().setUp()
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder / "runtime"), "PYTHONDONTWRITEBYTECODE": "1"}
        (self.folder / "agent.sh").write_text(AGENT.format(folder=self.folder, library=LIBRARY, ration=RATION))
        self.addCleanup(self.stop)

    def killed_agents(self) -> int:
        """An agent that did not reach its last call has made fewer."""
        return sum(len(trace.read_text().splitlines()) == int((self.folder / trace.name.replace("trace", "calls")).read_text())
                   for trace in self.folder.glob("trace.*"))

    def attempt(self, dice: random.Random, wanted: int) -> int:
        """Returns the number of kills of controllers."""
        kills = number = without_node = 0
        while True:
            if dice.random() < AGENT_KILLS and kills < wanted:
                (self.folder / f"next.{dice.choice(NODES)}").write_text(str(dice.randint(1, MOST_AGENT_CALLS)))
            self.begin(number, f"any#{dice.randint(1, MOST_CALLS)}" if kills < wanted else "")
            number += 1
            agents, until = [], time.monotonic() + PATIENCE
            while self.run.poll() is None:
                agents = children_of(self.run.pid) or agents
                self.assertLess(time.monotonic(), until, self.printed())
                time.sleep(0.02)
            self.agents += agents
            if self.run.returncode == NO_NODE and "no node is up" in (self.folder / "printed").read_text()[-500:]:  # each agent died before its first message
                without_node += 1
                self.assertLessEqual(without_node, self.killed_agents(), self.printed())
                continue
            if self.run.returncode != -signal.SIGKILL:
                break
            kills += 1
            if dice.random() < 0.3:
                other = self.folder / f"runtime{kills}"
                other.mkdir(mode=0o700)
                self.environment["XDG_RUNTIME_DIR"] = str(other)
        self.check(number)
        return kills

    def printed(self) -> str:
        return (self.folder / "printed").read_text()[-4000:] + f"\n{self.launches()}"

    def check(self, starts: int) -> None:
        work = self.folder / "work"
        self.assertEqual(self.run.returncode, 0, self.printed())
        self.assertFalse((work / "conflict").exists(), "a job ran twice at a time\n" + self.printed())
        for name, steps in STEPS.items():
            self.assertEqual((work / f"saved.{name}" / "step").read_text(), str(steps), f"{name} is lost\n" + self.printed())
            firsts = [int(line[3]) for line in self.launches(name)]
            self.assertEqual(firsts, sorted(firsts), f"{name} began again before its checkpoint\n" + self.printed())
        for number in range(starts):
            log = work / f"log.{number}.jsonl"
            if log.exists() and log.stat().st_size:
                log.replace(work / "log.jsonl")
                if self.events("job_started"):
                    self.assert_devices_used_once()
        end = time.monotonic() + PATIENCE
        while any(is_alive(int(line[4])) for line in self.launches()):
            self.assertLess(time.monotonic(), end, "a job lives\n" + self.printed())
            time.sleep(0.05)

    def stop(self) -> None:
        if self.run is None:
            return
        for pid in [*self.agents, *children_of(self.run.pid), *([self.run.pid] if self.run.poll() is None else []), *(int(line[4]) for line in self.launches())]:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        self.run.wait()


class CrashTest(unittest.TestCase):
    def test_kills_of_controllers(self) -> None:
        def work(worker: int) -> tuple[int, int]:
            dice, kills, agents = random.Random(f"{SEED} {worker}"), 0, 0
            while kills < KILLS // WORKERS:
                case = Crashing()
                case.setUp()
                self.addCleanup(case.doCleanups)
                kills += case.attempt(dice, min(MOST_KILLS, KILLS // WORKERS - kills))
                agents += case.killed_agents()
            return kills, agents
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            kills, agents = (sum(counts) for counts in zip(*pool.map(work, range(WORKERS))))
        print(f"nodes: {kills} kills of controllers and {agents} of agents; no job was lost or ran twice, and no device was in two jobs, as each run was checked", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
