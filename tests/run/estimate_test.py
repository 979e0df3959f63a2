# SPDX-License-Identifier: BSL-1.0
"""Policies with real jobs: ration estimates the steps that these still have from their losses, and their speeds from those that it measures."""
import json
import subprocess

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
        words = [PYTHON, str(HERE / "paced_job.py"), "9", str(busy)]
        self.write(job(name, words, f"bounds = {{ cpu = {{ max = {limit} }} }}"), head='policy = "equal_share"\ntick = "200ms"\n')
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line for line in done.stdout.splitlines() if line.startswith("advice: ")]

    def test_a_job_that_its_own_limit_stops_gets_one_line_of_advice(self) -> None:
        self.assertEqual(self.advice_for("limited", 1, 0.1),
                         ["advice: limited: its limit of 0.1 cores stops it for more than a tenth of the time; raise max of bounds.cpu"])
        stopped = [one["columns"]["jobs/throttled.cpu"][0] for one in self.decisions()]
        self.assertGreater(max(stopped), 0.3)

    def test_a_job_that_waits_for_input_gets_one_line_of_advice(self) -> None:
        self.assertEqual(self.advice_for("waiting", 0.1, 0.15),
                         ["advice: waiting: it uses less CPU than it could, as if it waited for input; load its data ahead, "
                          "or reduce max of bounds.cpu"])

    def check_replay(self, policy: str) -> None:
        """The log has the estimates: a replay, which has no estimator, answers the same."""
        done = subprocess.run([RATION, "replay", "log.jsonl", "--policy", policy, "--json"], cwd=self.folder, text=True, capture_output=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        again = json.loads(done.stdout)[0]["replayed"][0]
        self.assertEqual((again["same"], again["first"]), (again["decisions"], None))


main()
