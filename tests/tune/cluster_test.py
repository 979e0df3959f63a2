# SPDX-License-Identifier: BSL-1.0
"""ration.tune in the real Ray Tune (cluster.sh): two nodes with two simulated GPUs each."""
import os
import pathlib
import tempfile
import threading
import time
import unittest
from unittest import mock

os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
import ray  # noqa: E402  pylint: disable=wrong-import-position
from ray import tune  # noqa: E402  pylint: disable=wrong-import-position
from ray.cluster_utils import Cluster  # noqa: E402  pylint: disable=wrong-import-position

from ration.tune import RationScheduler  # noqa: E402  pylint: disable=wrong-import-position
import trial  # noqa: E402  pylint: disable=wrong-import-position

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])


class Search(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.cluster = Cluster(initialize_head=True, head_node_args={**trial.NODE, "include_dashboard": False})
        self.addCleanup(self.cluster.shutdown)
        self.second = self.cluster.add_node(**trial.NODE)
        ray.init(address=self.cluster.address, log_to_driver=False)
        self.addCleanup(ray.shutdown)

    def search(self, steps: list[int], scheduler: RationScheduler) -> None:
        config = {"number": tune.grid_search(list(range(len(steps)))), "folder": str(self.folder), "step_time": 0.4, "quality": 0.5, "target": 0, "speedup": trial.SPEEDUP,
                  "steps": tune.sample_from(lambda config: steps[config["number"]])}
        tuner = tune.Tuner(tune.with_resources(trial.train, {"cpu": 1, "gpu": 1}), param_space=config,
                           tune_config=tune.TuneConfig(metric="loss", mode="min", scheduler=scheduler),
                           run_config=tune.RunConfig(storage_path=str(self.folder / "tune"), verbose=0, failure_config=tune.FailureConfig(max_failures=2)))
        results = tuner.fit()
        self.addCleanup(scheduler._decide.close)
        self.assertEqual(results.num_errors, 0)
        self.assertEqual(sorted(len(set(line["step"] for line in lines)) for lines in trial.read_steps(self.folder).values()), sorted(steps))

    def scheduler(self, most: int) -> RationScheduler:
        return RationScheduler("elastic_batch_dp", bounds=(1, most), speedup=trial.SPEEDUP, tick=1.0,
                               parameters={"elastic_batch_dp.interval": 2, "elastic_batch_dp.horizon": 60}, ration=RATION)

    def assert_no_device_twice(self) -> None:
        runs = {}  # (node, device): [(began, ended)]
        for lines in trial.read_steps(self.folder).values():
            for began in {line["began"] for line in lines}:
                run = [line for line in lines if line["began"] == began]
                for device in run[0]["devices"]:
                    runs.setdefault((run[0]["node"], device), []).append((began, run[-1]["ended"]))
        for spans in runs.values():
            spans.sort()
            for (_, ended), (began, _) in zip(spans, spans[1:]):
                self.assertLess(ended, began)

    def test_trials_wait_grow_and_repeat_no_step(self) -> None:
        steps = [6, 8, 8, 80, 10]
        self.search(steps, self.scheduler(4))  # a node has two
        lines = trial.read_steps(self.folder)
        self.assertEqual([len(lines[number]) for number in range(len(steps))], steps)
        self.assertEqual({len(line["devices"]) for number in lines for line in lines[number]}, {1, 2})
        self.assertEqual(len(lines[3][0]["devices"]), 1)
        self.assertEqual(len(lines[3][-1]["devices"]), 2)
        self.assertGreater(lines[4][0]["began"], min(lines[number][-1]["ended"] for number in range(4)))  # the fifth has waited
        self.assert_no_device_twice()

    def test_a_killed_program_and_a_lost_node_cost_no_trial(self) -> None:
        scheduler = self.scheduler(2)

        def disturb() -> None:
            while len(trial.read_steps(self.folder)) < 4:
                time.sleep(0.1)
            scheduler._decide._child.kill()
            time.sleep(2)
            self.cluster.remove_node(self.second)

        disturber = threading.Thread(target=disturb)
        disturber.start()
        self.search([12, 14, 16, 18], scheduler)
        disturber.join()
        lost = self.second.node_id
        last = {line["node"] for lines in trial.read_steps(self.folder).values() for line in lines[-1:]}
        self.assertNotIn(lost, last)
        self.assert_no_device_twice()

    def test_a_node_lost_before_a_trial_runs_there_costs_no_trial(self) -> None:
        withdrawn: list[str] = []
        choose, withdraw = RationScheduler.choose_trial_to_run, RationScheduler._withdraw

        def choose_and_disturb(scheduler: RationScheduler, controller: object) -> object:
            chosen = choose(scheduler, controller)
            if chosen is not None and scheduler._members[chosen.trial_id].placement.node == self.second.node_id:
                self.cluster.remove_node(self.second)
            return chosen

        def record(controller: object, chosen: object) -> None:
            withdrawn.append(chosen.trial_id)
            withdraw(controller, chosen)

        with mock.patch.object(RationScheduler, "choose_trial_to_run", choose_and_disturb), mock.patch.object(RationScheduler, "_withdraw", staticmethod(record)):
            self.search([4, 4, 4], self.scheduler(2))
        self.assertEqual(len(set(withdrawn)), 1)


if __name__ == "__main__":
    unittest.main()
