# SPDX-License-Identifier: BSL-1.0
"""A service whose files are damaged or removed, or whose disk is full."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import unittest

from support import JOB, PATIENCE, RATION, ServiceTest, send


def with_sum(run: dict) -> str:
    """The text of a record."""
    text, total = json.dumps(run, sort_keys=True, separators=(",", ":"), ensure_ascii=False), 0xcbf29ce484222325
    for byte in text.encode():
        total = (total ^ byte) * 0x100000001b3 % 2**64
    return f'{{"run":{text},"sum":"{total:016x}"}}'


def end_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


class Files(ServiceTest):
    def test_a_damaged_list_stops_a_start_and_leaves_the_jobs_alone(self) -> None:
        label = self.submit("--name", "lives", "--", "sh", "-c", "sleep 3; touch lived")
        self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        self.kill()
        (self.state / "jobs.db").write_bytes(b"x" * 8192)
        for name in ("jobs.db-wal", "jobs.db-shm"):
            (self.state / name).unlink(missing_ok=True)
        done = subprocess.run([RATION, "serve", "--state", self.state], env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("the file is damaged: remove it with its files -wal and -shm, and put its backup, .backup, in its place", done.stderr)
        self.assertIn("jobs/ has the files of 1 job, up to number 1, and ends/ has 0 ends", done.stderr)
        self.assertTrue((self.state / "jobs.db.backup").exists())
        self.wait_for((self.folder / "lived").exists)

    def test_a_state_folder_that_cannot_be_used_is_named_with_its_cause(self) -> None:
        long = self.folder / ("l" * 100)
        (self.folder / "open").mkdir()
        (self.folder / "open").chmod(0o755)
        (self.folder / "link").symlink_to(self.folder / "open")
        (self.folder / "file").touch()
        (self.folder / "shared").mkdir()
        (self.folder / "shared").chmod(0o777)
        for state, why in (("open", f"use folder {self.folder}/open: permission denied; other users have rights to it: chmod 700 it"),
                           ("link", f"use folder {self.folder}/link: permission denied; it is a symbolic link: name the folder to which it leads"),
                           ("file", f"use folder {self.folder}/file: permission denied; it is not a folder: remove it, or name another one"),
                           ("file/state", f"make folder {self.folder}/file: not found (Not a directory); a file is in its place or on its way: move that file"),
                           ("shared/state", f"use folder {self.folder}/shared: permission denied; other users may write to it: chmod go-w it"),
                           (long, "out of range; the path of a socket has at most 107 bytes: choose a shorter folder")):
            done = subprocess.run([RATION, "serve", "--state", state], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertTrue(done.stderr.endswith(why + "\n"), done.stderr)
        (self.folder / "open").chmod(0o700)
        self.kill()
        self.state = self.folder / "open"
        self.start()

    def warnings(self) -> str:
        """Those of the service, which ends."""
        self.service.kill()
        return self.service.communicate()[1]

    def test_a_new_list_is_reported_its_numbers_are_new_and_a_better_backup_is_kept(self) -> None:
        for name in ("first", "second"):
            self.ration("wait", self.submit("--name", name, "--", "sh", "-c", 'echo "model of $RATION_JOB" > $RATION_CHECKPOINT/model'))
        self.kill(signal.SIGTERM)
        self.assertEqual((self.state / "jobs.db-wal").stat().st_size, 0)
        self.start()  # makes the backup
        self.ration("wait", self.submit("--name", "third", "--", "true"))
        self.kill()
        for name in ("jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db.confirmed"):
            (self.state / name).unlink(missing_ok=True)
        (self.state / "ends" / "lost-9.1").touch()
        self.start()
        label = self.submit("--name", "first", "--", "sh", "-c", "cat $RATION_CHECKPOINT/model")
        self.assertEqual(label, "first-10")
        self.ration("wait", label, code=1)
        said = self.warnings()
        self.assertIn("the list is new, while jobs/ has the files of 3 jobs, up to number 9, and ends/ has ", said)
        self.assertIn("jobs.db.backup: it has 2 jobs that the list lacks, and is kept", said)
        for name in ("jobs.db-wal", "jobs.db-shm"):
            (self.state / name).unlink(missing_ok=True)
        shutil.copy(self.state / "jobs.db.backup", self.state / "jobs.db")  # as in docs/serve.md
        self.start()
        self.assertEqual([job["label"] for job in json.loads(self.ration("status", "--json"))["jobs"]], ["first-1", "second-2"])
        self.assertEqual(self.submit("--name", "first", "--", "true"), "first-11")
        self.assertNotIn("that the list lacks", self.warnings())
        self.assertEqual((self.state / "jobs" / "first-1.checkpoint" / "model").read_text(), "model of first-1\n")

    def test_a_damaged_log_of_the_list_takes_no_job_with_it(self) -> None:
        self.kill()
        self.start("--max-running", "1")
        labels = [self.submit("--", "sleep", "60") for _ in range(3)]
        self.wait_for(lambda: self.job(labels[0])["stage"] == "PROCESSING")
        self.kill()
        with open(self.state / "jobs.db-wal", "r+b") as log:
            log.seek(4096)
            log.write(bytes(8192))
        self.start("--max-running", "1")
        self.assertEqual([job["label"] for job in json.loads(self.ration("status", "--json"))["jobs"]], labels)

    def test_a_job_in_an_unknown_stage_is_named_and_the_others_live(self) -> None:
        old = self.submit("--name", "old", "--", "true")
        self.ration("wait", old)
        lives = self.submit("--name", "lives", "--", "sh", "-c", "until test -e end; do sleep 0.1; done")
        after = self.submit("--name", "after", "--after", old, "--", "true")
        self.ration("wait", after)
        self.wait_for(lambda: self.job(lives)["stage"] == "PROCESSING")
        self.kill()
        with contextlib.closing(sqlite3.connect(self.state / "jobs.db")) as jobs, jobs:
            jobs.execute("UPDATE submissions SET stage = 'LATER' WHERE id IN (1, 2)")
        self.start()
        self.assertEqual([job["label"] for job in json.loads(self.ration("status", "--json"))["jobs"]], [lives, after])
        self.assertEqual(self.ask("GET", "/v1/jobs/1")[0], 500)
        self.ration("cancel", self.submit("--name", "other", "--", "sleep", "60"))
        (self.folder / "end").touch()
        self.ration("wait", lives)
        self.assertEqual(self.job(lives)["incarnation"], 1)
        self.assertIn("job old-1: its stage 'LATER' is unknown", self.warnings())


    def refusal(self) -> str:
        done = subprocess.run([RATION, "serve", "--state", self.state], env=self.environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual(done.returncode, 3)
        return done.stderr.partition(": busy; ")[2]

    def test_a_process_without_its_token_is_left_alone_and_named(self) -> None:
        for name in ("first", "second"):
            label = self.submit("--name", name, "--", "sleep", "60")
            self.wait_for(lambda label=label: self.job(label)["stage"] == "PROCESSING")
        self.kill()
        record, = self.state.glob(".ration/*/run.json")
        run = json.loads(record.read_text())["run"]
        jobs = {job["name"]: job for job in run["jobs"]}
        for job in jobs.values():
            self.addCleanup(end_group, job["pid"])
        jobs["first-1"]["token"] = "0" * 16
        record.write_text(with_sum(run))
        self.assertEqual(self.refusal(), "a process lacks its job's token: end it yourself\n")  # ration clean leaves the other one alone
        end_group(jobs["second-2"]["pid"])
        self.wait_for(lambda: "forget it with ration clean" in self.refusal())

    def test_after_a_restart_of_the_machine_a_job_with_a_checkpoint_or_a_retry_runs_again(self) -> None:
        self.restart_machine(lambda record: shutil.rmtree(self.state / ".ration"))

    def test_a_record_that_a_loss_of_power_has_emptied_is_none(self) -> None:
        self.restart_machine(lambda record: record.write_bytes(b""))

    def restart_machine(self, lose) -> None:
        first = 'test -e "$RATION_CHECKPOINT/../$RATION_JOB.began" && exit 0; touch "$RATION_CHECKPOINT/../$RATION_JOB.began"; '
        saved = self.submit("--name", "saved", "--", "sh", "-c", first + 'touch "$RATION_CHECKPOINT/step"; exec sleep 60')
        tried = self.submit("--name", "tried", "--retries", "1", "--", "sh", "-c", first + "exec sleep 60")
        lost = self.submit("--name", "lost", "--", "sh", "-c", first + "exec sleep 60")
        queued = self.submit("--name", "queued", "--after", saved, "--", "true")
        for label in (saved, tried, lost):
            self.wait_for(lambda label=label: self.job(label)["stage"] == "PROCESSING")
        self.kill()
        # A restart ends all processes, and removes what files in memory have of them
        record, = self.state.glob(".ration/*/run.json")
        for job in json.loads(record.read_text())["run"]["jobs"]:
            end_group(job["pid"])
        lose(record)
        shutil.rmtree(self.folder / "run" / "ration")
        with contextlib.closing(sqlite3.connect(self.state / "jobs.db")) as jobs, jobs:
            jobs.execute("UPDATE incarnations SET boot = 'earlier'")
        self.start()
        shutil.rmtree(record.parent, ignore_errors=True)
        for label, launches in ((saved, 2), (tried, 2), (queued, 1)):
            self.ration("wait", label)
            self.assertEqual((self.job(label)["stage"], self.job(label)["incarnation"]), ("COMPLETED", launches))
        self.ration("wait", lost, code=1)
        self.assertEqual((self.job(lost)["stage"], self.job(lost)["why"]), ("FAILED", "the machine or its container was restarted, and it has no checkpoint"))

    def test_while_another_program_writes_to_the_list_everything_else_goes_on(self) -> None:
        def post() -> None:
            definition = JOB.replace('["true"]', json.dumps(["touch", str(self.folder / "second")]))
            answers.append(self.ask("POST", "/v1/jobs", json.dumps({"key": "k", "definition": definition, "directory": "/", "environment": [f"PATH={os.environ['PATH']}"]}))[0])
        answers: list[int] = []
        label = self.submit("--time-limit", "2s", "--", "sh", "-c", f"trap 'touch {self.folder}/stopped; exit 1' TERM; touch {self.folder}/begun; while :; do sleep 0.1; done")
        self.wait_for((self.folder / "begun").exists)
        with contextlib.closing(sqlite3.connect(self.state / "jobs.db", isolation_level=None, timeout=PATIENCE)) as other:
            other.execute("BEGIN EXCLUSIVE")
            waiting = threading.Thread(target=post)
            waiting.start()
            self.wait_for((self.folder / "stopped").exists)  # its time limit
            for _ in range(10):
                self.assertEqual(self.ask("GET", "/v1/jobs")[1]["jobs"][0]["label"], label)
            self.assertEqual(answers, [])
            other.execute("ROLLBACK")
        waiting.join()
        self.assertEqual(answers, [201])
        self.wait_for((self.folder / "second").exists)
        self.wait_for(lambda: self.job(label)["stage"] == "FAILED")

    def test_a_socket_that_was_removed_comes_back(self) -> None:
        label = self.submit("--name", "runs", "--", "sh", "-c", "until test -e end; do sleep 0.1; done")
        self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        (self.state / "socket").unlink()
        self.wait_for((self.state / "socket").exists)
        self.assertEqual((self.state / "socket").stat().st_mode & 0o777, 0o666 if os.geteuid() == 0 else 0o600)
        (self.folder / "end").touch()
        self.ration("wait", self.submit("--name", "later", "--after", label, "--", "true"))
        self.assertEqual(self.job(label)["incarnation"], 1)
        (self.state / "socket").unlink()
        (self.state / "socket").write_text("of another program")
        time.sleep(1.2)
        self.assertEqual((self.state / "socket").read_text(), "of another program")


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "only root can mount a small disk")
class Full(ServiceTest):
    """The state folder is on a disk of 1 MiB, in a separate mount namespace."""
    MOUNT = 'mount -t tmpfs -o size=1m,mode=700 tmpfs "$0" && exec "$@"'

    def start(self, *options: str, backend: str = "process") -> None:
        disk = self.folder / "disk"
        disk.mkdir(exist_ok=True)
        self.state = disk / "state"
        self.service = subprocess.Popen(["unshare", "--mount", "sh", "-c", self.MOUNT, disk, RATION, "serve", "--state", self.state, "--backend", backend, *options],
                                        cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.service.stdout.readline()
        self.assertIn("ready", line, line or self.service.stderr.read())
        self.inside = pathlib.Path(f"/proc/{self.service.pid}/root{disk}")

    def test_a_full_disk_loses_no_job_and_acknowledges_none(self) -> None:
        def post(key: str, command: str, environment: list[str]) -> int:
            definition = JOB.replace('["true"]', json.dumps(["sh", "-c", command]))
            submission = json.dumps({"key": key, "definition": definition, "directory": str(self.folder), "environment": environment})
            status, answer = send(self.inside / "state/socket", "POST", "/v1/jobs", submission)
            self.assertTrue(status == 201 or "free space on its disk" in answer["error"], answer)
            return status

        def stages() -> list[str]:
            return [job["stage"] for job in send(self.inside / "state/socket", "GET", "/v1/jobs")[1]["jobs"]]
        self.assertEqual(post("runs", "echo x >> ran; until test -e end; do sleep 0.1; done; echo x >> ended", []), 201)
        self.wait_for(lambda: stages() == ["PROCESSING"])
        with contextlib.suppress(OSError), open(self.inside / "ballast", "wb", buffering=0) as ballast:
            while ballast.write(b"x" * 4096):
                pass
        large = [f"LARGE={'x' * 100_000}"]
        self.assertEqual([post("refused", "true", large) for _ in range(2)], [503, 503])
        (self.folder / "end").touch()
        self.wait_for((self.folder / "ended").exists)
        self.assertEqual(post("refused", "true", large), 503)
        self.assertEqual(stages(), ["PROCESSING"])  # its end cannot be written down
        (self.inside / "ballast").unlink()
        self.wait_for(lambda: stages() == ["COMPLETED"])
        self.assertEqual(post("refused", "echo x >> later", large), 201)  # not known yet
        self.wait_for(lambda: stages() == ["COMPLETED"] * 2)
        self.assertEqual([(self.folder / name).read_text() for name in ("ran", "ended", "later")], ["x\n"] * 3)

    def test_a_job_is_cancelled_while_the_disk_is_full_and_that_is_written_later(self) -> None:
        command = "trap 'touch ended; exit 0' TERM; touch runs; while :; do sleep 0.1; done"
        ask = lambda method, path, body=None: send(self.inside / "state/socket", method, path, body)
        definition = JOB.replace('["true"]', json.dumps(["sh", "-c", command]))
        submission = {"key": "runs", "definition": definition, "directory": str(self.folder), "environment": []}
        self.assertEqual(ask("POST", "/v1/jobs", json.dumps(submission))[0], 201)
        waits = {**submission, "key": "waits", "definition": JOB.replace('["true"]', '["touch", "never"]'), "after": [1]}
        self.assertEqual(ask("POST", "/v1/jobs", json.dumps(waits))[0], 201)
        self.wait_for((self.folder / "runs").exists)
        with contextlib.suppress(OSError), open(self.inside / "ballast", "wb", buffering=0) as ballast:
            while ballast.write(b"x" * 4096):
                pass
        for job in (1, 2):
            status, answer = ask("DELETE", f"/v1/jobs/{job}")
            self.assertEqual((status, answer["cancelled"]), (202, True))
        self.wait_for((self.folder / "ended").exists)
        (self.inside / "ballast").unlink()
        self.wait_for(lambda: ask("GET", "/v1/jobs")[0] == 200 and [job["stage"] for job in ask("GET", "/v1/jobs")[1]["jobs"]] == ["HALTED"] * 2)
        self.assertFalse((self.folder / "never").exists())


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "only root can mount a small disk")
class FullOfFiles(Full):
    """Its disk can hold few files."""
    MOUNT = 'mount -t tmpfs -o size=8m,nr_inodes=60,mode=700 tmpfs "$0" && exec "$@"'
    test_a_full_disk_loses_no_job_and_acknowledges_none = test_a_job_is_cancelled_while_the_disk_is_full_and_that_is_written_later = None

    def test_jobs_wait_for_space_for_their_files(self) -> None:
        ask = lambda method, path, body=None: send(self.inside / "state/socket", method, path, body)
        fillers = [self.inside / f"filler-{i}" for i in range(60)]
        with contextlib.suppress(OSError):
            for filler in fillers:
                filler.touch()
        submission = {"key": "k", "definition": JOB, "directory": str(self.folder), "environment": []}
        self.assertEqual(ask("POST", "/v1/jobs", json.dumps(submission))[0], 201)
        self.wait_for(lambda: "No space left on device" in ask("GET", "/v1/jobs/1")[1]["why"])
        self.assertEqual(ask("GET", "/v1/jobs/1")[1]["stage"], "QUEUED")
        for filler in fillers:
            filler.unlink(missing_ok=True)
        self.wait_for(lambda: ask("GET", "/v1/jobs/1")[1]["stage"] == "COMPLETED")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
