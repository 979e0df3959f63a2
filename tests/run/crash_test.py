# SPDX-License-Identifier: BSL-1.0
"""ration is killed (SIGKILL) at each point of crash_points.md, in a run, a stop, an reattachment and a cleaning, under each backend. After each kill
`--reattach` or `clean` recovers: no job is lost or runs twice, no device is held twice, and no process, group or record stays.

    crash_test.py Sample     some points; every call that is reached has to be in the table
    crash_test.py AllPoints  every point of every scenario, the first times that it is reached (RATION_CRASH_TIMES, 3)
    crash_test.py Random     RATION_CRASH_KILLS (1000) kills at calls drawn at random (RATION_CRASH_SEED, 1), half of them followed by one of the recovery; the
                             runtime folder is kept, removed or another one after each. Prints how many jobs were lost, ran twice or shared a device
"""
import collections
import concurrent.futures
import glob
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from support import HERE, PYTHON, RATION, TARGET, Session, alive, crash_at, has_cgroups, main, signal

BACKENDS = ["process"] + (["cgroup"] if has_cgroups() else [])
PAGE = HERE / "crash_points.md"
WORKERS = int(os.environ.get("RATION_CRASH_WORKERS", "4")) if Session.places() or len(BACKENDS) == 1 else 1  # else `clean` would end other cases' jobs
DEADLINES = 'deadlines = { save = "20s", stop = "20s", start = "60s" }'


def job(name: str, words: list[str], *more: str) -> str:
    return "\n".join(["[[job]]", f'name = "{name}"', "command = [" + ", ".join(f'"{word}"' for word in words) + "]", TARGET, *more, ""])


def limited(name: str, at: str) -> str:
    return job(name, [PYTHON, str(HERE / "crash_job.py"), "1.2"], f'at = "{at}"', "bounds = { cpu = { max = 0.2 } }")


def elastic(name: str, steps: int, at: str) -> str:
    return job(name, [PYTHON, str(HERE / "elastic_job.py"), "good", str(steps)], f'at = "{at}"', "bounds = { gpu = { min = 1, max = 2 } }", DEADLINES)


LIMITS = 'policy = "equal_share"\ncpus = 1\ntick = "100ms"\n' + limited("a", "0s") + limited("b", "300ms")
RESIZE = ('policy = "loss_delta_ratio"\nloss_delta_ratio = { residence = 0, window = 10 }\ndevices = { count = 2, cpu = 0.25 }\ntick = "100ms"\n'
          + elastic("a", 40, "0s") + elastic("b", 15, "600ms"))


RUNTIMES = ("kept", "removed", "changed")  # elastic_job.py listens there, so that it needs the folder
# The words of what can be wrong after a kill
LOST, TWICE, SHARED = "is lost", "twice: ", "held twice"


class Broken(Exception):
    """An invariant does not hold."""


ENDED = 'policy = "equal_share"\ncpus = 1\ntick = "100ms"\n' + "".join(
    job(name, [PYTHON, str(HERE / "crash_job.py"), seconds]) for name, seconds in (("a", "0.4"), ("b", "5"), ("c", "5")))
WORKLOADS = {"limits": LIMITS, "resize": RESIZE, "ended": ENDED}


class Case:
    """One scenario, in a new folder."""

    def __init__(self, workload: str, action: str, backend: str) -> None:
        self.workload, self.action, self.backend = workload, action, backend
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ration-test-"))
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=str(self.folder))
        self.session = Session(self.folder.name)  # else one case would clean what another one left
        self.rations: list[int] = []
        (self.folder / "jobs.toml").write_text(WORKLOADS[workload])

    # --- what is done

    def start(self, *words: str, crash: tuple[str, int] | None = None, trace: bool = False) -> subprocess.Popen:
        environment = crash_at(self.environment, *crash) if crash else dict(self.environment)
        if trace:
            environment.update(LD_PRELOAD=os.environ["RATION_CRASH_POINTS"], RATION_CRASH_TRACE=str(self.folder / "trace"))
        with open(self.folder / "said", "a") as out:
            process = subprocess.Popen([RATION, *words], cwd=self.folder, env=environment, stdout=out, stderr=out, preexec_fn=self.session.enter)
        self.rations.append(process.pid)
        return process

    def run_words(self, *more: str) -> list[str]:
        return ["run", "jobs.toml", "--backend", self.backend, *more]

    def wait(self, process: subprocess.Popen) -> int:
        try:
            return process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Broken("it did not end within 120 s")

    def wait_for(self, what, why: str) -> None:
        deadline = time.monotonic() + 60
        while not what():
            if time.monotonic() > deadline:
                raise Broken(f"waited in vain: {why}")
            time.sleep(0.02)

    def started(self) -> bool:
        return any(self.folder.glob("starts.*")) or (self.folder / "launches").exists()

    def act(self, **options) -> int:
        """The scenario; `options` are those of the ration that is watched, or killed. Returns its exit code."""
        if self.action in ("reattach", "clean"):
            first = self.start(*self.run_words())
            self.wait_for(self.started, "no job started")
            time.sleep(0.2)
            first.kill()
            first.wait()
            if self.workload == "ended":
                self.wait_for(lambda: self.lines("ends.a"), "a has not ended")
        words = {"clean": ["clean"], "reattach": self.run_words("--reattach")}.get(self.action, self.run_words())
        process = self.start(*words, **options)
        if self.action == "stop":
            self.wait_for(lambda: self.started() or process.poll() is not None, "no job started")
            time.sleep(0.3)
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        return self.wait(process)

    def change_runtime(self, how: str) -> None:
        """As a last logout, or cron and sudo."""
        if how == "removed":
            shutil.rmtree(self.folder / "ration", ignore_errors=True)
        if how == "changed":
            other = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
            self.environment["XDG_RUNTIME_DIR"] = str(other)

    def recover(self, **options) -> None:
        """`options`: of a recovery that is killed, too."""
        if options and self.wait(self.start_recovery(**options)) != -signal.SIGKILL:
            return
        code = self.wait(self.start_recovery())
        if code not in (0, 1):  # 1: a job ended while no ration was there to see how
            raise Broken(f"recovery ended with exit code {code}")

    def start_recovery(self, **options) -> subprocess.Popen:
        if self.action == "clean":
            return self.start("clean", **options)
        self.begin_again_without_a_record()
        return self.start(*self.run_words("--reattach"), **options)

    def begin_again_without_a_record(self) -> None:
        """A run without a record has not launched anything yet, or has ended: nothing of it may live, and the next one starts every job."""
        if list(self.folder.glob("ration-output/*/.ration/*/run.json")):
            return
        self.require(not self.survivors(), f"a job lives, and no record names it: {self.survivors()}")
        for file in (*self.folder.glob("starts.*"), *self.folder.glob("ends.*"), *self.folder.glob("done.*"), *self.folder.glob("launches")):
            file.unlink()

    # --- what has to hold

    def require(self, holds: bool, what: str) -> None:
        if not holds:
            raise Broken(what)

    def lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def check(self) -> None:
        self.wait_for(lambda: not self.survivors(), f"processes are left: {self.survivors()}")
        self.require(not self.lines("conflict"), f"{SHARED}: {self.lines('conflict')}")
        self.check_resize() if self.workload == "resize" else self.check_limits()
        self.require(not self.groups(), f"groups are left: {self.groups()}")
        self.require(not list(self.folder.glob("ration-output/*/.ration/*/run.json")), "a record is left")
        self.wait(self.start("clean"))
        self.require(self.lines("said")[-1] == "nothing was left behind", "clean found something")

    def check_limits(self) -> None:
        for name in "abc" if self.workload == "ended" else "ab":
            starts, ends = len(self.lines(f"starts.{name}")), len(self.lines(f"ends.{name}"))
            self.require(starts <= 1, f"{name} was started {TWICE}{starts} times")
            self.require(self.action in ("stop", "clean") or (starts, ends) == (1, 1), f"{name} {LOST}: {starts} starts, {ends} ends")

    def check_resize(self) -> None:
        launches = [line.split() for line in self.lines("launches")]
        for name in "ab":
            incarnations = [int(words[1]) for words in launches if words[0] == name]
            self.require(incarnations == sorted(set(incarnations)), f"{name} used an incarnation {TWICE}{incarnations}")
            self.require(self.action in ("stop", "clean") or (self.folder / f"done.{name}").exists(), f"{name} {LOST}")

    def survivors(self) -> list[int]:
        mark, found = f"RATION_PROGRESS=unix:{self.folder}/".encode(), []
        for file in glob.glob("/proc/[0-9]*/environ"):
            try:
                if mark in pathlib.Path(file).read_bytes() and alive(int(file.split("/")[2])):
                    found.append(int(file.split("/")[2]))
            except OSError:
                pass
        return found

    def groups(self) -> list[str]:
        left = [path for pid in self.rations for path in glob.glob(f"/sys/fs/cgroup/**/ration-*.{pid}.*", recursive=True)] if not self.session.groups else []
        return left + self.session.children()

    def close(self) -> None:
        for pid in self.survivors():
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        self.wait(self.start("clean"))
        self.session.remove()
        subprocess.run(["rm", "-rf", str(self.folder)], check=False)


SCENARIOS = [(workload, action, backend) for backend in BACKENDS
             for workload, actions in (("limits", ("run", "stop", "reattach", "clean")), ("resize", ("run", "stop", "reattach")), ("ended", ("reattach",))) for action in actions]


def trace(scenario: tuple[str, str, str]) -> collections.Counter:
    """How often each point is reached. Errors: Broken."""
    case = Case(*scenario)
    try:
        case.act(trace=True)
        case.check()
        return collections.Counter(case.lines("trace"))
    except Broken as broken:
        raise Broken(f"{scenario} without a kill: {broken}\n" + "\n".join(case.lines("said")))
    finally:
        case.close()


def kill(scenario: tuple[str, str, str], name: str, number: int, runtime: str = "kept", again: int = 0) -> str:
    """What is wrong after a kill at this point; empty: nothing, or "missed" where the run ended without reaching it. `again`: the call of the recovery at
    which that is killed, too; 0: none."""
    case = Case(*scenario)
    try:
        reached = case.act(crash=(name, number)) == -signal.SIGKILL
        if reached:
            case.change_runtime(runtime)
            case.recover(**{"crash": ("any", again)} if again else {})
        case.check()
        return "" if reached else "missed"
    except Broken as broken:
        return f"{' '.join(scenario)}, killed at {name}#{number}, {runtime}, {again}: {broken}\n" + "\n".join(case.lines("said")[-30:])
    finally:
        case.close()


def table() -> set[str]:
    """The names in the first column of the page."""
    rows = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


class Crash(unittest.TestCase):
    def traces(self, scenarios: list) -> dict:
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            found = dict(zip(scenarios, pool.map(trace, scenarios)))
        unknown = set().union(*found.values()) - table()
        self.assertEqual(sorted(unknown), [], f"reached, and not in {PAGE.name}")
        return found

    def kills(self, wanted: list) -> None:
        """Each of (scenario, name, number); prints how many there were of each point."""
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            results = list(pool.map(lambda one: kill(*one), wanted))
        done = collections.Counter(name for (_, name, *_), result in zip(wanted, results) if result != "missed")
        print(f"{sum(done.values())} kills, {results.count('missed')} points not reached again", file=sys.stderr)
        for name, count in sorted(done.items()):
            print(f"  {count:5d}  {name}", file=sys.stderr)
        broken = [result for result in results if result not in ("", "missed")]
        wrong = {words: sum(words in result.partition("\n")[0] for result in broken) for words in (LOST, TWICE, SHARED)}
        print(f"{wrong[LOST]} lost, {wrong[TWICE]} twice, {wrong[SHARED]} with a device in two jobs; {len(broken) - sum(wrong.values())} otherwise wrong", file=sys.stderr)
        self.assertEqual(len(broken), 0, "\n\n".join(broken))
        self.assertGreater(sum(done.values()), 0)


class Sample(Crash):
    POINTS = [("limits", "run", "rename run.json", 1), ("limits", "run", "send gate", 2), ("limits", "run", "rename run.json", 4),
              ("resize", "run", "sendto command", 1), ("limits", "reattach", "rename run.json", 1),
              ("ended", "reattach", "rename run.json", 1), ("ended", "reattach", "rename run.json", 2), ("limits", "clean", "signal 15", 1),
              ("limits", "stop", "unlink run.json", 1)]

    def test_a_sample(self) -> None:
        self.traces([("limits", "run", backend) for backend in BACKENDS])
        self.kills([((workload, action, backend), name, number) for backend in BACKENDS for workload, action, name, number in self.POINTS])


class AllPoints(Crash):
    def test_all_points(self) -> None:
        traces = self.traces(SCENARIOS)
        times = int(os.environ.get("RATION_CRASH_TIMES", "3"))
        self.kills([(scenario, name, number) for scenario, points in traces.items() for name, count in points.items() for number in range(1, min(count, times) + 1)])


class Random(Crash):
    def test_random(self) -> None:
        rng = random.Random(int(os.environ.get("RATION_CRASH_SEED", "1")))
        traces = self.traces(SCENARIOS)
        wanted = []
        for _ in range(int(os.environ.get("RATION_CRASH_KILLS", "1000"))):
            scenario = rng.choice(SCENARIOS)
            calls = sum(traces[scenario].values())
            wanted.append((scenario, "any", rng.randint(1, calls), rng.choice(RUNTIMES[::2] if scenario[0] == "resize" else RUNTIMES), rng.choice((0, rng.randint(1, calls)))))
        self.kills(wanted)


if __name__ == "__main__":
    main()
