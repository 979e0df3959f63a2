# SPDX-License-Identifier: BSL-1.0
"""`srtf` with real jobs: ration estimates the steps that they still have from the losses that they report."""
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
        self.check_replay()

    def check_replay(self) -> None:
        """The log has the estimates: a replay, which has no estimator, answers the same."""
        done = subprocess.run([RATION, "replay", "log.jsonl", "--policy", "srtf", "--json"], cwd=self.folder, text=True, capture_output=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        again = json.loads(done.stdout)[0]["replayed"][0]
        self.assertEqual((again["same"], again["first"]), (again["decisions"], None))


main()
