# SPDX-License-Identifier: BSL-1.0
"""A service on a disk that is slow, that fails, or that loses its power."""
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import threading
import unittest

from support import JOB, RATION, ServiceTest

UNTIL = "until test -e {}; do sleep 0.02; done"


class Disk(ServiceTest):
    """RATION_TEST_DISK is preloaded, and lets a test hold, fail and look at the disk."""

    def start(self, *options: str, backend: str = "process", user: int | None = None) -> None:
        self.disk = self.folder / "disk"
        self.disk.mkdir(exist_ok=True)
        before = dict(self.environment)
        self.environment |= {"LD_PRELOAD": os.environ["RATION_TEST_DISK"], "RATION_DISK": str(self.disk)}
        super().start(*options, backend=backend, user=user)
        self.environment = before

    @contextlib.contextmanager
    def state_of(self, what: str):
        (self.disk / what).touch()
        try:
            yield
        finally:
            (self.disk / what).unlink(missing_ok=True)

    def post(self, key: str, *command: str, **more: object) -> tuple[int, dict]:
        definition = JOB.replace('["true"]', json.dumps(command))
        return self.ask("POST", "/v1/jobs", json.dumps({"key": key, "definition": definition, "directory": str(self.folder), "environment": [f"PATH={os.environ['PATH']}"]} | more))

    def later(self, call, *words: object) -> list:
        """Gets the answer to a request in a separate thread."""
        answers: list = []
        thread = threading.Thread(target=lambda: answers.append(call(*words)), daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        return answers

    def stages(self) -> list[str]:
        status, content = self.ask("GET", "/v1/jobs")
        self.assertEqual(status, 200)
        return [job["stage"] for job in content["jobs"]]

    def held(self) -> bool:
        return (self.disk / "waits").exists()

    def left_by_power_cut(self, folder: pathlib.Path | None = None) -> list[dict]:
        """The jobs that a loss of power would leave now, or that it would have left when these copies were made."""
        with contextlib.ExitStack() as stack:
            copy = self.folder / "copy"
            shutil.copytree(folder or (self.disk / "power_cut").resolve(), copy)
            stack.callback(shutil.rmtree, copy)
            jobs = stack.enter_context(contextlib.closing(sqlite3.connect(copy / "jobs.db")))
            jobs.row_factory = sqlite3.Row
            self.assertEqual(jobs.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            if not jobs.execute("SELECT 1 FROM sqlite_master WHERE name = 'submissions'").fetchone():
                return []
            return [dict(row) for row in jobs.execute("SELECT id, stage, incarnation, cancelled, paused, exit_code FROM submissions ORDER BY id")]

    def test_everything_else_goes_on_while_the_disk_is_held(self) -> None:
        self.assertEqual(self.post("limited", "sh", "-c", "trap 'touch stopped; exit 1' TERM; touch begun; while :; do sleep 0.05; done", time_limit_ms=2000)[0], 201)
        self.wait_for((self.folder / "begun").exists)
        with self.state_of("hold"):
            answers = self.later(self.post, "second", "touch", "second")
            self.wait_for(self.held)
            cancelled = self.later(self.ask, "DELETE", "/v1/jobs/1")  # waits for its turn
            for _ in range(10):
                self.assertEqual(len(self.stages()), 1)  # the second one is not durable
                self.assertEqual(self.ask("GET", "/v1/jobs/1")[1]["stage"], self.stages()[0])
                self.assertEqual(self.ask("GET", "/v1/running")[1]["jobs"][0]["label"], "a-1")
                self.assertEqual(self.ask("GET", "/v1/service")[0], 200)
            self.wait_for((self.folder / "stopped").exists)  # its time limit
            self.wait_for(lambda: not self.ask("GET", "/v1/running")[1]["jobs"])
            self.assertEqual(answers + cancelled, [])
        self.wait_for(lambda: answers and cancelled)
        self.assertEqual((answers[0][0], answers[0][1]["label"], cancelled[0][0] < 300), (201, "a-2", True))
        self.wait_for(lambda: self.stages() == [self.stages()[0], "COMPLETED"])
        self.assertTrue((self.folder / "second").exists())

    def test_a_kill_while_the_disk_is_held_loses_nothing_that_was_confirmed(self) -> None:
        labels = [self.post(key, "sh", "-c", f"echo x >> ran.{key}; " + UNTIL.format("end"))[1]["label"] for key in ("a", "b")]
        self.wait_for(lambda: self.stages() == ["PROCESSING"] * 2)
        with self.state_of("hold"):
            answers = self.later(self.post_or_nothing, "c")
            self.wait_for(self.held)
            self.kill()
        self.start()
        self.wait_for(lambda: answers == [None])
        self.assertEqual(self.post("c", "sh", "-c", "echo x >> ran.c")[1]["label"], "a-3")  # the same one if the list has it
        (self.folder / "end").touch()
        for label in (*labels, "a-3"):
            self.ration("wait", label)
        self.assertEqual([(self.folder / f"ran.{key}").read_text() for key in "abc"], ["x\n"] * 3)

    def post_or_nothing(self, key: str) -> tuple[int, dict] | None:
        try:
            return self.post(key, "sh", "-c", f"echo x >> ran.{key}")
        except (OSError, ValueError):
            return None

    def test_processes_start_only_once_what_they_follow_is_on_the_disk(self) -> None:
        copy = f"cp -rL {self.disk}/power_cut seen.$0"
        (self.folder / "serve.toml").write_text(f"on_end = {json.dumps(['sh', '-c', copy + '.new; mv seen.$0.new seen.$0', 'end'])}\n")
        self.kill()
        self.start("--config", str(self.folder / "serve.toml"))
        (self.disk / "slow").touch()
        self.assertEqual(self.post("1", "sh", "-c", copy, "launch")[0], 201)
        self.wait_for((self.folder / "seen.end").exists)
        for name, stage in (("launch", "DEPLOYING"), ("end", "COMPLETED")):
            job, = self.left_by_power_cut(self.folder / f"seen.{name}")
            self.assertEqual((job["stage"], job["incarnation"]), (stage, 1))

    def test_a_disk_that_fails_costs_the_changes_of_that_time_alone(self) -> None:
        runs = self.post("runs", "sh", "-c", "echo x >> ran; " + UNTIL.format("end"))[1]["label"]
        waits = self.post("waits", "sh", "-c", "echo x >> later", after=[1])[1]["label"]
        self.wait_for(lambda: self.stages() == ["PROCESSING", "QUEUED"])
        with self.state_of("fail"):
            status, answer = self.post("refused", "touch", "refused")
            self.assertEqual((status, answer["error"].partition(": ")[2]), (503, "input/output error; check its disk"))
            self.assertEqual(self.ask("POST", "/v1/jobs/2/pause")[0], 503)
            (self.folder / "end").touch()
            self.assertEqual(self.post("refused", "touch", "refused")[0], 503)
            self.assertEqual(self.stages(), ["PROCESSING", "QUEUED"])
        for label in (runs, waits):
            self.ration("wait", label)
        self.assertEqual([(self.folder / name).read_text() for name in ("ran", "later")], ["x\n"] * 2)
        self.assertEqual(self.post("accepted", "touch", "accepted")[1]["label"], "a-3")
        self.ration("wait", "a-3")
        self.assertFalse((self.folder / "refused").exists())
        self.assertEqual([job["stage"] for job in self.left_by_power_cut()], ["COMPLETED"] * 3)

    def test_a_loss_of_power_at_any_time_leaves_what_was_confirmed(self) -> None:
        self.kill()
        self.start("--max-running", "2")
        confirmed: dict[int, dict] = {}

        def check(number: int, **wanted: object) -> None:
            confirmed.setdefault(number, {}).update(wanted)
            left = {job["id"]: job for job in self.left_by_power_cut()}
            for job, row in confirmed.items():
                self.assertEqual({name: left[job][name] for name in row}, row)
        for number in range(1, 9):
            self.assertEqual(self.post(str(number), "sh", "-c", f"test {number} -gt 4 || exit 0; exec sleep 60")[1]["id"], number)
            check(number, id=number)
        for number in range(1, 5):
            self.ration("wait", f"a-{number}")
            check(number, stage="COMPLETED", exit_code=0)
        self.assertLess(self.ask("DELETE", "/v1/jobs/8")[0], 300)
        check(8, cancelled=1, stage="HALTED")
        self.assertLess(self.ask("POST", "/v1/jobs/7/pause")[0], 300)
        check(7, paused=1)
        copies = sorted((path for path in self.disk.iterdir() if path.name.isdigit() and (path / "jobs.db").exists()), key=lambda path: int(path.name))
        for copy in copies:
            self.left_by_power_cut(copy)  # is sound
        self.kill()
        for name in ("jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db.confirmed"):
            (self.state / name).unlink(missing_ok=True)
        for left in (self.disk / "power_cut").resolve().iterdir():
            if left.name.startswith("jobs.db"):
                shutil.copy(left, self.state / left.name)
        self.start("--max-running", "2")
        for number in (5, 6, 7):
            self.ration("cancel", f"a-{number}")
        self.wait_for(lambda: self.stages() == ["COMPLETED"] * 4 + ["HALTED"] * 4)
        self.assertEqual(self.post("9", "true")[1]["id"], 9)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
