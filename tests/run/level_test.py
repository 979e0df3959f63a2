# SPDX-License-Identifier: BSL-1.0
"""Services with a level: it holds, is lost and holds again; the reports of the run; and devices for services below their level."""
import json
import subprocess

from support import HERE, PATIENCE, PYTHON, RATION, RunTest, job, main, of

LEVEL = 'target = { p95 = { at_most = 0.2, over = "1s" } }'
DEADLINES = 'deadlines = { save = "60s", stop = "60s", start = "60s" }\n'


def service(seconds: float, needed: int, *values: float, more: str = "") -> str:
    return job("web", [PYTHON, str(HERE / "level_service.py"), str(seconds), str(needed), *map(str, values)], more, target=LEVEL)


class Levels(RunTest):
    def test_a_level_holds_is_lost_and_holds_again(self) -> None:
        self.write(service(7, 1, 0.1, 0.1, 0.1, 0.5, 0.5, 0.1))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        events = self.events()
        levels = of(events, "level", "web")
        self.assertEqual([e["holds"] for e in levels], [True, False, True], levels)
        self.assertTrue(all((e["slack"] >= 0) == e["holds"] for e in levels), levels)
        self.assertEqual(of(events, "tier_reached"), [])
        decisions = [e["columns"] for e in of(events, "decision") if e["columns"]["jobs/id"]]
        slacks = [c["jobs/slo.slack"][0] for c in decisions if c["jobs/slo.slack"][0] != "nan"]
        self.assertAlmostEqual(max(slacks), 0.5)
        self.assertAlmostEqual(min(slacks), -1.5)
        self.assertEqual({c["jobs/tier"][0] for c in decisions}, {0, 1})
        self.check_reports(done, events)

    def check_reports(self, done: subprocess.CompletedProcess, events: list[dict]) -> None:
        """All figures are those of the same tracker, and about 5 of the 7 s were met."""
        (ended,) = of(events, "job_ended")
        met = ended["level_met"]
        self.assertGreater(met, 0.5)
        self.assertLess(met, 0.9)
        self.assertEqual(of(events, "run_ended")[0]["jobs"][0]["level_met"], met)
        self.assertIn(f"level met {100 * met:.0f} % of the time", done.stdout)
        self.assertIn("web has lost its level: p95 ", done.stdout)
        replayed = subprocess.run([RATION, "replay", "log.jsonl", "--policy", "none", "--json"], cwd=self.folder, check=True, capture_output=True, text=True, timeout=PATIENCE)
        (answers,) = json.loads(replayed.stdout)[0]["replayed"]
        self.assertEqual(answers["same"], answers["decisions"])

    def test_a_service_without_reports_loses_its_level(self) -> None:
        script = "echo p95=0.1; sleep 0.6; echo p95=0.1; sleep 0.6; echo p95=0.1; sleep 3"
        self.write(job("web", ["/bin/sh", "-c", script], r"log = 'p95=(?<p95>\S+)'", target=LEVEL))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        levels = of(self.events(), "level")
        self.assertEqual([e["holds"] for e in levels], [True, False])
        self.assertEqual((levels[-1]["value"], levels[-1]["met"]), ("nan", 0))
        self.assertLess(of(self.events(), "job_ended")[0]["level_met"], 0.8)

    def grown(self, policy: str) -> tuple[int, list[bool]]:
        """The devices of a service that needs three of four beside a training job, and what became of its level."""
        head = f'policy = "wants"\n{policy}\ndevices = {{ count = 4, cpu = 0.25 }}\ntick = "100ms"\n'
        bounds = f"bounds = {{ gpu = {{ min = 1, max = 4 }} }}\n{DEADLINES}"
        training = job("training", [PYTHON, str(HERE / "elastic_job.py"), "outlasts", "100"], bounds)
        self.write(training, service(12, 3, more=bounds), head=head)
        done = self.run_jobs("--log", "log.jsonl", "--backend", "process")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        started = of(self.events(), "job_started", "web")
        return len(started[-1]["devices"].split(",")), [e["holds"] for e in of(self.events(), "level", "web")]

    def test_levels_first_gives_a_service_the_device_that_it_lacks(self) -> None:
        devices, holds = self.grown("wants = { levels_first = true }")
        self.assertEqual((devices, holds[-1:]), (3, [True]))

    def test_without_it_the_devices_are_divided_evenly_and_the_level_is_missed(self) -> None:
        devices, holds = self.grown("")
        self.assertEqual((devices, holds), (2, []))


main()
