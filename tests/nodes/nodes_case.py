# SPDX-License-Identifier: BSL-1.0
"""A run on several nodes that are parts of this machine, for tests. RATION_PROGRAM names the program."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
PATIENCE = float(os.environ.get("RATION_TEST_PATIENCE", 120))
HEAD = 'policy = "max_min"\ndevices = { count = 4, cpu = 0.25 }\ntick = "200ms"\n'
LONG = 100000  # steps of a job that does not end by itself


def job(name: str, steps: int, least: int = 1, most: int = 2, more: str = "") -> str:
    return f"""
[[job]]
name = "{name}"
command = {json.dumps([sys.executable, str(HERE / "job.py"), str(steps)])}
target = {{ loss = {{ objective = 1e-9 }} }}
bounds = {{ gpu = {{ min = {least}, max = {most} }} }}
deadlines = {{ save = "60s", stop = "60s", start = "60s" }}
{more}
"""


def is_alive(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def children_of(parent: int) -> list[int]:
    out = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(words[1]) == parent and words[0] not in "ZX":
            out.append(int(stat.parent.name))
    return out


class Nodes(unittest.TestCase):
    head = HEAD

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        (self.folder / "work").mkdir()
        (self.folder / "runtime").mkdir(mode=0o700)
        self.run, self.agents = None, []

    def start(self, jobs: str, *options: str, nodes: str = "local:2") -> subprocess.Popen:
        (self.folder / "work" / "jobs.toml").write_text(self.head + jobs)
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder / "runtime"), "PYTHONDONTWRITEBYTECODE": "1"}
        self.run = subprocess.Popen([RATION, "run", "jobs.toml", "--nodes", nodes, "--log", "log.jsonl", *options], cwd=self.folder / "work",
                                    env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        return self.run

    def stop(self) -> None:
        """Ends what a failed test leaves: its agents would wait for the end of their lease."""
        left = [*self.agents, *(children_of(self.run.pid) if self.run.poll() is None else [])]
        if self.run.poll() is None:
            self.run.kill()
        for pid in [*left, *(int(line[4]) for line in self.launches())]:
            if is_alive(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.run.communicate()

    def kill_controller(self) -> None:
        """Its agents have its standard error."""
        self.agents += children_of(self.run.pid)
        self.run.kill()
        self.run.wait()
        for stream in (self.run.stdout, self.run.stderr):
            self.addCleanup(stream.close)

    def finish(self, code: int = 0) -> tuple[str, str]:
        out, err = self.run.communicate(timeout=PATIENCE)
        self.assertEqual(self.run.returncode, code, out + err)
        self.assertFalse((self.folder / "work" / "conflict").exists(), "a job ran twice at a time")
        return out, err

    def events(self, *kinds: str) -> list[dict]:
        log = self.folder / "work" / "log.jsonl"
        lines = log.read_text().splitlines(keepends=True) if log.exists() else []
        return [event for event in (json.loads(line) for line in lines if line.endswith("\n")) if not kinds or event["event"] in kinds]

    def launches(self, name: str | None = None) -> list[list[str]]:
        file = self.folder / "work" / "launches"
        lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return [line for line in lines if len(line) == 5 and name in (None, line[0])]

    def until(self, condition, what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end or self.run.poll() is not None:
                out, err = self.run.communicate() if self.run.poll() is not None else ("", "")
                self.fail(f"waited in vain until {what}\n{out}{err}")
            time.sleep(0.05)

    def wait_for_end(self, pids: list[int]) -> None:
        end = time.monotonic() + PATIENCE
        while any(map(is_alive, pids)):
            self.assertLess(time.monotonic(), end, "still alive")
            time.sleep(0.05)

    def assert_nothing_left(self) -> None:
        end = time.monotonic() + PATIENCE
        pids = [int(line[4]) for line in self.launches()]
        while any(map(is_alive, pids)) or self.left_in_runtime():
            self.assertLess(time.monotonic(), end, f"left: {[pid for pid in pids if is_alive(pid)]} {self.left_in_runtime()}")
            time.sleep(0.05)

    def left_in_runtime(self) -> list[str]:
        """Claims of CPUs are one file for all runs."""
        return [str(path) for path in (self.folder / "runtime").rglob("*") if not path.name.endswith(".cpus") and path.name != "ration"]

    def assert_devices_used_once(self) -> None:
        owner, launched = {}, {}
        for event in self.events("job_started", "job_ended", "resize"):
            name = event["job"]
            if event["event"] == "job_ended" or event.get("what") in ("starting", "queued", "clearing"):
                owner = {device: other for device, other in owner.items() if other != name}
            if event["event"] == "job_started":
                for device in event["devices"].split(","):
                    self.assertIn(owner.get(device, name), (name,), f"{device} is in two jobs: {event}")
                    owner[device] = name
                launched.setdefault(name, []).append(event["devices"].split(":")[0])
        self.assertTrue(launched)

    def agent_of_first_job(self) -> int:
        job = int(self.launches()[0][4])
        return next(pid for pid in children_of(self.run.pid) if job in children_of(pid))

    def refused(self, script: str, jobs: str = "") -> str:
        """Standard error of a run whose only node is a Python script that speaks the wire badly."""
        agent = self.folder / "agent.py"
        agent.write_text(script)
        self.start(jobs or job("a", 1), "--hosts", "n1", nodes=f"{sys.executable} {agent} {{host}}")
        _, err = self.run.communicate(timeout=PATIENCE)
        return err + "".join(f"{event['subject']}: {event['message']}\n" for event in self.events("warning"))
