# SPDX-License-Identifier: BSL-1.0
"""`ration measure phases` on the log of a job with phases, and `phase_limits` on another run of it."""
import json
import pathlib
import subprocess
import unittest

from measure_case import PATIENCE, PYTHON, RATION, RunTest, main

HERE = pathlib.Path(__file__).resolve().parent
FILE = """policy = "%(policy)s"
tick = "200ms"
%(phases)s
[[job]]
name = "%(name)s"
command = ["%(python)s", "%(job)s", "%(part)s"]
target = { loss = { objective = 0 } }
"""
UNKNOWN = 0xFFFFFFFF


class PhasesTest(RunTest):
    def write_jobs(self, policy: str, phases: str = "", name: str = "a", part: float = 2.5) -> None:
        (self.folder / "jobs.toml").write_text(FILE % {"policy": policy, "phases": phases, "name": name, "python": PYTHON,
                                                       "job": HERE / "phased.py", "part": part})

    def measure(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([RATION, "measure", "phases", *words], cwd=self.folder, env=self.environment, text=True, capture_output=True,
                              timeout=PATIENCE, check=False)

    def columns(self, name: str) -> list:
        lines = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        return [value for line in lines if line["event"] == "decision" for value in line["columns"].get(name, [])]

    def test_phases_of_one_run_limit_the_next_one(self) -> None:
        self.write_jobs("none")
        done = self.run_jobs("--log", "log.jsonl", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.columns("jobs/phase"), [])  # without models nothing is estimated
        options = ("log.jsonl", "--period", "400ms", "--horizon", "1s")
        done = self.measure(*options, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (self.folder / "phases.json").write_text(done.stdout)
        model = json.loads(done.stdout)["classes"][0]
        self.assertEqual((model["class"], model["period"], model["horizon"]), ("a", 0.4, 1))
        memory = [phase["memory"][0] for phase in model["phases"]]
        self.assertGreater(max(memory) - min(memory), 60e6)
        self.assertEqual(self.measure(*options, "--json").stdout, done.stdout)
        self.assertRegex(self.measure(*options).stdout, r"^a\nphase +samples +cores +0.9 +0.99 +MiB +0.9 +0.99\n")

        self.write_jobs("phase_limits", 'phase_limits = { interval = 1 }\nphases = { models = "phases.json" }\n')
        done = self.run_jobs("--log", "log.jsonl", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        phases = self.columns("jobs/phase")
        self.assertEqual(phases[0], UNKNOWN)
        self.assertGreater(len(set(phases)), 2, phases)
        self.assertEqual(set(self.columns("jobs/class")), {0})
        expected, capacity = self.columns("jobs/expected.cpu"), self.columns("nodes/capacity.cpu")
        self.assertLessEqual(set(expected) - {"nan"}, {0.0} | {phase["cpu"][1] for phase in model["phases"]})
        with_room = [one for one, free in zip(expected, capacity) if one != "nan" and free > 1.2 * one]
        if len(with_room) < 10:
            self.skipTest("other programs use the CPU, and leave no room for a limit")
        limits = [held for held in self.columns("jobs/held.cpu") if 0 < held < 2**53]
        self.assertTrue(limits)
        self.assertLess(max(limits), 1200)  # the job has one thread

    def test_requests_that_cannot_be_met(self) -> None:
        self.write_jobs("phase_limits")
        done = self.run_jobs("--quiet")
        self.assertEqual(done.returncode, 3)
        self.assertIn("policy 'phase_limits': bind column jobs/phase", done.stderr)
        for table, sentence in (("{ }", "jobs.toml:3:1: 'phases' names no file of models; write phases = { models = \"phases.json\" }\n"),
                                ("{ model = \"a\" }", "jobs.toml:3:12: 'phases' has no key 'model'; write phases = { models = \"phases.json\" }\n")):
            self.write_jobs("phase_limits", f"phases = {table}")
            done = self.run_jobs("--quiet")
            self.assertEqual((done.returncode, done.stderr), (2, sentence))
        self.write_jobs("phase_limits", 'phases = { models = "phases.json" }')
        self.assertIn("name a file that 'ration measure phases --json' wrote", self.run_jobs("--quiet").stderr)
        (self.folder / "phases.json").write_text("{}\n")
        self.assertEqual(self.run_jobs("--quiet").stderr, "phases.json: it has no list 'classes'; "
                                                          "name a file that 'ration measure phases --json' wrote\n")
        for words, sentence in ((("--period", "0s"), "--period: a sample takes time; write a time above 0"),
                                (("--horizon", "0s"), "--horizon: it holds 1 to 1000 samples of --period; change one of them"),
                                (("--horizon", "2001s"), "--horizon: it holds 1 to 1000 samples of --period; change one of them")):
            done = self.measure("log.jsonl", *words)
            self.assertEqual((done.returncode, done.stderr), (2, f"ration: {sentence}\n"))
        (self.folder / "log.jsonl").write_text('{"event":"run"}\nnot json\n')
        done = self.measure("log.jsonl")
        self.assertEqual((done.returncode, done.stderr), (2, "log.jsonl:2: the line is not an event; name a log that 'ration run --log' wrote\n"))
        (self.folder / "log.jsonl").write_text('{"event":"run"}\n')
        done = self.measure("log.jsonl")
        self.assertEqual((done.returncode, done.stderr), (1, "ration: no job has 4 samples; record a longer run, or give a shorter --period\n"))


if __name__ == "__main__":
    unittest.installHandler()
    main()
