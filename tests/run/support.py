# SPDX-License-Identifier: BSL-1.0
"""Runs the program on the jobs of a test, in a separate folder."""
import contextlib
import glob
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from session import Session

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"
RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
TARGET = "target = { loss = { acceptable = 0.5, objective = 0.1 } }"
# Seconds to wait for an event that has to come: it takes long on a busy machine, and an idle one needs only a few.
PATIENCE = float(os.environ.get("RATION_TEST_PATIENCE", 120))


def job(name: str, command: list[str], more: str = "", target: str = TARGET) -> str:
    return f'[[job]]\nname = "{name}"\ncommand = {json.dumps(command)}\n{target}\n{more}\n'


def trainer(name: str, seconds: float, *losses: float, more: str = "") -> str:
    return job(name, [PYTHON, str(HERE / "job.py"), str(seconds), *map(str, losses)], f'at_objective = "stop"\n{more}')


def groups(run: subprocess.Popen) -> list[str]:
    """The groups of this run, in any hierarchy."""
    return glob.glob(f"/sys/fs/cgroup/**/ration-run.{run.pid}.*", recursive=True)


def has_cgroups() -> bool:
    """Whether `ration run` limits by cgroups here."""
    out = subprocess.run([RATION, "doctor", "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(out)["backend"] == "cgroup"


def crash_at(environment: dict, name: str, number: int) -> dict:
    """The environment of a ration that is killed instead of its call of this name; see crash_points.cpp."""
    return dict(environment, LD_PRELOAD=os.environ["RATION_CRASH_POINTS"], RATION_CRASH_AT=f"{name}#{number}")


@contextlib.contextmanager
def another_session():
    """Yields the function that moves a process into a separate session."""
    session = Session(str(os.getpid()))
    if not session.groups:
        raise unittest.SkipTest("no hierarchy under its controller's own name")
    try:
        yield session.enter
    finally:
        session.remove()


class RunTest(unittest.TestCase):
    """A folder to run in, and a base folder for run records that no other run shares."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ration-test-"))
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=str(self.folder))
        self.addCleanup(subprocess.run, ["rm", "-rf", str(self.folder)], check=False)

    def write(self, *parts: str, head: str = 'policy = "none"\ncpus = 1\ntick = "250ms"\n') -> None:
        (self.folder / "jobs.toml").write_text(head + "".join(parts))

    def start(self, *arguments: str, **options) -> subprocess.Popen:
        options.setdefault("env", self.environment)
        process = subprocess.Popen([RATION, "run", "jobs.toml", *arguments], cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process: subprocess.Popen) -> None:
        if process.poll() is None:
            process.kill()
            process.wait()

    def run_jobs(self, *arguments: str, limit: float = PATIENCE, **options) -> subprocess.CompletedProcess:
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=limit)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def assert_refused(self, done: subprocess.CompletedProcess, plugin: str, why: str) -> None:
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"{plugin}: ", done.stderr)
        self.assertIn(why, done.stderr)

    def events(self, name: str = "log.jsonl") -> list[dict]:
        """Of the lines that are complete: the run may be writing the last one."""
        lines = (self.folder / name).read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def wait_for(self, what, limit: float = PATIENCE):
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            found = what()
            if found:
                return found
            time.sleep(0.05)
        self.fail(f"waited {limit} s in vain")

    def record(self) -> pathlib.Path:
        """What the one run in this folder has written down."""
        return next((self.folder / "ration").glob("*/record/run.json"))

    def change(self, change) -> None:
        """Changes the content of the record, and gives it a right sum."""
        run = json.loads(self.record().read_text())["run"]
        change(run)
        text, total = json.dumps(run, sort_keys=True, separators=(",", ":"), ensure_ascii=False), 0xcbf29ce484222325
        for byte in text.encode():
            total = (total ^ byte) * 0x100000001b3 % 2**64
        self.record().write_text(f'{{"run":{text},"sum":"{total:016x}"}}')

    def pid_of(self, name: str) -> int:
        def find():
            for event in self.events() if (self.folder / "log.jsonl").exists() else []:
                if event["event"] == "job_started" and event["job"] == name:
                    return event["pid"]
            return None
        return self.wait_for(find)


def alive(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def of(events: list[dict], kind: str, name: str | None = None) -> list[dict]:
    return [e for e in events if e["event"] == kind and (name is None or e.get("job") == name)]


def main() -> None:
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    if result.testsRun and len(result.skipped) == result.testsRun:
        print("\n".join(reason for _, reason in result.skipped))
        sys.exit(77)
    for case, reason in result.skipped:  # the summary of all suites names these as parts
        print(f"skipped {case.id().rpartition('.')[2]}: {reason}")
    sys.exit(not result.wasSuccessful())


__all__ = ["RunTest", "Session", "HERE", "PYTHON", "RATION", "TARGET", "alive", "another_session", "crash_at", "groups", "has_cgroups", "job", "main", "of", "signal", "trainer"]
