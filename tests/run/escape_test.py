# SPDX-License-Identifier: BSL-1.0
"""Jobs that leave their cgroups or raise their own limits, and jobs that report as another one."""
import glob
import os
import pathlib
import resource
import subprocess
import textwrap
import unittest

from support import PYTHON, RATION, RunTest, alive, groups, has_cgroups, job, main, of, signal

CGROUPS = has_cgroups()
HEAD = 'policy = "equal_share"\ncpus = 1\ntick = "100ms"\n'
# Moves itself to where ration is, in every hierarchy; a child stays there, and the file names it.
LEAVES = textwrap.dedent("""
    import os, pathlib, subprocess, sys, time
    top = pathlib.Path("/sys/fs/cgroup")
    def leave():
        for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            if "/ration-run." not in path: continue
            base = top / names if names else (top / "unified" if (top / "unified").is_dir() else top)
            outside = base / path.split("/ration-run.")[0].lstrip("/")
            leaf = outside / "ration-ctl"
            (leaf if leaf.is_dir() else outside).joinpath("cgroup.procs").write_text(str(os.getpid()))
    while True:  # a tick may put this process back before its child begins
        leave()
        child = subprocess.Popen(["sleep", "300"], start_new_session=True)
        if "/ration-run." not in pathlib.Path(f"/proc/{child.pid}/cgroup").read_text(): break
        child.kill()
        child.wait()
    pathlib.Path("child").write_text(str(child.pid))
    os.execvp("sleep", ["sleep", "300"])
""")
RAISES = textwrap.dedent("""
    import pathlib, time
    time.sleep(1)
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if names not in ("cpu", "cpu,cpuacct", "") or "/ration-run." not in path: continue
        top = pathlib.Path("/sys/fs/cgroup")
        base = top / names if names else (top / "unified" if (top / "unified").is_dir() else top)
        for name, most in (("cpu.cfs_quota_us", "-1"), ("cpu.max", "max")):
            file = base / path.lstrip("/") / name
            if not file.exists(): continue
            end = time.monotonic() + 40
            while file.read_text().startswith(most) and time.monotonic() < end: time.sleep(0.05)  # until the first decision
            before = file.read_text()
            file.write_text(most)
            while file.read_text() != before and time.monotonic() < end: time.sleep(0.05)
            pathlib.Path("quota").write_text(before + file.read_text())
""")


def memberships(pid: int) -> list[str]:
    return pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()


@unittest.skipUnless(CGROUPS and os.geteuid() == 0, "needs root and cgroups that can be written")
class Leaving(RunTest):
    def warnings(self) -> str:
        return "\n".join(e["message"] for e in of(self.events(), "warning"))

    def test_a_job_that_left_is_put_back_and_ends_at_the_first_interrupt(self) -> None:
        self.write(job("x", [PYTHON, "-c", LEAVES]), job("y", ["sleep", "300"]), head=HEAD)
        run = self.start("--log", "log.jsonl")
        pid = self.pid_of("x")
        child = int(self.wait_for(lambda: (self.folder / "child").exists() and (self.folder / "child").read_text(), limit=60))
        self.addCleanup(lambda: alive(child) and os.kill(child, signal.SIGKILL))
        self.addCleanup(lambda: alive(pid) and os.kill(pid, signal.SIGKILL))
        self.wait_for(lambda: "had left its cgroup, which keeps its limits; it was put back" in self.warnings(), limit=60)
        used = [line for line in memberships(self.pid_of("y")) if "/ration-run." in line]
        self.assertTrue(used)
        # The job leaves one hierarchy after another: a tick that sees half of this puts it back, and a later tick does so again.
        self.wait_for(lambda: [line.replace("/x", "/y") for line in memberships(pid) if "/ration-run." in line] == used, limit=60)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=30), 4)
        self.assertFalse(alive(pid))
        self.assertFalse(alive(child), "a process that stayed outside is left")
        self.assertIn("1 of its processes had left its cgroup; they are killed", self.warnings())
        self.assertEqual(groups(run), [])

    def test_a_quota_that_the_job_raised_is_restored_without_a_new_decision(self) -> None:
        self.write(job("x", [PYTHON, "-c", RAISES]), job("y", ["sleep", "300"]), head=HEAD)
        run = self.start("--log", "log.jsonl")
        before, after = self.wait_for(lambda: (self.folder / "quota").exists() and (self.folder / "quota").read_text().split("\n")[:2], limit=60)
        self.assertEqual(after, before)
        self.assertNotIn(before, ("-1", "max 100000"))
        self.assertIn("; the last limits are written again", self.warnings())
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=30), 4)


# Takes the victim's token from its environment. Sends a message with that token itself, through a child, and through an orphan in a separate session.
FORGES = textwrap.dedent("""
    import os, pathlib, socket, subprocess, sys, time
    def speak():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.connect(os.environ["RATION_PROGRESS"][5:])
        e = os.environ
        s.send(f"P1 step e={e['RATION_INCARNATION']} k={e['RATION_TOKEN']} j=victim r=0 q=1 s=1000 c=200 l=0.00001".encode())
        time.sleep(1)  # so that it is still there when its message is read
    if sys.argv[1:] == ["speak"]:
        speak(); sys.exit(0)
    time.sleep(1)
    for found in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try: entries = dict(entry.split("=", 1) for entry in found.read_text().split("\\0") if "=" in entry)
        except (OSError, UnicodeDecodeError): continue
        if entries.get("RATION_JOB") == "victim" and entries.get("RATION_PROGRESS") == os.environ["RATION_PROGRESS"]:
            os.environ["RATION_TOKEN"] = entries["RATION_TOKEN"]
            os.environ["RATION_JOB"] = "victim"
            break
    speak()
    me = [sys.executable, __file__, "speak"]
    subprocess.run(me, check=True)
    subprocess.run(me, check=True, start_new_session=True)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: os.execv(sys.executable, me)
        os._exit(0)
    time.sleep(2)
    pathlib.Path("forged").touch()
""")


class Forging(RunTest):
    def messages_of_victim(self, backend: str) -> list[dict]:
        (self.folder / "forges.py").write_text(FORGES)
        client = f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).resolve().parents[2] / 'python')!r})\n"
        honest = client + "from ration import progress; import time\nimport os\np = progress.open(); p.hello()\ni = 0\nwhile i < 600 and not os.path.exists('forged'): i += 1; p.step(i, 1.0); time.sleep(0.2)\n"
        self.write(job("victim", [PYTHON, "-c", honest]), job("attacker", [PYTHON, str(self.folder / "forges.py")]))
        done = self.run_jobs("--backend", backend, "--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "forged").exists(), "the attack was not made")
        self.assertIn("not the jobs' own", done.stdout)
        return of(self.events(), "progress", "victim")

    def check(self, backend: str) -> None:
        heard = self.messages_of_victim(backend)
        self.assertTrue(heard, "the job's own messages count")
        self.assertEqual([e for e in heard if e["value"] != 1.0], [], "a forged message was accepted")
        self.assertEqual(of(self.events(), "tier_reached"), [])

    def test_no_process_of_one_job_reports_as_another_without_groups(self) -> None:
        self.check("process")

    @unittest.skipUnless(CGROUPS, "no cgroup can be written here")
    def test_nor_with_groups(self) -> None:
        self.check("cgroup")


class FewDescriptors(RunTest):
    """A program that can open next to nothing makes groups to try them out, and has to remove them."""

    def test_no_group_is_left(self) -> None:
        for most in range(3, 24):
            with self.subTest(descriptors=most):
                doctor = subprocess.Popen([RATION, "doctor"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
                doctor.wait(timeout=60)
                left = glob.glob(f"/sys/fs/cgroup/**/ration-*.{doctor.pid}.*", recursive=True)
                for group in left:
                    os.rmdir(group)
                self.assertEqual(left, [])


class Sharing(RunTest):
    """Two runs at once."""

    def bound_to(self, pid: int) -> str:
        return next(line.split()[1] for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Cpus_allowed_list"))

    def run_two(self, backend: str, cpus: int) -> tuple[list[str], list[str]]:
        """CPUs of the job of each, and what the second run warned of."""
        self.write(job("a", ["sleep", "300"]), head=f'policy = "none"\ncpus = {cpus}\n')
        runs, bound = [], []
        for number in (1, 2):
            folder = self.folder / f"{backend}-{number}"
            folder.mkdir()
            (folder / "jobs.toml").write_text((self.folder / "jobs.toml").read_text())
            home, self.folder = self.folder, folder
            runs.append(self.start("--backend", backend, "--log", "log.jsonl"))
            bound.append(self.bound_to(self.pid_of("a")))
            warned = [e["message"] for e in of(self.events(), "warning")]
            self.folder = home
        for run in runs:
            run.send_signal(signal.SIGINT)
        for run in runs:
            self.assertEqual(run.wait(timeout=30), 4)
        return bound, [message.replace(str(runs[0].pid), "PID") for message in warned]

    @unittest.skipUnless(len(os.sched_getaffinity(0)) >= 2, "needs two CPUs")
    def test_two_runs_of_one_core_take_different_ones(self) -> None:
        for backend in ("process", *(["cgroup"] if CGROUPS else [])):
            with self.subTest(backend=backend):
                bound, warned = self.run_two(backend, 1)
                self.assertNotEqual(*bound)
                self.assertEqual(warned, [])

    def test_two_runs_that_need_the_same_cores_report_it(self) -> None:
        everything = len(os.sched_getaffinity(0))
        bound, warned = self.run_two("process", everything)
        self.assertEqual(*bound)
        self.assertEqual(warned, [f"CPUs {bound[0]} are also those of another run (process PID), so that both are slower; name fewer with 'cpus' in both files"])


if __name__ == "__main__":
    main()
