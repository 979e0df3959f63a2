# SPDX-License-Identifier: BSL-1.0
"""`ration measure scaling` on a job whose speedup is known, and on jobs that cannot be measured."""
import json
import pathlib
import re
import unittest

from measure_case import PYTHON, MeasureTest, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = """# Jobs of the lab
policy = "elastic_batch_dp"   # needs the scaling
devices = { count = 4, cpu = 0.25 }
tick = "100ms"

[[job]] # the large one
name = "a"
command = ["%(python)s", "-m", "ration.ranks", "%(trainer)s", %(mode)s]
environment = { PYTHONPATH = "%(package)s" }
target = { loss = { objective = 0 } }
bounds = { gpu = { min = 1, max = 4 } }   # all of them
%(more)s
batch = [0, 8, 8, 8, 8]
deadlines = { start = "%(start)s" }
"""
# The command of docs/elastic-jobs.md, with shorter times
COMMAND = re.search(r"^ration measure scaling jobs.toml (.*)$", (ROOT / "docs/elastic-jobs.md").read_text(), re.M)[1].split()
QUICK = ("--time", "600ms", "--warm-up", "700ms", "--repeat", "1")


class ScalingTest(MeasureTest):
    command = "scaling"

    def write_file(self, mode: str = '"good"', more: str = "", start: str = "60s") -> str:
        text = FILE % {"python": PYTHON, "trainer": ROOT / "tests/measure/trainer.py", "package": ROOT / "python",
                       "mode": mode, "more": more, "start": start}
        (self.folder / "jobs.toml").write_text(text)
        return text


class Measured(ScalingTest):
    def test_the_speedup_is_that_of_the_trainer_and_a_policy_uses_it(self) -> None:
        (self.folder / "mine").mkdir()
        (self.folder / "mine/step").write_text("1000")
        text = self.write_file(more='checkpoint = "mine"')
        done = self.measure(*COMMAND, *QUICK, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual([size["devices"] for size in result["sizes"]], [1, 2, 4])
        measured = result["speedup"]
        self.assertEqual((measured[0], measured[1], measured[3]), (0, 1, 0))
        for number, expected in ((2, 5 / 3), (4, 5 / 2)):
            self.assertAlmostEqual(measured[number] / expected, 1, delta=0.25, msg=done.stdout)
        # Each launch began with the first step, and the user's checkpoint is as before
        self.assertEqual([launch[1:] for launch in self.launches()], [["1", "0"], ["2", "0"], ["4", "0"]])
        self.assertEqual([(one.name, one.read_text()) for one in (self.folder / "mine").iterdir()], [("step", "1000")])
        # All bytes outside of the list
        changed = (self.folder / "jobs.toml").read_text()
        line = next(line for line in changed.splitlines(keepends=True) if line.startswith("speedup = "))
        self.assertEqual(changed.replace(line, "", 1), text)
        self.assertEqual(line, f"speedup = [{', '.join(f'{value:.4g}' for value in measured)}]\n")
        self.assert_the_policy_accepts_it()

    def assert_the_policy_accepts_it(self) -> None:
        """4 devices have the best sum of speed-ups for one job; 3 have none."""
        text = (self.folder / "jobs.toml").read_text().replace('"good"', '"ends", "4"').replace('checkpoint = "mine"', "")
        (self.folder / "jobs.toml").write_text(text)
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        started = [event for event in self.events() if event["event"] == "job_started"]
        self.assertEqual([event["devices"] for event in started], ["cpu-0,cpu-1,cpu-2,cpu-3"])


class Failures(ScalingTest):
    def test_a_size_that_fails_leaves_the_others(self) -> None:
        text = self.write_file('"dies", "2"')
        done = self.measure("--time", "100ms", "--warm-up", "0s", "--repeat", "2", "--write")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^1 +\d.* 1\.00 +100 %\n2 +failed\n4 +\d.*%\n\nspeedup = \[0, 1, 0, 0, [\d.]+\]\n\n"
                                      r"2 devices: it failed: exit code 1; its last line: no memory left\nnot measured: 2, 3; ")
        self.assertTrue(done.stderr.endswith("\njobs.toml: not changed, because a size failed; name the others by --devices\n"), done.stderr)
        self.assertEqual((self.folder / "jobs.toml").read_text(), text)
        self.assertEqual([launch[1] for launch in self.launches()], list("12441"))  # in turns; a failed size is not tried again

    def test_a_job_that_never_reports(self) -> None:
        self.write_file('"mute"', start="1s")
        done = self.measure("--devices", "1,2")
        self.assertEqual(done.returncode, 1, done.stderr)
        reason = "it reported no step within 1.0 s; let the script report its progress, or extend the deadline 'start' of the job"
        self.assertEqual(done.stdout, f"devices  steps/s  range  speedup  efficiency\n1         failed\n2         failed\n\n1 device: {reason}\n2 devices: {reason}\n")

    def test_a_job_that_is_complete_too_soon(self) -> None:
        self.write_file('"ends"')
        done = self.measure("--devices", "1,2", "--time", "1m")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("1 device: it finished at step 6, before its speed was known; let it train longer, or shorten --time and --warm-up\n", done.stdout)

    def test_an_interrupt_stops_the_job(self) -> None:
        self.write_file()
        done = self.measure("--time", "1m", after=self.interrupt)
        self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)
        self.assertTrue(done.stderr.endswith("ration: interrupted; the job was stopped\n"), done.stderr)

    def test_requests_that_cannot_be_met(self) -> None:
        self.write_file()
        self.assertEqual(self.refused("--devices", "1,5"), "ration: --devices: job 'a' accepts 1 to 4 devices, not 5; choose numbers within its bounds\n")
        self.assertEqual(self.refused("--job", "b"), "jobs.toml: job 'b' is unknown; did you mean 'a'?\n")
        text = self.write_file().replace("count = 4", "count = 2")
        (self.folder / "jobs.toml").write_text(text)
        self.assertEqual(self.refused("--devices", "1,4", code=3), "ration: --devices: job 'a' can have 2 devices here, not 4; leave the larger numbers out\n")
        (self.folder / "jobs.toml").write_text(text.replace("count = 2", "count = 1"))
        self.assertEqual(self.refused(code=3), "ration: job 'a' can have 1 device here, which has nothing to compare with; measure it on a machine with more devices\n")
        (self.folder / "jobs.toml").write_text(text.replace("min = 1", "min = 3"))
        self.assertIn("job 'a' needs at least 3 devices, and there are 2; make gpu.min smaller", self.refused(code=3))
        (self.folder / "jobs.toml").write_text(text.replace("\nb", "\n# b").replace("deadlines", "# deadlines"))
        self.assertEqual(self.refused(), "jobs.toml:6:1: job 'a' uses no devices; add bounds = { gpu = { min = 1, max = 4 } } to it\n")

    def test_a_file_that_write_cannot_change_is_refused_before_the_first_launch(self) -> None:
        self.write_file(more="speedup = [0, 1, # by hand\n 2]")
        self.assertEqual(self.refused("--write"), "jobs.toml: --write cannot change it: its list 'speedup' has comments, or is not a "
                                                     "list of numbers; put the list into it yourself\n")


if __name__ == "__main__":
    main()
