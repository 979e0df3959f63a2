# SPDX-License-Identifier: BSL-1.0
"""`ration twin`: a recorded run beside its simulation. Most logs are of a made-up machine, whose figures are known."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from machine import ElasticJob, ElasticRun, Job, Run

HERE = pathlib.Path(__file__).resolve().parent
RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
NAME_A_LOG = "name a log that 'ration run --log' wrote"


def first(**more) -> Job:
    return Job(**({"name": "first", "speed": 100, "steps": 1500, "acceptable": 300, "objective": 1000} | more))


def second(**more) -> Job:
    return Job(**({"name": "second", "speed": 50, "steps": 400, "at": 4, "start": 1, "acceptable": 100, "objective": 250} | more))


def edited(log: str, **edits) -> str:
    """The log after functions, called like events, have changed theirs; None removes the event."""
    events = [json.loads(line) for line in log.splitlines()]
    changed = (edits.get(event["event"], lambda e: e)(event) for event in events)
    return "".join(json.dumps(event) + "\n" for event in changed if event is not None)


class Twin(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="ration-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def twin(self, *arguments: str, **logs: str) -> subprocess.CompletedProcess:
        for name, text in logs.items():
            (self.folder / f"{name}.jsonl").write_text(text)
        return subprocess.run([RATION, "twin", "run.jsonl", *arguments], cwd=self.folder, text=True, capture_output=True, timeout=60, check=False)

    def result(self, *arguments: str, **logs: str) -> tuple[dict, dict]:
        done = self.twin(*arguments, "--json", **logs)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        figures, sides = done.stdout.splitlines()
        return json.loads(figures), json.loads(sides)

    def refusal(self, *arguments: str, **logs: str) -> str:
        done = self.twin(*arguments, **logs)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr

    def test_the_models_are_those_of_the_machine(self) -> None:
        twin, _ = self.result(run=Run([first(), second()]).log())
        slow = {model["job"]: model for model in twin["models"]}["second"]
        self.assertAlmostEqual(slow["steps_per_core_second"], 50, delta=1)
        self.assertAlmostEqual(slow["start_core_seconds"], 1, delta=0.15)
        self.assertEqual((slow["steps"], slow["acceptable_step"], slow["objective_step"]), (400, 100, 250))
        self.assertEqual(twin["cores"], 1)
        self.assertEqual(len(twin["figures"]), 7)
        self.assertLess(twin["mean_error"], 1.5)
        self.assertEqual(twin["remarks"], [])

    def test_cores_that_policies_see_and_jobs_do_not_get(self) -> None:
        twin, _ = self.result(run=Run([first(), second()], cores=1, shown=2).log())
        self.assertEqual(twin["cores"], 2)
        self.assertAlmostEqual(twin["most_used_cores"], 1, delta=0.01)
        self.assertLess(twin["mean_error"], 1.5)

    def test_cores_that_jobs_leave_are_no_limit(self) -> None:
        """Each uses the one core that it can, of four: together two, and there would be more."""
        twin, _ = self.result(run=Run([first(), second()], cores=4).log())
        self.assertEqual(twin["most_used_cores"], 4)
        self.assertEqual({model["most_cores"] for model in twin["models"]}, {1})

    def test_a_prediction_has_the_models_of_one_log_and_the_machine_of_the_other(self) -> None:
        fitted = Run([first(), second()]).log()
        same, _ = self.result("--against", "other.jsonl", run=fitted, other=Run([first(), second()], policy="equal_share").log())
        self.assertEqual((same["fitted_policy"], same["measured_policy"], same["measured_log"]), ("none", "equal_share", "other.jsonl"))
        self.assertLess(same["mean_error"], 1.5)
        half, _ = self.result("--against", "other.jsonl", run=fitted, other=Run([first(), second()], cores=0.5, shown=0.5).log())
        self.assertLess(half["mean_error"], 1.5)
        slower = Run([first(speed=50), second(speed=25)]).log()
        wrong, _ = self.result("--against", "other.jsonl", run=fitted, other=slower)
        self.assertAlmostEqual(wrong["mean_error"], 50, delta=5)

    def test_a_log_with_two_runs_predicts_the_second_from_the_first(self) -> None:
        both = Run([first(), second()]).log() + Run([first(), second()], policy="equal_share").log()
        twin, _ = self.result("--against", "run.jsonl", run=both)
        self.assertEqual((twin["fitted_policy"], twin["measured_policy"]), ("none", "equal_share"))
        alone, _ = self.result(run=both)
        self.assertEqual((alone["fitted_policy"], alone["measured_policy"]), ("none", "none"))

    def test_other_policies_are_simulated_on_the_same_machine(self) -> None:
        _, sides = self.result("--policy", "tradl", run=Run([first(), second()]).log())
        self.assertEqual([run["label"] for run in sides["runs"]], ["measured (none)", "none", "tradl"])
        under = {job["job"]: job for job in sides["runs"][2]["jobs"]}
        alone = {job["job"]: job for job in sides["runs"][1]["jobs"]}
        self.assertEqual((under["first"]["released"], alone["first"]["released"]), (1, 0))
        self.assertLess(under["second"]["to_acceptable"], 0.9 * alone["second"]["to_acceptable"])  # first is limited, having reached its own
        _, whole = self.result("--policy", "tradl", "--set", "tradl.scenario=NA", run=Run([first(), second()]).log())
        self.assertEqual(whole["runs"][2]["jobs"][0]["to_end"], alone["first"]["to_end"])

    def test_a_job_that_takes_no_commands_trains_on_beyond_its_objective(self) -> None:
        unmodified = first(more="log = 'step=(?<step>\\d+) loss=(?<loss>\\S+)'")
        _, sides = self.result("--policy", "tradl", run=Run([unmodified, second()]).log())
        job = sides["runs"][2]["jobs"][0]
        self.assertEqual((job["job"], job["released"]), ("first", 0))
        self.assertGreater(job["to_end"], job["to_objective"] + 3)

    def test_a_tier_that_the_log_does_not_reach_follows_from_the_loss_curve(self) -> None:
        def stop(event: dict) -> dict | None:
            return event | {"how": "stopped"} if event["job"] == "first" else event

        def summary(event: dict) -> dict:
            event["jobs"][0] |= {"how": "stopped", "step": 900, "objective_at": None}
            return event

        log = edited(Run([first(), second()]).log(), job_ended=stop, run_ended=summary,
                     progress=lambda e: None if e["job"] == "first" and e["step"] > 900 else e,
                     tier_reached=lambda e: None if (e["job"], e["tier"]) == ("first", 2) else e,
                     decision=lambda e: None if e["columns"]["jobs/step"] and e["columns"]["jobs/step"][0] > 900 and 1 in e["columns"]["jobs/id"] else e)
        twin, sides = self.result(run=log)
        model = twin["models"][0]
        self.assertTrue(model["objective_is_forecast"])
        self.assertFalse(model["acceptable_is_forecast"])
        self.assertAlmostEqual(model["objective_step"], 1000, delta=60)
        self.assertEqual(model["steps"], 1500)
        self.assertIn("~", self.twin(run=log).stdout)
        self.assertIsNone(sides["runs"][0]["jobs"][0]["to_end"])

    def test_people_read_the_models_the_comparison_and_the_error(self) -> None:
        done = self.twin(run=Run([first(), second()]).log())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "Models fitted to run.jsonl, a run under none")
        self.assertEqual(lines[1].split(), "job steps speed start most cores Acceptable at Objective at".split())
        self.assertEqual(lines[5], "Measured in run.jsonl: 1.00 cores on average for its policy, of which its jobs could use 1.00")
        self.assertEqual(lines[6].split(), ["measured", "(none)", "none", "change"])
        self.assertRegex(lines[-1], r"^Mean absolute error of the simulation under none: \d\.\d % over 7 figures; the largest is [+-]\d\.\d %, the time of \w+ to [\w ]+\.$")

    def test_a_recorded_run_of_the_quickstart(self) -> None:
        """Four trainers, fitted without a policy, and predicted under tradl."""
        log = (HERE / "quickstart.jsonl").read_text()
        same, _ = self.result(run=log)
        self.assertEqual((same["measured_policy"], len(same["figures"])), ("none", 13))
        self.assertLess(same["mean_error"], 5)
        other, _ = self.result("--against", "run.jsonl", run=log)
        self.assertEqual((other["measured_policy"], len(other["figures"])), ("tradl", 13))
        self.assertLess(other["mean_error"], 5)

    def test_the_page_shows_the_output(self) -> None:
        page = (HERE.parents[1] / "docs/twin.md").read_text()
        command, shown = page.split("```sh\nration twin quickstart.jsonl ", 1)[1].split("\n```\n\n```\n", 1)
        done = subprocess.run([RATION, "twin", "quickstart.jsonl", *command.split()], cwd=HERE, text=True, capture_output=True, timeout=60, check=True)
        self.assertEqual(done.stdout, shown.split("```\n", 1)[0])

    def test_jobs_on_devices_have_speeds_by_devices_and_a_cost_of_changes(self) -> None:
        rates = {2: 6.0, 4: 10.0}
        older = ElasticJob("older", 0, 600, acceptable=5000, objective=6000, rates=rates, restart=3, save=2)
        younger = ElasticJob("younger", 0, 600, at=20, acceptable=5000, objective=6000, rates=rates, restart=5, save=2)
        twin, sides = self.result("--policy", "fifo", run=ElasticRun([older, younger]).log())
        self.assertEqual((twin["devices"], twin["cores"], len(twin["figures"])), (4, 0, 3))
        # After the start, 2 s on the old devices make 20 of the 6 steps/s, and 12 of the 10 steps/s
        for model, restart in zip(twin["models"], ((3 + 5 - 20 / 6) / 2, (5 + 7 - 12 / 10) / 2)):
            speeds = {one["devices"]: one["steps_per_second"] for one in model["speeds"]}
            self.assertEqual(set(speeds), set(rates))
            for devices, rate in rates.items():
                self.assertAlmostEqual(speeds[devices], rate, delta=0.05 * rate)
            self.assertAlmostEqual(model["restart_seconds"], restart, delta=0.6)
        self.assertLess(twin["mean_error"], 3)
        self.assertIsNone(sides["runs"][1]["mean_cpu"])
        fifo = {job["job"]: job["to_end"] for job in sides["runs"][2]["jobs"]}  # older keeps all four devices to its end
        self.assertAlmostEqual(fifo["older"], 3 + 600 / 10, delta=2)
        self.assertGreater(fifo["younger"], fifo["older"] - 20 + 600 / 10)

    def test_speeds_on_other_numbers_of_devices_follow_from_the_measured_ones(self) -> None:
        """1/6 s on two devices and 1/10 s on four are 1/30 s + 4/15 s / k; one measured speed is shared out among the devices."""
        def fit(rates: dict[int, float]) -> list[float]:
            jobs = [ElasticJob(name, 0, 300, at=at, acceptable=5000, objective=6000, rates=rates) for name, at in (("older", 0), ("younger", 10))]
            twin, _ = self.result(run=ElasticRun(jobs[:len(rates)]).log())
            return [twin["models"][0][key] for key in ("fixed_seconds", "divided_seconds")]

        fixed, divided = fit({2: 6.0, 4: 10.0})
        self.assertAlmostEqual(fixed, 1 / 30, delta=0.01)
        self.assertAlmostEqual(divided, 4 / 15, delta=0.03)
        fixed, divided = fit({4: 10.0})
        self.assertEqual(fixed, 0)
        self.assertAlmostEqual(divided, 0.4, delta=0.01)

    def test_logs_that_are_refused(self) -> None:
        log = Run([first(), second()]).log()
        lines = log.splitlines(keepends=True)
        newer = edited(log, run=lambda e: e | {"schema": 99})
        nodes = edited(log, decision=lambda e: e | {"columns": e["columns"] | {"nodes/capacity.cpu": [1000, 1000]}})
        silent = edited(log, progress=lambda e: None if e["job"] == "second" else e)
        stuck = edited(log, decision=lambda e: e | {"columns": e["columns"] | {"jobs/step": [0] * len(e["columns"]["jobs/id"])}})
        unknown = "did not report two steps at different ticks, so that its speed is unknown; name the log of a longer run"
        for text, said in (
                ("", f"run.jsonl: it holds no run; {NAME_A_LOG}"),
                ("".join(lines[:-1]), "run.jsonl: the run under 'none' did not come to its end; name the log of a run that did"),
                (edited(log, run_ended=lambda e: e | {"interrupted": True}), "run.jsonl: the run under 'none' did not come to its end; name the log of a run that did"),
                (log[:-20], "run.jsonl: the run under 'none' did not come to its end; name the log of a run that did"),
                (newer, "run.jsonl:1: the log has schema 99, and this ration reads 1 to 3; use the ration that wrote the log"),
                ("".join(lines[1:]), f"run.jsonl:1: the log does not begin with a run; {NAME_A_LOG}"),
                (lines[0] + '{"event":"decision"\n' + log, f"run.jsonl:2: this is not an event; {NAME_A_LOG}"),
                (nodes, "run.jsonl:3: the run has several nodes; name the log of a run on one machine"),
                (silent, f"run.jsonl: job 'second' {unknown}"),
                (stuck, f"run.jsonl: job 'first' {unknown}"),
                (edited(log, run=lambda e: e | {"source": "policy = 1"}), "run.jsonl:1: its jobs file is damaged: "),
                (edited(log, run=lambda e: e | {"source": e["source"] + "#" * (1 << 20)}), f"run.jsonl:1: its jobs file is larger than 1 MiB; {NAME_A_LOG}")):
            with self.subTest(said=said):
                refusal = self.refusal(run=text)
                self.assertTrue(refusal.startswith(f"ration: {said}"), refusal)
                self.assertEqual(refusal.count("\n"), 1)

    def test_two_logs_that_are_not_of_one_jobs_file(self) -> None:
        log = Run([first(), second()]).log()
        for other in (Run([first(), second(name="third")]).log(), Run([first(), second(at=5)]).log(), Run([first()]).log()):
            self.assertEqual(self.refusal("--against", "other.jsonl", run=log, other=other),
                             "ration: other.jsonl: its jobs or their arrivals are not those of run.jsonl; name two logs of one jobs file\n")

    def test_command_lines_that_are_refused(self) -> None:
        log = Run([first(), second()]).log()
        self.assertEqual(self.refusal("--policy", "tradle", run=log), "ration: --policy: unknown policy 'tradle'; did you mean 'tradl'?\n")
        self.assertIn("ration: --set: ", self.refusal("--set", "tradl.alpha=0.5", run=log))
        self.assertIn("absent.jsonl: cannot be opened", self.refusal("--against", "absent.jsonl", run=log))
        self.assertEqual(self.refusal("--policy", "fifo", run=log),
                         "ration: the policy 'fifo' shares devices, and the recorded machine has none: choose one that shares cores, such as equal_share\n")


if __name__ == "__main__":
    unittest.main()
