# SPDX-License-Identifier: BSL-1.0
"""The machine, the container or the login of a service ends, or the service is killed while it takes its jobs over: no job is lost, fails or runs twice."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

from faults_test import end_group, with_sum
from support import JOB, PATIENCE, RATION, ServiceTest

MAKES_NAMESPACES = os.geteuid() == 0 and subprocess.run(["unshare", "-mpf", "--mount-proc", "true"], capture_output=True, check=False).returncode == 0
BEGUN = 'echo begun >> "$PWD/$RATION_JOB"; '


def lives(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class RestartTest(ServiceTest):
    def submit_running(self, name: str, script: str, *options: str) -> str:
        label = self.submit("--name", name, *options, "--", "sh", "-c", BEGUN + script)
        self.wait_for((self.folder / label).exists)
        self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        return label

    def launches(self, label: str) -> int:
        return len((self.folder / label).read_text().splitlines())

    def record(self) -> dict:
        file, = self.state.glob(".ration/*/run.json")
        return json.loads(file.read_text())["run"]

    def change_record(self, change) -> None:
        file, = self.state.glob(".ration/*/run.json")
        run = self.record()
        change(run)
        file.write_text(with_sum(run))

    def until_end(self, *labels: str) -> None:
        (self.folder / "end").touch()
        for label in labels:
            self.ration("wait", label)
            self.assertEqual(self.job(label)["stage"], "COMPLETED")


WAITS = "until test -e end; do sleep 0.1; done"


class OfTheMachine(RestartTest):
    def test_a_record_and_ends_that_survive_it_fail_no_job(self) -> None:
        saved = self.submit_running("saved", f'touch "$RATION_CHECKPOINT/step"; {WAITS}')
        stopped = self.submit_running("stopped", f'touch "$RATION_CHECKPOINT/step"; {WAITS}')
        tried = self.submit_running("tried", WAITS, "--retries", "1")
        lost = self.submit_running("lost", WAITS)
        self.kill()
        for job in self.record()["jobs"]:
            end_group(job["pid"])
        (self.state / "ends" / f"{stopped}.1").write_text("killed 15\n")  # its recorder was quicker than the end of the machine
        self.change_record(lambda run: run.update(boot="00000000-0000-0000-0000-000000000000"))
        self.start()
        self.until_end(saved, stopped, tried)
        self.ration("wait", lost, code=1)
        self.assertEqual([self.launches(label) for label in (saved, stopped, tried, lost)], [2, 2, 2, 1])
        self.assertEqual(self.job(lost)["why"], "the machine or its container was restarted, and it has no checkpoint")
        self.assertEqual(len(list(self.state.glob(".ration/*"))), 1)

    def test_jobs_that_end_with_the_service_are_queued_again_from_their_checkpoints(self) -> None:
        """As by systemd, which ends the whole control group of a unit."""
        saved = self.submit_running("saved", f'touch "$RATION_CHECKPOINT/step"; {WAITS}')
        self.kill()
        for job in self.record()["jobs"]:
            end_group(job["pid"])
        self.start()
        self.until_end(saved)
        self.assertEqual(self.launches(saved), 2)

    @unittest.skipUnless(MAKES_NAMESPACES, "needs root, for a PID namespace")
    def test_of_a_container_too(self) -> None:
        self.kill()

        def container(*commands: str) -> None:
            """Ends with all its processes."""
            environment = dict(self.environment, R=RATION, S=str(self.state))
            serve = '"$R" serve --state "$S" --backend process > out & until grep -q ready out; do sleep 0.1; done; rm out; '
            subprocess.run(["unshare", "-pf", "--mount-proc", "--kill-child", "/bin/sh", "-c", serve + "; ".join(commands)], cwd=self.folder, env=environment,
                           capture_output=True, check=True, timeout=PATIENCE)
            shutil.rmtree(self.folder / "run" / "ration", ignore_errors=True)
        for words in ("--name saved", "--name tried --retries 1"):
            name = words.split()[1]
            script = (f"{BEGUN}test $(wc -l < $PWD/$RATION_JOB) = 2 && exit 0; " + ("touch $RATION_CHECKPOINT/step; " if name == "saved" else "") + "exec sleep 300")
            container(f"label=$(\"$R\" submit --state \"$S\" {words} -- sh -c '{script}')", "until test -e $label; do sleep 0.1; done; sleep 1.2")
        container('"$R" wait --state "$S" saved-1', '"$R" wait --state "$S" tried-2')
        self.start()
        for label in ("saved-1", "tried-2"):
            self.assertEqual(self.job(label)["stage"], "COMPLETED", self.job(label))
            self.assertEqual(self.launches(label), 2)

    @unittest.skipUnless(MAKES_NAMESPACES, "needs root, for a PID namespace")
    def test_a_service_does_not_start_beside_living_jobs_of_another_container(self) -> None:
        label = self.submit_running("lives", WAITS)
        self.kill()
        done = subprocess.run(["unshare", "-pf", "--mount-proc", "--kill-child", RATION, "serve", "--state", self.state], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("its jobs may run in another PID namespace: start the service there, or end them there", done.stderr)
        self.start()
        self.until_end(label)
        self.assertEqual(self.launches(label), 1)


class OfTheLogin(RestartTest):
    def test_jobs_are_taken_over_without_the_runtime_folder(self) -> None:
        label = self.submit_running("stays", WAITS)
        shutil.rmtree(self.folder / "run")
        self.kill()
        (self.folder / "run").mkdir(mode=0o700)
        self.start()
        self.assertEqual(self.job(label)["stage"], "PROCESSING")
        self.assertIn(f"{self.state}", subprocess.run([RATION, "list"], env=self.environment, capture_output=True, text=True, check=True).stdout)
        self.until_end(label)
        self.assertEqual(self.launches(label), 1)

    def test_another_runtime_folder_is_as_good(self) -> None:
        label = self.submit_running("stays", WAITS)
        self.kill()
        (self.folder / "other").mkdir(mode=0o700)
        self.environment["XDG_RUNTIME_DIR"] = str(self.folder / "other")
        self.start()
        self.assertEqual(self.job(label)["stage"], "PROCESSING")
        self.until_end(label)
        self.assertEqual(self.launches(label), 1)

    def test_a_runtime_folder_that_is_taken_keeps_no_service_from_starting(self) -> None:
        self.kill()
        shutil.rmtree(self.folder / "run" / "ration")
        (self.folder / "run" / "ration").touch()
        self.start()
        self.ration("wait", self.submit("--name", "runs", "--", "true"))


class OfTheRecord(RestartTest):
    def test_processes_without_a_record_end_before_their_job_is_launched_again(self) -> None:
        self.kill()
        (self.folder / "config.toml").write_text('policy = "drf"\ndevices = { count = 2, cpu = 0.25 }\n')
        self.start("--config", str(self.folder / "config.toml"))
        label = self.submit_running("saved", f'touch "$RATION_CHECKPOINT/step"; {WAITS}')
        (self.folder / "own.toml").write_text(JOB.replace('["true"]', json.dumps(["sh", "-c", f'{BEGUN}touch "$RATION_CHECKPOINT/step"; {WAITS}']))
                                              + 'checkpoint = "own"\nbounds = { gpu = 1 }\n')
        own = self.submit(str(self.folder / "own.toml"))
        self.wait_for(lambda: self.job(own)["stage"] == "PROCESSING")
        pids = [job["pid"] for job in self.record()["jobs"]]
        self.assertEqual(len(pids), 2)
        self.kill()
        shutil.rmtree(self.state / ".ration")
        shutil.rmtree(self.folder / "run")
        (self.folder / "run").mkdir(mode=0o700)
        self.start("--config", str(self.folder / "config.toml"))
        self.wait_for(lambda: self.launches(label) == self.launches(own) == 2)
        self.assertFalse([pid for pid in pids if lives(pid)])
        self.until_end(label, own)

    def test_ends_of_jobs_that_are_over_are_removed(self) -> None:
        label = self.submit("--name", "done", "--", "true")
        self.ration("wait", label)
        self.kill()
        for name in (f"{label}.1", f"{label}.1.new", "unknown-77.1"):
            (self.state / "ends" / name).write_text("exited 1\n")
        self.start()
        self.assertEqual([file.name for file in (self.state / "ends").iterdir()], ["unknown-77.1"])
        self.assertEqual(self.job(label)["stage"], "COMPLETED")


class OfTheTakeover(RestartTest):
    """The service is killed at each call of a takeover that changes its record, after one of its jobs has ended unseen."""
    POINTS = [("rename run.json", 1), ("write run.json.new", 1), ("rename run.json", 2)]

    def test_a_kill_during_it_launches_no_job_twice(self) -> None:
        for name, number in self.POINTS:
            with self.subTest(f"{name} {number}"):
                for file in (self.folder / "end", self.folder / "first"):
                    file.unlink(missing_ok=True)
                first = self.submit_running("first", "until test -e first; do sleep 0.05; done")
                others = [self.submit_running(f"other{i}", WAITS) for i in range(3)]
                self.kill()
                (self.folder / "first").touch()
                self.wait_for((self.state / "ends" / f"{first}.1").exists)
                self.crash(f"{name}#{number}")
                self.start()
                time.sleep(0.5)
                self.until_end(first, *others)
                self.assertEqual([self.launches(label) for label in (first, *others)], [1, 1, 1, 1])

    def test_the_end_of_a_job_with_devices_that_no_service_saw_counts(self) -> None:
        self.kill()
        (self.folder / "service.toml").write_text('policy = "loss_delta_ratio"\ndevices = { count = 1, cpu = 0.2 }\ntick = "50ms"\n')
        for code, stage in ((0, "COMPLETED"), (3, "FAILED")):
            with self.subTest(stage):
                (self.folder / "end").unlink(missing_ok=True)
                self.start("--config", str(self.folder / "service.toml"))
                command = ["sh", "-c", f"{BEGUN}{WAITS}; exit {code}"]
                job = f'[[job]]\nname = "d"\ncommand = {json.dumps(command)}\ntarget = {{ loss = {{ objective = 0 }} }}\nbounds = {{ gpu = 1 }}\n'
                (self.folder / "d.toml").write_text(job)
                label = self.submit(str(self.folder / "d.toml"))
                self.wait_for((self.folder / label).exists)
                self.kill()
                (self.folder / "end").touch()
                self.wait_for((self.state / "ends" / f"{label}.1").exists)
                self.start("--config", str(self.folder / "service.toml"))
                self.wait_for(lambda label=label: self.job(label)["stage"] in ("COMPLETED", "FAILED"))
                self.assertEqual((self.job(label)["stage"], self.job(label)["exit_code"], self.launches(label)), (stage, code, 1))
                self.kill()
        self.start()

    def crash(self, point: str) -> None:
        environment = dict(self.environment, LD_PRELOAD=os.environ["RATION_CRASH_POINTS"], RATION_CRASH_AT=point)
        service = subprocess.Popen([RATION, "serve", "--state", self.state, "--backend", "process"], cwd=self.folder, env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertEqual(service.wait(timeout=PATIENCE), -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
