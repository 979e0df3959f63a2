# SPDX-License-Identifier: BSL-1.0
"""Jobs that take commands receive the command to stop, and save before they stop; those that take none, or do not obey, receive SIGTERM."""
import pathlib
import signal

from elastic_test import HEAD, HERE, PYTHON, Together, elastic
from support import PATIENCE, job, main


class Stopping(Together):
    def test_stopping(self) -> None:
        self.all_cases()

    def interrupt(self, mode: str, *more: int) -> dict:
        """Interrupts a run of one job that trains, and sends more signals; how the job ended."""
        self.write(elastic("a", mode, 4000), head=HEAD)
        run = self.start("--log", "log.jsonl")
        self.wait_for(lambda: (self.folder / "log.jsonl").exists() and '"step":5,' in (self.folder / "log.jsonl").read_text())
        for number in (signal.SIGINT, *more):  # two of one kind might come as one
            run.send_signal(number)
        out, err = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 4, out + err)
        return [e for e in self.events() if e["event"] == "job_ended"][0]

    def assert_saved_all(self, ended: dict, saved: pathlib.Path) -> None:
        self.assertEqual((ended["exit_code"], ended["signal"]), (0, None), ended)
        self.assertEqual(int(saved.read_text()), ended["step"], "what it had done last is not in its checkpoint")
        self.assertEqual(self.warnings(), [])

    def warnings(self) -> list[str]:
        return [e["message"] for e in self.events() if e["event"] == "warning"]

    def case_an_interrupted_job_saves_its_last_step(self) -> None:
        ended = self.interrupt("good")
        self.assertEqual(ended["how"], "stopped")
        self.assert_saved_all(ended, self.folder / "ration-output" / "latest" / "a.checkpoint" / "step")

    def case_a_job_that_goes_on_is_ended_when_its_deadlines_have_passed(self) -> None:
        ended = self.interrupt("never-stops")
        self.assertEqual((ended["how"], ended["signal"]), ("stopped", signal.SIGTERM))
        self.assertEqual(self.warnings(), ["it was asked to stop and has not within 3.0 s"])

    def case_a_job_that_does_not_know_the_command_hears_the_signal(self) -> None:
        ended = self.interrupt("lacks-stop")
        self.assertEqual((ended["how"], ended["signal"], self.warnings()), ("stopped", signal.SIGTERM, []))

    def case_a_job_that_takes_no_commands_hears_the_signal(self) -> None:
        ended = self.interrupt("plain")
        self.assertEqual(ended["signal"], signal.SIGTERM)
        self.assertNotIn("asked to stop", " ".join(self.warnings()))

    def case_a_second_interrupt_waits_for_nobody(self) -> None:
        self.assertEqual(self.interrupt("never-stops", signal.SIGHUP)["signal"], signal.SIGKILL)

    def case_a_job_that_has_reached_its_objective_saves_and_stops(self) -> None:
        words = [PYTHON, str(HERE / "elastic_job.py"), "good", "4000"]
        self.write(job("a", words, target="target = { loss = { objective = 6 } }"), head='policy = "tradl"\ncpus = 1\ntick = "100ms"\n')
        done = self.run_jobs("--log", "log.jsonl")
        self.assert_finished(done)
        ended = [e for e in self.events() if e["event"] == "job_ended"][0]
        self.assertEqual((ended["how"], ended["why"]), ("finished", "objective reached"))
        self.assert_saved_all(ended, self.folder / "step")

    def case_in_the_middle_of_a_resize(self) -> None:
        waits = elastic("a", "never-saves", 4000).replace('save = "2s"', 'save = "60s"')  # the resize has not failed when the signal comes
        self.write(waits, elastic("b", "good", 4000, at="1s", gpu="2"), head=HEAD)
        run = self.start("--log", "log.jsonl")
        self.wait_for(lambda: (self.folder / "log.jsonl").exists() and self.told("saving"))
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=PATIENCE)
        self.assert_nobody_shared()
        ended = {e["job"]: e for e in self.events() if e["event"] == "job_ended"}
        self.assertEqual((run.returncode, ended["a"]["how"], ended["a"]["exit_code"]), (4, "stopped", 0), out + err)
        self.assertEqual(self.told("failed"), [], "the resize was gone on with")


if __name__ == "__main__":
    main()
