# SPDX-License-Identifier: BSL-1.0
"""What happens to a job at its Objective and at its end: who is ended and how, and the user's commands."""
import json

from support import RunTest, job, main, of

LOG = r"log = 'loss=(?<loss>\S+)'"
HEAD = 'policy = "tradl"\ncpus = 1\ntick = "100ms"\n'
# Writes its model after its last step, as `mnist --save-model` does.
SAVES_LATE = "for i in 1 2 3 4; do echo loss=1; sleep 0.1; done; for i in $(seq 15); do echo loss=0.01; sleep 0.1; done; echo model > model"

TRAINS_ON = ('it takes no commands, so it trains to its end after its Objective; write at_objective = "continue" to accept this, or "stop" to end it there. '
             '"stop" ends the process by its stop signal, so that everything it writes at its end is lost')


def shell(script: str, more: str = "") -> str:
    return job("a", ["/bin/sh", "-c", script], f"{LOG}\n{more}")


class Objective(RunTest):
    def run_one(self, *parts: str, status: int = 0) -> dict:
        self.write(*parts, head=HEAD)
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        (ended,) = of(self.events(), "job_ended", "a")
        return ended

    def warnings(self) -> list[str]:
        return [e["message"] for e in of(self.events(), "warning")]

    def test_a_job_that_takes_no_commands_trains_to_its_end_and_loses_nothing(self) -> None:
        for more in ("", 'at_objective = "continue"'):
            with self.subTest(more=more):
                (self.folder / "model").unlink(missing_ok=True)
                ended = self.run_one(shell(SAVES_LATE, more))
                self.assertEqual((ended["how"], ended["why"], ended["exit_code"]), ("finished", "", 0))
                self.assertTrue((self.folder / "model").exists(), "the job was ended before it saved")
                self.assertEqual([e["tier"] for e in of(self.events(), "tier_reached")], [2])
                self.assertEqual([w for w in self.warnings() if "trains" in w], [TRAINS_ON] if more == "" else [])

    def test_a_job_without_a_target_trains_to_its_end(self) -> None:
        script = "for i in 1 2 3; do echo loss=-1000 accuracy=1; sleep 0.1; done"
        for log in ("", LOG, r"log = 'accuracy=(?<accuracy>\S+)'"):
            with self.subTest(log):
                ended = self.run_one(job("a", ["/bin/sh", "-c", script], log, target=""))
                self.assertEqual((ended["how"], ended["why"], ended["exit_code"]), ("finished", "", 0))
                self.assertEqual(({e["value"] for e in of(self.events(), "progress")}), {"": set(), LOG: {-1000}}.get(log, {1}))
                self.assertEqual((of(self.events(), "tier_reached"), self.warnings()), ([], []))

    def test_a_job_whose_metrics_are_in_a_file_takes_no_commands(self) -> None:
        self.run_one(job("a", ["/bin/sh", "-c", "echo step,loss > m.csv; echo 1,0.01 >> m.csv; sleep 2"], 'metrics = { csv = "m.csv" }'))
        self.assertIn(TRAINS_ON, self.warnings())

    def test_a_job_that_may_be_stopped_gets_its_signal(self) -> None:
        script = "trap 'echo asked > asked; exit 0' USR1; while :; do echo loss=0.01; sleep 0.1; done"
        ended = self.run_one(shell(script, 'at_objective = "stop"\nstop_signal = "SIGUSR1"'))
        self.assertEqual((ended["how"], ended["why"]), ("finished", "objective reached"))
        self.assertTrue((self.folder / "asked").exists())

    def test_a_job_that_ignores_its_signal_is_killed_after_its_grace(self) -> None:
        ended = self.run_one(shell("trap '' TERM; while :; do echo loss=0.01; sleep 0.1; done", 'at_objective = "stop"\ngrace = "500ms"'))
        self.assertEqual(ended["signal"], 9)
        self.assertLess(ended["t"], 8e9)

    def test_commands_at_the_tiers_and_the_end(self) -> None:
        record = json.dumps(["/bin/sh", "-c", 'echo "$RATION_HOOK $RATION_JOB $RATION_JOB_ID $RATION_CONDITION" >> hooks; test -f "$RATION_OUTPUT"'])
        hooks = "\n".join(f"{key} = {record}" for key in ("on_acceptable", "on_objective", "on_end", "on_failure"))
        script = "echo loss=1; sleep 0.3; echo loss=0.4; sleep 0.3; echo loss=0.01; sleep 0.3; exit 3"
        self.run_one(shell(script, hooks), status=1)
        self.assertEqual(sorted((self.folder / "hooks").read_text().splitlines()),
                         ["on_acceptable a 1 running", "on_end a 1 failed", "on_failure a 1 failed", "on_objective a 1 running"])
        self.assertFalse([w for w in self.warnings() if "its command" in w])

    def test_a_command_that_fails_is_a_warning(self) -> None:
        self.run_one(shell("echo loss=1", 'on_end = ["/bin/sh", "-c", "exit 5"]\non_acceptable = ["./absent"]'))
        self.assertIn("its command on_end has failed: it ended with exit code 5", self.warnings())

    def test_what_cannot_be_is_refused(self) -> None:
        for more, why in (('at_objective = "end"', "'at_objective' is 'end'; write \"save\", \"stop\" or \"continue\""),
                          ('stop_signal = "SIGKILL"', "'stop_signal' is 'SIGKILL'; write SIGTERM"), ("on_end = []", "names no program")):
            with self.subTest(more=more):
                self.write(shell("true", more), head=HEAD)
                done = self.run_jobs()
                self.assertEqual(done.returncode, 2)
                self.assertIn(why, done.stderr)


if __name__ == "__main__":
    main()
