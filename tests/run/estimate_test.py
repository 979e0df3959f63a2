# SPDX-License-Identifier: BSL-1.0
"""Policies with real jobs: ration estimates the steps that these still have from their losses, and their speeds from those that it measures."""
import json
import os
import subprocess
from pathlib import Path

from support import HERE, PATIENCE, PYTHON, RATION, RunTest, job, main

HEAD = 'policy = "srtf"\nsrtf = { unknown = "first" }\ndevices = { count = 1, cpu = 0.5 }\ntick = "100ms"\n'
MORE = 'bounds = { gpu = 1 }\ndeadlines = { save = "60s", stop = "60s", start = "60s" }\n'


def trainer(name: str, mode: str, steps: int, objective: float) -> str:
    """Its loss after s steps is 10 / (1 + s / 10)."""
    words = [PYTHON, str(HERE / "elastic_job.py"), mode, str(steps)]
    return job(name, words, MORE, f"target = {{ loss = {{ objective = {objective} }} }}")


class Estimates(RunTest):
    def decisions(self) -> list[dict]:
        return [event for event in self.events() if event["event"] == "decision"]

    def remaining(self, name: str) -> list:
        """What the policy was shown of the job, at each decision."""
        ids = {event["job"]: event["id"] for event in self.events() if event["event"] == "job_started"}
        values = []
        for columns in (one["columns"] for one in self.decisions()):
            if ids[name] in columns["jobs/id"]:
                values.append(columns["jobs/remaining"][columns["jobs/id"].index(ids[name])])
        return values

    def test_the_shorter_job_is_started_to_be_measured_and_ends_first(self) -> None:
        self.write(trainer("long", "outlasts", 1, 0.01), trainer("short", "good", 60, 10 / 7), head=HEAD)
        done = self.run_jobs("--log", "log.jsonl", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        launched = [event["job"] for event in self.events() if event["event"] == "job_started"]
        ended = [event["job"] for event in self.events() if event["event"] == "job_ended"]
        self.assertEqual(launched[:2], ["long", "short"])
        self.assertEqual(ended, ["short", "long"])
        known = [value for value in self.remaining("long") if value != "nan"]
        self.assertEqual(self.remaining("long")[0], "nan")
        self.assertTrue(known)
        self.assertGreater(known[0], 100)
        self.check_replay("srtf")

    def test_a_job_without_a_speedup_list_gets_its_speeds_from_measurements(self) -> None:
        head = 'policy = "pollux"\npollux = { interval = 2 }\ndevices = { count = 3, cpu = 0.25 }\ntick = "200ms"\n'
        words = [PYTHON, str(HERE / "elastic_job.py"), "good", "160"]
        sizes = "bounds = { gpu = { min = 1, max = 2 } }\n"
        target = "target = { loss = { objective = 0.01 } }"
        self.write(job("unknown", words, sizes, target), job("listed", words, sizes + "speedup = [0, 1, 1.5]\n", target), head=head)
        done = self.run_jobs("--log", "log.jsonl", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        first, last = (self.decisions()[at]["columns"]["jobs/goodput"] for at in (0, -1))
        self.assertEqual(first, [0, 1, 1, 0, 1, 1.5])
        self.assertNotEqual(last[1], 1)  # a step takes 0.05 s, and more on a busy machine
        self.assertNotEqual(last[4], 1)
        self.assertLess(last[1], 25)
        self.assertAlmostEqual(last[5], 1.5 * last[4])
        self.check_replay("pollux")

    def test_the_policies_that_read_speeds_need_no_speedup_list(self) -> None:
        for policy in ("optimus", "afs", "pollux", "sia", "good_enough", "elastic_batch_dp"):
            with self.subTest(policy):
                self.write(trainer("one", "good", 1, 0.01).replace("gpu = 1", "gpu = { min = 1, max = 2 }"),
                           head=f'policy = "{policy}"\ndevices = {{ count = 2, cpu = 0.5 }}\n')
                done = self.run_jobs("--dry-run")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertRegex(done.stdout, "one +devices +0 -> [12] ")

    def advice_for(self, name: str, busy: float, limit: float) -> list[str]:
        words = [PYTHON, str(HERE / "paced_job.py"), "12", str(busy)]
        self.write(job(name, words, f"bounds = {{ cpu = {{ max = {limit} }} }}"), head='policy = "equal_share"\ntick = "200ms"\n')
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line for line in done.stdout.splitlines() if line.startswith("advice: ")]

    def test_a_job_that_its_own_limit_stops_gets_one_line_of_advice(self) -> None:
        self.assertEqual(self.advice_for("limited", 0.2, 0.05),
                         ["advice: limited: its limit of 0.05 cores stops it for more than a tenth of the time; raise max of bounds.cpu"])
        stopped = [one["columns"]["jobs/throttled.cpu"][0] for one in self.decisions()]
        self.assertGreater(max(stopped), 0.1)

    def test_a_job_that_waits_for_input_gets_one_line_of_advice(self) -> None:
        self.assertEqual(self.advice_for("waiting", 0.1, 0.15),
                         ["advice: waiting: it uses less CPU than it could, as if it waited for input; load its data ahead, "
                          "or reduce max of bounds.cpu"])

    def test_an_estimator_from_a_file_comes_before_that_of_ration(self) -> None:
        path = f"{os.environ['RATION_TEST_PLUGINS']}/steps_left.so"
        head = f'policy = "srtf"\nestimators = ["{path}"]\nsteps_left = {{ total = 50 }}\ndevices = {{ count = 1, cpu = 0.5 }}\ntick = "100ms"\n'
        self.write(trainer("one", "good", 20, 10 / 2.5), head=head)
        done = self.run_jobs("--log", "log.jsonl", "--quiet")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        steps = [one["columns"]["jobs/step"][0] for one in self.decisions()]
        self.assertEqual(self.remaining("one"), [50 - step for step in steps])
        self.assertGreater(max(steps), 0)
        self.check_replay("srtf")

    def test_an_estimator_that_fails_leaves_its_columns_unknown_and_the_run_goes_on(self) -> None:
        path = f"{os.environ['RATION_TEST_PLUGINS']}/guess.so"
        head = f'policy = "srtf"\nestimators = ["{path}"]\nguess = {{ infinite = 1 }}\ndevices = {{ count = 1, cpu = 0.5 }}\ntick = "100ms"\n'
        self.write(trainer("one", "good", 20, 10 / 2.5), head=head)
        done = self.run_jobs("--log", "log.jsonl", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("estimator org.example.guess: computes a value for jobs/remaining that is infinite; it is not asked any more; "
                      "its columns are unknown without an answer", done.stderr)
        self.assertEqual(set(self.remaining("one")), {"nan"})

    def test_a_wrong_list_of_estimators_is_refused_in_one_sentence(self) -> None:
        for files, sentence in (('"srtf"', "jobs.toml:2:15: 'estimators' has the paths of .so files, each in quotes"),
                                ('"/nowhere/mine.so"', "jobs.toml:2:15: /nowhere/mine.so: "),
                                (f'"{os.environ["RATION_PLUGINS"]}/las.so"', "it computes no column: name a plugin that ends with RATION_EXPORT_ESTIMATOR")):
            with self.subTest(files):
                self.write(trainer("one", "good", 20, 10 / 2.5), head=f'policy = "srtf"\nestimators = [{files}]\ndevices = {{ count = 1, cpu = 0.5 }}\n')
                done = self.run_jobs()
                self.assertEqual(done.returncode, 2)
                self.assertIn(sentence, done.stderr)

    def test_ration_sim_and_policies_take_an_estimator_from_a_file(self) -> None:
        path = f"{os.environ['RATION_TEST_PLUGINS']}/steps_left.so"
        words = ["sim", "--generate", "rigid:jobs=20,per_hour=60", "--cluster", "1x4", "--policy", "srtf", "--estimate", path, "--json", "--quiet"]
        done = subprocess.run([RATION, *words, "--set", "steps_left.total=1e6"], text=True, capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        policies = json.loads(done.stdout.splitlines()[0])["policies"]
        self.assertEqual([one["policy"] for one in policies], ["srtf", "srtf (exact)"])
        self.assertEqual([run["failure"] for one in policies for run in one["runs"]], [None, None])
        self.assertNotEqual(*(one["figures"]["mean_jct"]["mean"] for one in policies))
        shown = subprocess.run([RATION, "policies", "--show", path], text=True, capture_output=True, timeout=PATIENCE, check=False)
        self.assertIn("an estimator: computes jobs/remaining", shown.stdout)
        checked = subprocess.run([RATION, "check", path], text=True, capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout)
        patched = self.folder / "patched.so"
        patched.write_bytes(Path(f"{os.environ['RATION_TEST_PLUGINS']}/guess.so").read_bytes().replace(b"jobs/remaining f64", b"jobs/submitted i64"))
        for option, wrong, sentence in (("--estimate", str(patched),
                                         f"{patched}: the simulation fills jobs/submitted, and an estimator cannot compute it; choose another column"),
                                        ("--policy", path, "it is an estimator: name a policy"),
                                        ("--estimate", f"{os.environ['RATION_PLUGINS']}/las.so", "is a policy: name the file of an estimator")):
            with self.subTest(option):
                done = subprocess.run([RATION, *words[:-2], option, wrong], text=True, capture_output=True, timeout=PATIENCE, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(sentence, done.stderr)

    def check_replay(self, policy: str) -> None:
        """The log has the estimates: a replay, which has no estimator, answers the same."""
        done = subprocess.run([RATION, "replay", "log.jsonl", "--policy", policy, "--json"], cwd=self.folder, text=True, capture_output=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        again = json.loads(done.stdout)[0]["replayed"][0]
        self.assertEqual((again["same"], again["first"]), (again["decisions"], None))


main()
