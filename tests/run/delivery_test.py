# SPDX-License-Identifier: BSL-1.0
"""on_acceptable = "save": the model of a job at its Acceptable tier is kept while the job trains on."""
import os
import pathlib
import shutil
import tempfile

from support import HERE, PYTHON, RunTest, job, main, of, signal

TARGET = "target = { loss = { acceptable = 5, objective = 2 } }"
DELIVER = 'on_acceptable = "save"'


def saver(mode: str, steps: int, more: str = DELIVER) -> str:
    """Its loss is 10 / (1 + 0.1 * step), so that step 10 is Acceptable and step 40 the Objective."""
    return job("a", [PYTHON, str(HERE / "elastic_job.py"), mode, str(steps)], more, TARGET)


class Delivery(RunTest):
    @property
    def out(self) -> pathlib.Path:
        return (self.folder / "ration-output" / "latest").resolve()

    def run_one(self, *arguments: str) -> str:
        done = self.run_jobs("--log", "log.jsonl", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def delivered(self) -> list[dict]:
        return of(self.events(), "delivered")

    def warnings(self) -> list[str]:
        return [e["message"] for e in of(self.events(), "warning")]

    def test_the_checkpoint_at_acceptable_is_kept_while_the_job_trains_on(self) -> None:
        self.write(saver("good", 60))
        said = self.run_one()
        (event,) = self.delivered()
        reached = of(self.events(), "tier_reached", "a")[0]["step"]
        self.assertEqual((event["files"], event["folder"]), (1, str(self.out / "a.acceptable")))
        kept = self.out / "a.acceptable" / "step"
        self.assertEqual(int(kept.read_text()), event["step"])
        self.assertGreaterEqual(event["step"], reached)
        self.assertLess(event["step"], reached + 20)
        self.assertEqual(of(self.events(), "job_ended", "a")[0]["step"], 60, "the job did not go on after its hold")
        self.assertIn(f"a is delivered: checkpoint of step {event['step']} in {self.out / 'a.acceptable'}", said)
        self.assertEqual(self.warnings(), [])
        self.assertEqual(list(self.out.glob("*.new")), [])

    def test_a_later_checkpoint_does_not_change_what_was_delivered(self) -> None:
        self.write(saver("good", 400))
        run = self.start("--log", "log.jsonl")
        event = self.wait_for(lambda: (self.folder / "log.jsonl").exists() and self.delivered(), limit=60)[0]
        self.assertTrue((self.out / "a.acceptable" / "step").samefile(self.out / "a.checkpoint" / "step"), "it is no hard link")
        self.wait_for(lambda: of(self.events(), "progress", "a")[-1]["step"] > event["step"] + 1, limit=60)
        run.send_signal(signal.SIGINT)  # the job saves once more, and stops
        self.assertEqual(run.wait(timeout=30), 4)
        self.assertEqual(int((self.out / "a.acceptable" / "step").read_text()), event["step"])
        self.assertGreater(int((self.out / "a.checkpoint" / "step").read_text()), event["step"])

    def test_a_job_with_devices_delivers_too(self) -> None:
        self.write(saver("good", 40, DELIVER + "\nbounds = { gpu = 1 }"), head='policy = "fifo"\ndevices = { count = 1, cpu = 0.5 }\n')
        self.run_one()
        self.assertEqual(len(self.delivered()), 1)
        self.assertTrue((self.out / "a.acceptable" / "step").exists())

    def test_without_commands_the_next_checkpoint_is_delivered(self) -> None:
        script = self.folder / "job.py"
        package = pathlib.Path(HERE).parents[1] / "python"
        script.write_text(f"""import os, pathlib, sys, time
sys.path.insert(0, {str(package)!r})
from ration import progress
p = progress.open()
p.hello()
for step in range(1, 31):
    p.step(step, 4.0)
    time.sleep(0.05)
    if step == 15:
        pathlib.Path(os.environ["RATION_CHECKPOINT"], "model").write_text("15")
        p.checkpoint(step, ok=True, seconds=0.1)
p.bye(0)
""")
        self.write(job("a", [PYTHON, str(script)], DELIVER, TARGET))
        self.run_one()
        (event,) = self.delivered()
        self.assertEqual((event["step"], (self.out / "a.acceptable" / "model").read_text()), (15, "15"))
        self.assertEqual(self.warnings(), ["its model at Acceptable is not delivered yet: it takes no commands; its next checkpoint will be"])

    def test_a_copy_that_takes_long_delays_nothing_else_and_is_complete_at_the_end(self) -> None:
        other = pathlib.Path("/dev/shm")
        if not os.access(other, os.W_OK) or other.stat().st_dev == self.folder.stat().st_dev:
            self.skipTest("the machine has one file system")
        place = pathlib.Path(tempfile.mkdtemp(dir=other))
        self.addCleanup(shutil.rmtree, place)
        script = self.folder / "job.py"
        package = pathlib.Path(HERE).parents[1] / "python"
        # While the job has a lease on the file, another process that opens it waits
        script.write_text(f"""import fcntl, os, pathlib, signal, sys, time
sys.path.insert(0, {str(package)!r})
from ration import progress
signal.signal(signal.SIGIO, signal.SIG_IGN)
p = progress.open()
p.hello()
for step in range(1, 61):
    p.step(step, 4.0)
    time.sleep(0.05)
    if step == 10:
        path = pathlib.Path(os.environ["RATION_CHECKPOINT"], "model")
        path.write_text("10")
        file = os.open(path, os.O_RDWR)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        p.checkpoint(step, ok=True, seconds=0.1)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
p.bye(0)
""")
        self.write(job("a", [PYTHON, str(script)], f'{DELIVER}\ncheckpoint = "{place}"\nbounds = {{ gpu = 1 }}', TARGET), head='policy = "fifo"\ndevices = { count = 1, cpu = 0.5 }\n')
        self.run_one()
        (event,) = self.delivered()
        self.assertEqual((event["step"], event["files"], (self.out / "a.acceptable" / "model").read_text()), (10, 1, "10"))
        before = [e["step"] for e in self.events()[:self.events().index(event)] if e["event"] == "progress"]
        self.assertGreater(max(before), 40, "the reports waited for the copy")

    def test_a_failed_checkpoint_and_an_end_without_one_are_warnings(self) -> None:
        self.write(saver("save-fails", 30))
        self.run_one()
        self.assertEqual(self.delivered(), [])
        self.assertFalse((self.out / "a.acceptable").exists())
        self.assertEqual(self.warnings(), ["its model at Acceptable is not delivered yet: its checkpoint failed; its next checkpoint will be",
                                           "its model at Acceptable is not delivered: it has reported no checkpoint since then"])

    def test_without_the_key_nothing_is_kept(self) -> None:
        self.write(saver("good", 30, ""))
        self.run_one()
        self.assertEqual(self.delivered(), [])
        self.assertEqual(list(self.out.glob("a.*")), [self.out / "a.log"])


class Refused(RunTest):
    def check(self, more: str, target: str, why: str) -> None:
        self.write(job("a", ["true"], more, target))
        done = self.run_jobs()
        self.assertEqual(done.returncode, 2)
        self.assertIn(why, done.stderr)

    def test_another_word(self) -> None:
        self.check('on_acceptable = "stop"', TARGET, "'on_acceptable' is 'stop'; write \"save\", or an array with a command")

    def test_a_target_without_the_tier(self) -> None:
        self.check(DELIVER, "target = { loss = { objective = 2 } }", "'on_acceptable' is for a target with that tier; add acceptable, or leave it out")


if __name__ == "__main__":
    main()
