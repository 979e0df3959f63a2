# SPDX-License-Identifier: BSL-1.0
"""The commands of users at the end of a job of the service."""
import json
import subprocess
import sys
import unittest

from support import JOB, RATION, ServiceTest

FACTS = 'echo "$RATION_JOB $RATION_JOB_ID $RATION_HOOK $RATION_STAGE $RATION_EXIT_CODE$RATION_SIGNAL $MARK" >> ends; test -f "$RATION_OUTPUT"'


class Ended(ServiceTest):
    def ends(self) -> list[str]:
        """What the commands have written, in the folder of their jobs."""
        path = self.folder / "ends"
        return sorted(path.read_text().splitlines()) if path.exists() else []

    def warnings(self) -> list[str]:
        events = map(json.loads, (self.state / "events.jsonl").read_text().splitlines())
        return [f"{event['subject']}: {event['message']}" for event in events if event["event"] == "warning" and "its command" in event["message"]]

    def submit_file(self, text: str) -> str:
        (self.folder / "job.toml").write_text(text)
        return self.submit(str(self.folder / "job.toml"))

    def test_the_command_runs_once_after_the_last_launch(self) -> None:
        label = self.submit("--name", "again", "--retries", "1", "--on-end", FACTS, "--", "sh", "-c", "exit 3")
        self.ration("wait", label, code=3)
        killed = self.submit("--name", "killed", "--on-end", FACTS, "--", "sh", "-c", "kill -9 $$")
        self.ration("wait", killed, code=137)
        good = self.submit("--name", "good", "--on-end", FACTS, "--", "true")
        self.ration("wait", good)
        self.assertEqual(self.job(label)["incarnation"], 2)
        self.wait_for(lambda: len(self.ends()) == 3)
        self.assertEqual(self.ends(), ["again-1 1 on_end FAILED 3 of the submitter", "good-3 3 on_end COMPLETED 0 of the submitter", "killed-2 2 on_end FAILED 9 of the submitter"])
        self.assertEqual(self.warnings(), [])

    def test_work_in_the_background_saves_and_the_reason_names_it(self) -> None:
        label = self.submit("--", "sh", "-c", '(trap "echo saved; exit" TERM; while :; do sleep 0.1; done) & sleep 0.5')
        self.ration("wait", label)
        job = self.job(label)
        self.assertEqual((job["stage"], job["exit_code"]), ("COMPLETED", 0))
        self.assertRegex(job["why"], r"its first process had left \d+ other process(es)?, which ration ended")
        self.assertIn("saved", self.ration("logs", label))

    def test_the_configuration_has_a_command_for_jobs_without_one(self) -> None:
        self.kill()
        (self.folder / "service.toml").write_text(f"on_end = {json.dumps(['sh', '-c', 'echo default $RATION_JOB >> ends'])}\n")
        self.start("--config", str(self.folder / "service.toml"))
        self.submit("--name", "plain", "--", "true")
        own = [f"{key} = {json.dumps(['sh', '-c', f'echo {key} >> ends'])}\n" for key in ("on_end", "on_failure")]
        self.submit_file(JOB.replace('["true"]', '["false"]') + "".join(own))
        self.wait_for(lambda: self.ends() == ["default plain-1", "on_end", "on_failure"])

    def test_a_command_that_fails_or_hangs_leaves_its_job_and_others_alone(self) -> None:
        hangs = self.submit("--name", "hangs", "--on-end", "touch began; exec sleep 20", "--", "true")
        self.wait_for((self.folder / "began").exists)
        fails = self.submit("--name", "fails", "--on-end", "echo output; exit 5", "--", "true")
        absent = self.submit_file(JOB + 'on_end = ["./absent"]\n')
        for label in (hangs, fails, absent):
            self.ration("wait", label)
            self.assertEqual((self.job(label)["stage"], self.job(label)["why"]), ("COMPLETED", ""))
        self.wait_for(lambda: len(self.warnings()) == 2)
        self.assertIn(f"{fails}: its command on_end has failed: it ended with exit code 5", self.warnings())
        self.assertTrue(any(line.startswith(f"{absent}: its command on_end has failed: ") for line in self.warnings()), self.warnings())
        self.assertEqual((self.state / "jobs" / f"{fails}.hooks.log").read_text(), "output\n")

    def test_no_end_is_lost_or_handled_twice_over_a_restart(self) -> None:
        self.ration("wait", self.submit("--name", "before", "--on-end", "echo before >> ends", "--", "true"))
        self.wait_for(lambda: self.ends() == ["before"])
        self.submit("--name", "during", "--on-end", "echo during >> ends", "--", "sh", "-c", "touch began; until test -e end; do sleep 0.1; done")
        self.wait_for((self.folder / "began").exists)
        self.kill()
        (self.folder / "end").touch()
        self.wait_for(lambda: list((self.state / "ends").glob("during-2.*")))
        self.start()
        self.wait_for(lambda: self.ends() == ["before", "during"])
        self.kill()
        self.start()
        self.ration("wait", self.submit("--name", "later", "--on-end", "echo later >> ends", "--", "true"))
        self.wait_for(lambda: "later" in self.ends())
        self.assertEqual(self.ends(), ["before", "during", "later"])

    def test_commands_that_wait_for_others_outlive_the_service(self) -> None:
        first = self.submit("--name", "first", "--", "sh", "-c", "until test -e fail; do sleep 0.1; done; exit 1")
        waits = "until test -e go; do sleep 0.1; done; echo $RATION_JOB >> ends"
        labels = [self.submit("--name", f"j{number}", "--after", first, "--on-end", f"touch began.$RATION_JOB; {waits}", "--", "true") for number in range(20)]
        (self.folder / "fail").touch()  # so that the others fail in one turn
        self.wait_for(lambda: len(list(self.folder.glob("began.*"))) >= 15)
        self.kill()
        (self.folder / "go").touch()
        self.start()
        self.wait_for(lambda: len(self.ends()) == len(labels))
        self.assertEqual(self.ends(), sorted(labels))

    def test_the_end_of_a_job_that_never_ran_is_an_end(self) -> None:
        first = self.submit("--name", "first", "--", "false")
        self.submit("--name", "never", "--after", first, "--on-end", "echo $RATION_JOB $RATION_STAGE ${RATION_EXIT_CODE-none} >> ends", "--", "true")
        self.wait_for(lambda: self.ends() == ["never-2 FAILED none"])
        self.ration("drain")
        queued = self.submit("--name", "queued", "--on-end", "echo $RATION_JOB $RATION_STAGE >> ends", "--", "true")
        self.ration("cancel", queued)
        self.wait_for(lambda: self.ends() == ["never-2 FAILED none", "queued-3 HALTED"])

    def test_a_file_has_its_own_commands(self) -> None:
        (self.folder / "job.toml").write_text(JOB)
        done = subprocess.run([RATION, "submit", "--state", self.state, "--on-end", "true", "job.toml"], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--on-end: 'job.toml' has its own commands; write on_end into the file", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
