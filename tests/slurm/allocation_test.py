# SPDX-License-Identifier: BSL-1.0
"""`ration run --nodes slurm` in allocations of a real Slurm: nodes on this machine (lab.py).

usage: allocation_test.py [CLASS]    RATION_PROGRAM names the program
"""
import json
import os
import pathlib
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import lab

ROOT = pathlib.Path(__file__).resolve().parents[2]
RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
PATIENCE = float(os.environ.get("RATION_TEST_PATIENCE", 300))
JOBS = 'policy = "max_min"\ndevices = { count = 2, cpu = 0.5 }\ntick = "200ms"\n' + "".join(f"""
[[job]]
name = "{name}"
command = ["{sys.executable}", "{ROOT}/examples/nodes/train.py", "40"]
log = ['step=(?<step>\\d+) loss=(?<loss>\\S+)']
target = {{ loss = {{ objective = 0 }} }}
bounds = {{ gpu = {{ min = 1, max = 1 }} }}
deadlines = {{ save = "5s", stop = "5s" }}
""" for name in "abc")


def processes_with(entry: str) -> list[int]:
    """Processes that have this variable in their environment."""
    out = []
    for file in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            found = entry.encode() in file.read_bytes().split(b"\0")
        except OSError:
            continue
        if found:
            out.append(int(file.parent.name))
    return out


def parent_of(pid: int) -> str:
    """The name of the parent process."""
    parent = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    return pathlib.Path(f"/proc/{parent}/comm").read_text()


class Allocation(unittest.TestCase):
    confined = False

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.lab = self.enterContext(lab.Lab(self.folder / "lab", self.confined))
        self.log = self.folder / "log.jsonl"

    def events(self, kind: str) -> list[dict]:
        lines = self.log.read_text().splitlines(keepends=True) if self.log.exists() else []
        return [event for event in (json.loads(line) for line in lines if line.endswith("\n")) if event["event"] == kind]

    def until(self, condition: object, what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.1)


class Short(Allocation):
    def test_the_jobs_of_a_node_whose_step_is_ended_continue_on_the_other_one(self) -> None:
        (self.folder / "jobs.toml").write_text(JOBS)
        (self.folder / "runtime").mkdir(mode=0o700)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "ration").symlink_to(RATION)
        command = re.search(r"^\$ (salloc .*)$", (ROOT / "docs" / "cluster.md").read_text(), re.M)[1]
        environment = {**self.lab.environment, "XDG_RUNTIME_DIR": str(self.folder / "runtime"), "SALLOC_GRES": "gpu:2",
                       "PATH": f"{self.folder}/bin:{self.lab.environment['PATH']}"}
        run = subprocess.Popen([*shlex.split(command), "--log", self.log], cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=environment)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        self.until(lambda: {event["job"] for event in self.events("progress")} == set("abc"), "all jobs train")
        placed = {event["job"]: event["devices"].split(":")[0] for event in self.events("job_started")}
        self.assertEqual(set(placed.values()), {"n1", "n2"})
        agents = [pid for pid in processes_with("SLURMD_NODENAME=n1") if pathlib.Path(f"/proc/{pid}/comm").read_text() == "ration\n"]
        environment = pathlib.Path(f"/proc/{agents[0]}/environ").read_text().split("\0")
        self.assertIn("CUDA_VISIBLE_DEVICES=0,1", environment, "the GPUs of the allocation")
        steps = [line.split() for line in self.lab.run("squeue", "--steps", "--noheader", "--format=%i %N").splitlines()]
        self.assertEqual(sorted(node for _, node in steps), ["n1", "n2"])
        self.lab.run("scancel", "--signal=TERM", next(step for step, node in steps if node == "n2"), check=False)  # it fails if the step ends at once
        out, _ = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 0, out)
        self.assertEqual({event["job"]: event["how"] for event in self.events("job_ended")}, {name: "finished" for name in "abc"})
        moved = [event for event in self.events("job_started") if placed[event["job"]] == "n2"][-1]
        self.assertTrue(moved["devices"].startswith("n1:"), moved)
        self.assertEqual(self.lab.run("squeue", "--noheader"), "")
        self.assertEqual(processes_with(f"XDG_RUNTIME_DIR={self.folder}/runtime"), [])


CONFINED_JOB = """import pathlib, sys, time
for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
    print("group", line, flush=True)
for device in sys.argv[1:]:
    try:
        open(device)
    except PermissionError:
        print("denied", device, flush=True)
    except OSError:
        print("allowed", device, flush=True)  # it has no driver
for step in range(1, 41):
    print(f"step={step} loss={1 / step}", flush=True)
    time.sleep(0.1)
"""


class Confined(Allocation):
    """A user who is not root, in steps that Slurm confines to their CPUs and GPUs."""

    confined = True

    def setUp(self) -> None:
        super().setUp()
        self.home = self.folder / "home"

    def start(self) -> subprocess.Popen:
        work, user = self.home, pwd.getpwnam("nobody")
        as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--no-new-privs"]
        self.folder.chmod(0o755)
        (work / "runtime").mkdir(parents=True, mode=0o700)
        if subprocess.run([*as_user, RATION, "--version"], cwd=self.folder, capture_output=True, check=False).returncode != 0:
            self.skipTest(f"{RATION} cannot be executed by {user.pw_name}")
        (work / "job.py").write_text(CONFINED_JOB)
        words = [shutil.which("python3", path="/usr/bin:/bin"), "job.py", *(str(self.folder / "lab" / f"gpu{number}") for number in range(lab.GPUS))]
        (work / "jobs.toml").write_text(re.sub(r"command = .*", lambda _: f"command = {json.dumps(words)}", JOBS))
        for path in (work, *work.iterdir()):
            os.chown(path, user.pw_uid, user.pw_gid)
        self.log = work / "log.jsonl"
        environment = {**self.lab.environment, "XDG_RUNTIME_DIR": str(work / "runtime"), "HOME": str(work), "SALLOC_GRES": "gpu:2"}
        command = [*as_user, "salloc", "-N2", "--exclusive", "--no-kill", RATION, "run", "jobs.toml", "--nodes", "slurm", "--log", self.log]
        run = subprocess.Popen(command, cwd=work, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        return run

    def test_a_user_runs_jobs_in_confined_steps_and_an_agent_is_killed(self) -> None:
        run = self.start()
        self.until(lambda: {event["job"] for event in self.events("progress")} == set("abc"), "all jobs train")
        runtime = f"XDG_RUNTIME_DIR={self.home}/runtime"
        agents = [pid for pid in processes_with("SLURMD_NODENAME=n2") if parent_of(pid).startswith("slurmstepd") and pid in processes_with(runtime)]
        self.assertEqual(len(agents), 1, agents)
        os.kill(agents[0], signal.SIGKILL)
        out, _ = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 0, out)
        self.assertIn("its command has ended; it is started again", [event["message"] for event in self.events("warning")])
        self.assertEqual({event["job"]: event["how"] for event in self.events("job_ended")}, {name: "finished" for name in "abc"})
        self.assertEqual([control["backend"] for control in self.events("run")[0]["controls"]], ["process on each node"])
        for output in self.home.glob("ration-output/*/[abc].log"):
            words = [line.split() for line in output.read_text().splitlines()]
            groups = [line[1] for line in words if line[0] == "group"]
            for hierarchy in ("cpuset", "devices"):
                self.assertTrue(any(f":{hierarchy}:/slurm_n" in group for group in groups), groups)
            self.assertEqual([line[0] for line in words if line[0] in ("allowed", "denied")][: lab.GPUS], ["allowed", "allowed", "denied", "denied"], output)
        self.assertEqual(self.lab.run("squeue", "--noheader"), "")
        self.assertEqual(processes_with(runtime), [])


class Failures(Allocation):
    """Failures of Slurm's parts in one run. Takes minutes: Slurm's controller is away for one, and lost nodes have to be silent."""

    AWAY = 60

    def job(self, name: str) -> str:
        return f"""
[[job]]
name = "{name}"
command = ["{sys.executable}", "{ROOT}/tests/nodes/job.py", "100000"]
target = {{ loss = {{ objective = 1e-9 }} }}
bounds = {{ gpu = {{ min = 1, max = 4 }} }}
checkpoint = "saved-{name}"
deadlines = {{ save = "5s", stop = "5s" }}
grace = "1s"
"""

    def start(self) -> subprocess.Popen:
        """Two runs in one allocation, the second one after the first was killed."""
        (self.folder / "runtime").mkdir(mode=0o700)
        (self.folder / "jobs.toml").write_text(JOBS.partition("[[job]]")[0].replace("count = 2, cpu = 0.5", "count = 4, cpu = 0.25") + "".join(map(self.job, "abc")))
        run = f"{shlex.quote(RATION)} run jobs.toml --nodes slurm --node-lease 10s --log"
        command = f"{run} first.jsonl & echo $! >first.pid; wait; exec {run} log.jsonl --reattach"
        environment = {**self.lab.environment, "XDG_RUNTIME_DIR": str(self.folder / "runtime")}
        self.log = self.folder / "first.jsonl"
        with open(self.folder / "out", "w") as out:
            allocation = subprocess.Popen(["salloc", "-N3", "--exclusive", "--no-kill", "bash", "-c", command], cwd=self.folder, env=environment, stdout=out,
                                          stderr=subprocess.STDOUT)
        self.addCleanup(allocation.wait)
        self.addCleanup(self.kill_all)
        return allocation

    def until(self, condition: object, what: str) -> None:
        try:
            super().until(condition, what)
        except AssertionError as failed:
            raise AssertionError(f"{failed}\n{(self.folder / 'out').read_text()}") from None

    def kill_all(self) -> None:
        for pid in processes_with(f"XDG_RUNTIME_DIR={self.folder}/runtime"):
            os.kill(pid, signal.SIGKILL)

    def launches(self) -> list[list[str]]:
        return [line.split() for line in (self.folder / "launches").read_text().splitlines()]

    def progress_of(self, name: str) -> int:
        return max((event["step"] for event in self.events("progress") if event["job"] == name), default=0)

    def until_all_train(self) -> None:
        before = {name: self.progress_of(name) for name in "abc"}
        self.until(lambda: all(self.progress_of(name) > before[name] for name in "abc"), "all jobs train")

    def of_node(self, name: str) -> dict[str, list[int]]:
        """The processes of its steps, by their names."""
        out: dict[str, list[int]] = {}
        for pid in processes_with(f"SLURMD_NODENAME={name}"):
            out.setdefault(pathlib.Path(f"/proc/{pid}/comm").read_text().strip(), []).append(pid)
        return out

    def test_jobs_run_on_or_continue_elsewhere_and_never_twice(self) -> None:
        allocation = self.start()
        self.until_all_train()
        placed = {event["job"]: event["devices"].split(":")[0] for event in self.events("job_started")}
        self.assertEqual(sorted(placed.values()), ["n1", "n2", "n3"])
        os.kill(int((self.folder / "first.pid").read_text()), signal.SIGKILL)
        self.log = self.folder / "log.jsonl"
        self.until_all_train()
        self.take_slurm_away()
        self.assertEqual(len(self.launches()), 3, "the jobs run on")
        self.lose(next(name for name, node in placed.items() if node == "n2"), lambda: self.kill_step_daemons("n2"))
        self.lose(next(name for name, node in placed.items() if node == "n3"), lambda: self.set_state("n3", "down"))
        self.set_state("n3", "idle")
        self.until_all_train()
        latest = {event["job"]: event["devices"].split(":")[0] for event in self.events("job_started")}
        self.assertEqual(set(latest.values()), {"n1"}, "lost nodes stay away")
        ration = next(pid for pid in processes_with(f"XDG_RUNTIME_DIR={self.folder}/runtime") if b"--reattach" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                      and pathlib.Path(f"/proc/{pid}/comm").read_text() == "ration\n")
        os.kill(ration, signal.SIGINT)
        self.assertEqual(allocation.wait(PATIENCE), 4, (self.folder / "out").read_text())
        self.assertFalse((self.folder / "conflict").exists(), "a job ran twice at a time")
        self.until(lambda: processes_with(f"XDG_RUNTIME_DIR={self.folder}/runtime") == [], "nothing is left")

    def take_slurm_away(self) -> None:
        """Its controller writes its state every 5 s, and forgets an allocation that is not in it."""
        time.sleep(10)
        before = self.events("warning")
        os.kill(int((self.folder / "lab" / "slurmctld.pid").read_text()), signal.SIGKILL)
        time.sleep(self.AWAY)
        self.lab.run("slurmctld", "-f", self.folder / "lab" / "slurm.conf")
        self.until_all_train()
        self.assertEqual(self.events("warning"), before)

    def kill_step_daemons(self, node: str) -> None:
        agents = [pid for pid in self.of_node(node)["ration"] if parent_of(pid).startswith("slurmstepd")]
        self.assertTrue(agents)
        for agent in agents:
            os.kill(int(pathlib.Path(f"/proc/{agent}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)

    def set_state(self, node: str, state: str) -> None:
        self.lab.run("scontrol", "update", f"nodename={node}", f"state={state}", "reason=test")

    def lose(self, name: str, how) -> None:
        """The job continues on another node, from its last checkpoint."""
        before = len([line for line in self.launches() if line[0] == name])
        how()
        self.until(lambda: len([line for line in self.launches() if line[0] == name]) > before, f"{name} continues elsewhere")
        self.assertGreater(int([line for line in self.launches() if line[0] == name][-1][3]), 0)


class Example(unittest.TestCase):
    """Waits longer than 30 s for the time in which a node can end its jobs."""

    def test_no_job_of_the_failed_node_is_lost_and_nothing_is_left(self) -> None:
        for policy in ("elastic_batch_dp", "loss_delta_ratio"):
            with self.subTest(policy):
                self.run_example(policy)

    def run_example(self, policy: str) -> None:
        with tempfile.TemporaryDirectory() as holder:
            environment = {**os.environ, "TMPDIR": holder, "RATION_NODES": "2", "RATION_STEPS": "80"}
            done = subprocess.run([ROOT / "examples" / "slurm.sh", policy], env=environment, text=True, capture_output=True, timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("node n2 has failed", done.stdout)
            table = done.stdout.rpartition("node n2 has failed")[2]
            self.assertEqual(set(re.findall(r"(\w+) finished at step 80\n", done.stdout)), {"ada", "bo", "cy", "dee", "eve", "fay"}, done.stdout)
            self.assertIn(policy, table)
            self.assertIn("mean of 6", table)
            self.assertEqual(os.listdir(holder), [])
            self.assertEqual(processes_with(f"TMPDIR={holder}"), [])


if __name__ == "__main__":
    reason = lab.reason_against() or ("Confined" in sys.argv and lab.reason_against_confinement())
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
