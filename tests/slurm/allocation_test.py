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
