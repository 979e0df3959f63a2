# SPDX-License-Identifier: BSL-1.0
"""Launches that fail by errors of the machine are not failures of the jobs: these wait, and start once the machine can."""
import os
import signal
import subprocess
import unittest

from support import PATIENCE, RATION, RunTest, job, main

MAKES_MOUNTS = os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


def shell(name: str, script: str, more: str = "") -> str:
    return job(name, ["sh", "-c", script], more, "target = { loss = { objective = 0 } }")


class MachineErrors(RunTest):
    def warned(self, subject: str) -> list[str]:
        path = self.folder / "log.jsonl"
        return [event["message"] for event in (self.events() if path.exists() else []) if event["event"] == "warning" and event["subject"] == subject]

    def starts(self, name: str) -> list[int]:
        return [event["incarnation"] for event in self.events() if event["event"] == "job_started" and event["job"] == name]

    def test_a_folder_that_is_not_there_yet(self) -> None:
        late = self.folder / "late"
        for devices in (False, True):
            with self.subTest(devices=devices):
                late.mkdir()
                (self.folder / "began").unlink(missing_ok=True)
                more = "bounds = { gpu = 1 }" if devices else ""
                first = shell("first", "touch began; until test -e end; do sleep 0.1; done", more)
                head = 'policy = "fifo"\ndevices = { count = 1, cpu = 0.5 }\n' if devices else 'policy = "none"\n'
                self.write(first, shell("late", "echo it ran", f'directory = "late"\nat = "1s"\n{more}'), head=head)
                run = self.start("--quiet", "--log", "log.jsonl")
                self.wait_for((self.folder / "began").exists)
                late.rmdir()
                if devices:
                    (self.folder / "end").touch()  # the first job returns its device
                self.wait_for(lambda: self.warned("late"))
                message = f"it cannot be launched now: enter the working directory {late}: not found (No such file or directory); create it, or correct working_directory; "
                self.assertIn(self.warned("late"), ([message + "ration tries again"], [message.replace(f"{late}", "late") + "ration tries again"]))
                late.mkdir()
                (self.folder / "end").touch()
                _, errors = run.communicate(timeout=PATIENCE)
                self.assertEqual(run.returncode, 0, errors)
                self.assertEqual((self.folder / "ration-output" / "latest" / "late.log").read_text(), "it ran\n")
                self.assertEqual(self.starts("late"), [1])
                late.rmdir()
                (self.folder / "end").unlink()

    def test_ration_is_killed_while_a_job_waits_so(self) -> None:
        late = self.folder / "late"
        late.mkdir()
        self.write(shell("first", "touch began; until test -e end; do sleep 0.1; done"), shell("late", "echo it ran", 'directory = "late"\nat = "1s"'), head='policy = "none"\n')
        run = self.start("--quiet", "--log", "log.jsonl")
        self.wait_for((self.folder / "began").exists)
        late.rmdir()
        self.wait_for(lambda: self.warned("late"))
        run.send_signal(signal.SIGKILL)
        run.wait()
        late.mkdir()
        (self.folder / "end").touch()
        done = self.run_jobs("--quiet", "--reattach")
        self.assertNotIn("late", done.stderr)
        logs = list((self.folder / "ration-output").glob("*/late.log"))
        self.assertEqual([log.read_text() for log in logs if not log.parent.is_symlink()], ["it ran\n"])

    @unittest.skipUnless(MAKES_MOUNTS, "needs root, for a small file system")
    def test_a_disk_without_inodes(self) -> None:
        self.write(shell("first", "i=0; while touch fill-$i; do i=$((i + 1)); done; touch ../full; until test -e ../end; do sleep 0.1; done; rm fill-*"),
                   shell("late", "echo it ran", 'at = "1s"'), head='policy = "none"\n')
        script = ("mkdir small && mount -t tmpfs -o nr_inodes=60 tmpfs small && cp jobs.toml small && cd small || exit 77; "
                  '"$0" run jobs.toml --quiet --log ../log.jsonl > ../out 2>&1 & until test -e ../full; do sleep 0.1; done; '
                  "until grep -q 'cannot be launched now' ../log.jsonl; do sleep 0.1; done; touch ../end; "
                  'wait $!; echo "exit $?"; cat ../log.jsonl ../out ration-output/latest/late.log')
        done = subprocess.run(["unshare", "-mpf", "--mount-proc", "--kill-child", "sh", "-c", script, RATION], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, check=False, timeout=PATIENCE)
        self.assertIn("exit 0", done.stdout, done.stderr)
        self.assertIn("No space left on device); free space or inodes on its disk: df -h, df -i; ration tries again", done.stdout)
        self.assertTrue(done.stdout.endswith("it ran\n"), done.stdout)


if __name__ == "__main__":
    main()
