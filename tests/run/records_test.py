# SPDX-License-Identifier: BSL-1.0
"""What a later start believes of the records that it finds: those of another user, of another PID namespace, of a run that lives, of one that was
killed in the middle of a launch. No process is signalled or reattached that is not proved to be the job's, and none of a job is overlooked."""
import json
import os
import pathlib
import subprocess
import unittest

from support import PATIENCE, RATION, RunTest, alive, crash_at, groups, has_cgroups, job, main, of, signal

# Root in a container may lack the right, and "/" of a chroot is not a mount point.
MAKES_NAMESPACES = os.geteuid() == 0 and subprocess.run(["unshare", "-mpf", "--mount-proc", "true"], capture_output=True, check=False).returncode == 0
BACKENDS = ["process"] + (["cgroup"] if has_cgroups() else [])
LEAVES_A_CHILD = ["/bin/sh", "-c", "sleep 300 & echo $! > child.new; mv child.new child; sleep 0.7"]


def start_time(pid: int) -> int:
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])


class RecordsTest(RunTest):
    def end_with_test(self, pid: int) -> None:
        self.addCleanup(lambda: alive(pid) and os.kill(pid, signal.SIGKILL))

    def bystander(self) -> subprocess.Popen:
        process = subprocess.Popen(["sleep", "300"])
        self.addCleanup(self.end, process)
        return process

    def killed_run(self, *arguments: str) -> subprocess.Popen:
        """A run that was killed when its record named its jobs' processes."""
        run = self.start(*arguments)
        self.wait_for(lambda: list((self.folder / "ration").glob("*/record/run.json")) and '"pid":0' not in self.record().read_text()
                      and '"pid":' in self.record().read_text())
        run.kill()
        run.communicate()
        return run

    def clean(self, *arguments: str, code: int = 0, **options) -> str:
        done = subprocess.run([RATION, "clean", *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def recorded_pid(self) -> int:
        return json.loads(self.record().read_text())["run"]["jobs"][0]["pid"]

    def folders(self) -> list[pathlib.Path]:
        return [one for one in (self.folder / "ration").glob("*") if one.is_dir()]


@unittest.skipUnless(MAKES_NAMESPACES, "needs root, for a mount namespace and another user")
class OfAnotherUser(RecordsTest):
    NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups"

    def setUp(self) -> None:
        super().setUp()
        if RATION.startswith("/tmp/"):
            self.skipTest("the program is below /tmp, which this test covers")

    def forge(self) -> subprocess.Popen:
        """Writes forged.json, a good record in which a process that has nothing to do with ration is the job."""
        self.write(job("x", ["sleep", "0.2"]))
        self.killed_run()
        victim = self.bystander()
        self.change(lambda run: (run["jobs"][0].update(pid=victim.pid, start_time=start_time(victim.pid)), run.update(owner=999999)))
        (self.folder / "forged.json").write_bytes(self.record().read_bytes())
        subprocess.run(["rm", "-rf", str(self.folder / "ration"), str(self.folder / "ration-output")], check=True)
        return victim

    def attack(self, made: str, tell: str, why: str) -> None:
        victim = self.forge()
        commands = " ".join(f"{RATION} {words}; echo {words.split()[0]} $?;" for words in ("clean", "run jobs.toml", "run jobs.toml --reattach"))
        script = f"mount -t tmpfs -o mode=1777 tmpfs /tmp && {made}; exec 2>&1; {commands}"
        done = subprocess.run(["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script], cwd=self.folder, capture_output=True, text=True,
                              check=False, env={key: value for key, value in self.environment.items() if key != "XDG_RUNTIME_DIR"}, timeout=60)
        self.assertTrue(alive(victim.pid), f"a foreign process was killed\n{done.stdout}{done.stderr}")
        self.assertEqual([line for line in done.stdout.splitlines() if line.split()[:1] in (["clean"], ["run"])], ["clean 0", "run 0", "run 0"], done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(f"ration: warning: use folder {tell}: permission denied; {why}\n"), 2, done.stdout)
        self.assertEqual(done.stdout.count("ration: warning: the sockets of this run are in /"), 2, done.stdout)

    def test_a_folder_that_another_user_made(self) -> None:
        for mode in ("755", "700", "777"):
            self.attack(f"{self.NOBODY} /bin/sh -c 'mkdir -p /tmp/ration-0/9-0123456789abcdef; cat > /tmp/ration-0/9-0123456789abcdef/run.json; chmod -R {mode} /tmp/ration-0' "
                        "< forged.json", "/tmp/ration-0", "it belongs to another user: use a folder of your own")

    def test_a_link_that_another_user_made(self) -> None:
        self.attack("mkdir -p -m 700 /tmp/own/9-0123456789abcdef; cp forged.json /tmp/own/9-0123456789abcdef/run.json; "
                    f"{self.NOBODY} ln -s /tmp/own /tmp/ration-0", "/tmp/ration-0", "it is a symbolic link: name the folder to which it leads")

    def test_a_folder_below_one_of_another_user(self) -> None:
        self.attack(f"{self.NOBODY} mkdir /tmp/his; mkdir -p -m 700 /tmp/his/rt/ration/9-0123456789abcdef; chmod 700 /tmp/his/rt; "
                    "cp forged.json /tmp/his/rt/ration/9-0123456789abcdef/run.json; export XDG_RUNTIME_DIR=/tmp/his/rt", "/tmp/his", "it belongs to another user: use a folder of your own")

    def test_a_link_of_ones_own_is_followed(self) -> None:
        (self.folder / "link").symlink_to(self.folder)
        self.environment["XDG_RUNTIME_DIR"] = str(self.folder / "link")
        self.write(job("x", ["true"]))
        done = self.run_jobs()
        self.assertEqual(done.returncode, 0, done.stderr)


class WithoutProof(RecordsTest):
    def test_a_process_without_the_token_is_neither_signalled_nor_adopted(self) -> None:
        for backend in BACKENDS:
            with self.subTest(backend):
                self.write(job("x", ["sleep", "0.2"]))
                self.killed_run("--backend", backend)
                self.wait_for(lambda: not alive(self.recorded_pid()))
                victim = self.bystander()
                self.change(lambda run: run["jobs"][0].update(pid=victim.pid, start_time=start_time(victim.pid)))
                for words in ((), ("--reattach",)):
                    done = self.run_jobs(*words, "--backend", backend)
                    self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                    self.assertIn(f"x (process {victim.pid}, unless that is another program)", done.stderr)
                self.assertIn(f"left x (process {victim.pid}) alone: its environment lacks the job's token", self.clean())
                self.assertTrue(alive(victim.pid), "a foreign process was killed")
                self.assertEqual(self.folders(), [])

    def test_a_job_that_cleared_its_environment(self) -> None:
        for backend in BACKENDS:
            with self.subTest(backend):
                self.write(job("x", ["env", "-i", "sleep", "300"]))
                self.killed_run("--backend", backend)
                pid = self.recorded_pid()
                self.end_with_test(pid)
                self.assertIn("left x" if backend == "process" else f"ended x (process {pid})", self.clean())
                self.assertEqual(alive(pid), backend == "process", "only its group proves that it is the job")


class OfALivingRun(RecordsTest):
    def start_until_stopped(self) -> subprocess.Popen:
        self.write(job("x", ["sleep", "600"]))
        run = self.start()
        self.wait_for(lambda: list((self.folder / "ration").glob("*/record/run.json")))
        return run

    def stop(self, run: subprocess.Popen) -> None:
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=PATIENCE), 4)

    def test_the_lock_of_its_folder_says_that_it_lives(self) -> None:
        run = self.start_until_stopped()
        self.change(lambda record: record.update(owner=999999, owner_start_time=1))
        self.assertEqual(self.clean(), "nothing was left behind\n")
        self.assertEqual(len(self.folders()), 1)
        self.stop(run)

    @unittest.skipUnless(MAKES_NAMESPACES, "needs root, for a PID namespace")
    def test_a_run_in_another_pid_namespace_leaves_it_alone(self) -> None:
        elsewhere = ["unshare", "-pf", "--mount-proc", RATION]
        (self.folder / "other").mkdir()
        (self.folder / "other" / "jobs.toml").write_text('policy = "none"\ncpus = 1\n' + job("y", ["true"]))
        run = self.start_until_stopped()
        before = self.folders()
        for words, folder in (("clean",), self.folder), (("run", "jobs.toml", "--quiet"), self.folder / "other"):
            done = subprocess.run([*elsewhere, *words], cwd=folder, env=self.environment, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(self.folders(), before, "the folder of a living run was removed")
        self.stop(run)

    @unittest.skipUnless(MAKES_NAMESPACES, "needs root, for a PID namespace")
    def test_a_killed_run_is_judged_where_its_processes_can_be_seen(self) -> None:
        self.write(job("x", ["sleep", "300"]))
        self.killed_run()
        pid = self.recorded_pid()
        self.end_with_test(pid)
        said = subprocess.run(["unshare", "-pf", "--mount-proc", RATION, "clean"], env=self.environment, capture_output=True, text=True, check=True).stdout
        self.assertIn("belongs to another PID namespace", said)
        self.assertTrue(alive(pid) and self.folders())
        self.assertIn(f"ended x (process {pid})", self.clean())
        self.assertFalse(alive(pid) or self.folders())


class KilledInALaunch(RecordsTest):
    POINTS = [("rename run.json", 1), ("fsync RUN", 1), ("clone", 1), ("send gate", 1), ("rename run.json", 2), ("fsync RUN", 2)]

    def test_no_job_is_started_twice_or_lost(self) -> None:
        for backend in BACKENDS:
            for name, number in self.POINTS + ([("write cgroup.procs", 1)] if backend == "cgroup" else []):
                with self.subTest(f"{backend} {name} {number}"):
                    self.kill_and_adopt(backend, name, number)

    def kill_and_adopt(self, backend: str, name: str, number: int) -> None:
        for file in (*self.folder.glob("starts.*"), *self.folder.glob("ends.*")):
            file.unlink()
        self.write(*(job(one, ["/bin/sh", "-c", f"echo $$ >> starts.{one}; sleep 1; echo >> ends.{one}"]) for one in "ab"))
        run = self.start("--backend", backend, env=crash_at(self.environment, name, number))
        run.communicate(timeout=30)
        self.assertEqual(run.returncode, -signal.SIGKILL, "the point was not reached")
        done = self.run_jobs("--reattach", "--backend", backend)
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)  # 1: a job ended while no ration was there to see how
        self.wait_for(lambda: all((self.folder / f"ends.{one}").exists() for one in "ab"))
        counts = {one: len((self.folder / f"starts.{one}").read_text().splitlines()) for one in "ab"}
        self.assertEqual(counts, {"a": 1, "b": 1}, done.stdout + done.stderr)
        self.assertEqual(self.folders(), [])
        self.assertEqual(groups(run), [])

    def test_a_job_that_ended_before_it_was_written_down_is_not_started_again(self) -> None:
        self.write(job("a", ["/bin/sh", "-c", "echo $$ >> starts.a"]))
        run = self.start(env=crash_at(self.environment, "rename run.json", 2))
        run.communicate(timeout=30)
        pid = int(self.wait_for(lambda: (self.folder / "starts.a").exists() and (self.folder / "starts.a").read_text()))
        self.wait_for(lambda: not alive(pid))
        done = self.run_jobs("--reattach")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(len((self.folder / "starts.a").read_text().splitlines()), 1)


class AfterTheFirstProcess(RecordsTest):
    """The first process of a job ends after ration was killed, and a child of it lives on."""

    def killed_with_a_child(self, backend: str) -> int:
        (self.folder / "child").unlink(missing_ok=True)
        self.write(job("x", LEAVES_A_CHILD))
        self.killed_run("--backend", backend)
        first = self.recorded_pid()
        child = int(self.wait_for(lambda: (self.folder / "child").exists() and (self.folder / "child").read_text()))
        self.end_with_test(child)
        self.wait_for(lambda: not alive(first))
        self.assertTrue(alive(child))
        return child

    def test_the_next_run_names_it(self) -> None:
        for backend in BACKENDS:
            with self.subTest(backend):
                child = self.killed_with_a_child(backend)
                done = self.run_jobs("--backend", backend)
                self.assertEqual(done.returncode, 3, done.stdout)
                self.assertIn(f"x (process {child}, which its first process left)", done.stderr)
                self.assertIn(f"ended x (process {child}, which its first process left)", self.clean())
                self.assertFalse(alive(child))
                self.assertEqual(self.folders(), [])

    def test_adopt_names_and_ends_it(self) -> None:
        for backend in BACKENDS:
            with self.subTest(backend):
                child = self.killed_with_a_child(backend)
                done = self.run_jobs("--reattach", "--backend", backend, "--log", "log.jsonl")
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn(f"ended process {child}, which its first process left running", "".join(e["message"] for e in of(self.events(), "warning")))
                self.assertFalse(alive(child))
                self.assertEqual(self.clean(), "nothing was left behind\n")


if __name__ == "__main__":
    main()
