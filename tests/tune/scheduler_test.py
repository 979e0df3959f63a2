# SPDX-License-Identifier: BSL-1.0
"""ration.tune with the real `ration decide` and a model of Ray Tune (fake_ray.py), and the client ration.decide."""
import os
import pathlib
import pickle
import sys
import tempfile
import time
import unittest
from unittest import mock

import fake_ray

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
fake_ray.install()
from ration import tune  # noqa: E402  pylint: disable=wrong-import-position
from ration.decide import Decide, DecideEnded, DecideError  # noqa: E402  pylint: disable=wrong-import-position

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
SPEEDUP = [0, 1, 1.9, 2.7, 3.4]
ELASTIC = {"elastic_batch_dp.interval": 1, "elastic_batch_dp.horizon": 0}
GPU = {"CPU": 1.0, "GPU": 1.0}
Trial = fake_ray.Trial


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = fake_ray.Clock()
        self.enterContext(mock.patch.object(tune, "time", self.clock))

    def scheduler(self, policy: str = "elastic_batch_dp", **options: object) -> tune.RationScheduler:
        defaults = {"bounds": (1, 2), "speedup": SPEEDUP, "parameters": ELASTIC, "tick": 1.0} if policy == "elastic_batch_dp" else {"tick": 1.0}
        scheduler = tune.RationScheduler(policy, ration=RATION, **{**defaults, **options})
        self.addCleanup(scheduler._decide.close)
        return scheduler

    def start(self, scheduler: tune.RationScheduler, *trials: Trial, nodes: dict | None = None) -> fake_ray.Tune:
        controller = fake_ray.Tune(scheduler, nodes or {"a": dict(fake_ray.GPU_NODE), "b": dict(fake_ray.GPU_NODE)}, self.clock)
        controller.add(*trials)
        return controller

    def assert_all_ended(self, controller: fake_ray.Tune) -> None:
        self.assertEqual({trial.trial_id: trial.status for trial in controller.trials if trial.status != Trial.TERMINATED}, {})
        self.assertEqual({trial.trial_id: trial.executed for trial in controller.trials if trial.executed != trial.steps}, {})  # no step twice
        self.assertLess(controller.longest_wait, 0.3)  # Tune has waited only until stopped actors were gone


class Gpus(Case):
    def test_trials_grow_when_others_end_and_none_exceeds_a_node(self) -> None:
        trials = [Trial(f"t{n}", 6 + 8 * n, GPU) for n in range(6)]
        controller = self.start(self.scheduler(bounds=(1, 4)), *trials)
        controller.run(200)
        self.assert_all_ended(controller)
        self.assertEqual({size for trial in trials for size in trial.sizes}, {1, 2})
        self.assertEqual([trial.sizes[0] for trial in trials[:4]], [1, 1, 1, 1])
        self.assertEqual(trials[-1].sizes[-1], 2)

    def test_a_trial_alone_shrinks_for_a_later_one(self) -> None:
        first, second = Trial("first", 60, GPU), Trial("second", 20, GPU)
        controller = self.start(self.scheduler(), first, nodes={"a": dict(fake_ray.GPU_NODE)})
        controller.run(5)
        controller.add(second)
        controller.run(200)
        self.assert_all_ended(controller)
        self.assertEqual((first.sizes, second.sizes), ([2, 1, 2], [1]))

    def test_an_end_causes_a_request_before_the_tick(self) -> None:
        long, short = Trial("long", 40, GPU), Trial("short", 4, GPU)
        controller = self.start(self.scheduler(tick=1e6), long, short, nodes={"a": dict(fake_ray.GPU_NODE)})
        controller.run(100)
        self.assert_all_ended(controller)
        self.assertEqual(long.sizes, [1, 2])

    def test_cpus_of_the_trials_limit_how_many_start(self) -> None:
        trials = [Trial(f"t{n}", 5, {"CPU": 3.0, "GPU": 1.0}) for n in range(3)]
        controller = self.start(self.scheduler(bounds=(1, 1)), *trials)
        controller.run(100)
        self.assert_all_ended(controller)

    def test_a_trial_that_saves_nothing_keeps_its_size(self) -> None:
        trials = [Trial("silent", 30, GPU, saves=False), Trial("short", 4, GPU), Trial("other", 4, GPU)]
        controller = self.start(self.scheduler(), *trials, nodes={"a": {"CPU": 4.0, "GPU": 3.0}})
        controller.run(100)
        self.assert_all_ended(controller)
        self.assertEqual(trials[0].sizes, [1])

    def test_a_failed_trial_starts_again(self) -> None:
        trial = Trial("t", 10, GPU)
        controller = self.start(self.scheduler(), trial)
        controller.run(3)
        controller.scheduler.on_trial_error(controller, trial)
        trial.status = Trial.PENDING
        controller.scheduler.on_trial_add(controller, trial)
        controller.run(50)
        self.assertEqual((trial.status, trial.executed), (Trial.TERMINATED, 10))

    def test_a_lost_node_costs_only_its_trials_a_restart(self) -> None:
        trials = [Trial(f"t{n}", 20, GPU) for n in range(4)]
        controller = self.start(self.scheduler(), *trials)
        controller.run(4)
        controller.lose("b")
        controller.run(100)
        self.assertEqual({trial.status for trial in trials}, {Trial.TERMINATED})

    def test_a_node_lost_before_the_start_blocks_no_trial(self) -> None:
        trials = [Trial(f"t{n}", 5, GPU) for n in range(4)]
        controller = self.start(self.scheduler(bounds=(1, 1)), *trials)
        controller.run(0.3)  # all are staged, and none runs
        self.assertEqual({trial.status for trial in trials}, {Trial.PENDING})
        for trial in trials:
            if trial.node == "b":
                trial.ready_at = 0.0
        del controller.nodes["b"]
        controller.run(60)
        self.assertEqual({trial.status for trial in trials}, {Trial.TERMINATED})

    def test_rigid_policies_start_what_the_trial_asks_for(self) -> None:
        trials = [Trial(f"t{n}", 5, {"CPU": 1.0, "GPU": 2.0}) for n in range(3)]
        nodes = {name: {"CPU": 4.0, "GPU": 3.0} for name in "ab"}  # the third trial fits on both together only
        controller = self.start(self.scheduler("fifo", bounds=(2, 2)), *trials, nodes=nodes)
        controller.run(100)
        self.assert_all_ended(controller)
        self.assertEqual({size for trial in trials for size in trial.sizes}, {2})


class Cpus(Case):
    def test_tradl_limits_an_acceptable_trial_and_ends_it_at_its_objective(self) -> None:
        quick = Trial("quick", 400, {"CPU": 1.0}, loss=lambda step: 1 / step)
        slow = Trial("slow", 40, {"CPU": 1.0}, loss=lambda step: 100 / step)
        scheduler = self.scheduler("tradl", resource="CPU", bounds=(0.25, 8), targets=(0.1, 0.02), tick=1.0)
        controller = self.start(scheduler, quick, slow, nodes={"a": {"CPU": 4.0}})
        controller.run(200)
        self.assertEqual({trial.status for trial in controller.trials}, {Trial.TERMINATED})
        self.assertEqual(quick.executed, 50)  # its objective, and not its 400 steps
        self.assertEqual((quick.sizes[0], slow.sizes[0]), (2.0, 2.0))
        self.assertLess(min(quick.sizes), 2.0)
        self.assertGreater(max(slow.sizes), 2.0)
        self.assertLess(controller.longest_wait, 0.3)

    def test_a_trial_that_saves_nothing_ends_at_its_objective_too(self) -> None:
        trials = [Trial("silent", 400, {"CPU": 1.0}, saves=False), Trial("other", 200, {"CPU": 1.0}, loss=lambda step: 1.0)]
        controller = self.start(self.scheduler("tradl", resource="CPU", bounds=(0.25, 8), targets=(0.1, 0.02)), *trials, nodes={"a": {"CPU": 4.0}})
        controller.run(200)
        self.assertEqual([trial.executed for trial in trials], [50, 200])

    def test_trials_that_need_more_than_there_is_wait(self) -> None:
        trials = [Trial(f"t{n}", 10, {"CPU": 1.0}) for n in range(5)]
        controller = self.start(self.scheduler("tradl", resource="CPU", bounds=(2, 4), targets=(0, -1)), *trials, nodes={"a": {"CPU": 4.0}})
        controller.run(200)
        self.assert_all_ended(controller)


class Faults(Case):
    def test_a_killed_program_is_started_again(self) -> None:
        trials = [Trial(f"t{n}", 30, GPU) for n in range(5)]
        scheduler = self.scheduler()
        controller = self.start(scheduler, *trials)
        controller.run(3)
        first = scheduler._decide._child
        first.kill()
        first.wait()
        with self.assertLogs("ration.tune", "WARNING") as logs:
            controller.run(200)
        self.assertIn("The trials keep their sizes", logs.output[0])
        self.assertEqual(len(logs.output), 1)
        self.assert_all_ended(controller)

    def test_no_first_answer_ends_the_search(self) -> None:
        for policy, ration, sentence in (("no_such_policy", RATION, "no_such_policy"), ("fifo", "/nonexistent/ration", "install ration"),
                                         ("loss_delta_ratio", RATION, "loss")):
            scheduler = tune.RationScheduler(policy, ration=ration)
            controller = self.start(scheduler, Trial("t", 1, GPU))
            with self.assertRaisesRegex(DecideError, sentence):
                controller.run(1)
            scheduler._decide.close()

    def test_arguments_are_checked(self) -> None:
        for options in ({"resource": "TPU"}, {"bounds": (0, 1)}, {"bounds": (2, 1)}, {"targets": (0.1,)}, {"targets": (3, 2, 1)}):
            with self.assertRaises(ValueError):
                tune.RationScheduler("fifo", **options)
        trial = Trial("t", 1, GPU)
        trial.placement_group_factory.bundles.append({"GPU": 1.0})
        with self.assertRaisesRegex(ValueError, "several bundles"):
            self.start(self.scheduler(), trial)

    def test_tune_can_copy_the_scheduler(self) -> None:
        scheduler = self.scheduler()
        controller = self.start(scheduler, Trial("t", 3, GPU))
        controller.run(20)
        copy = pickle.loads(pickle.dumps(scheduler))
        self.addCleanup(copy._decide.close)
        self.assertIsNone(copy._decide._child)
        controller = self.start(copy, Trial("t", 3, GPU))
        controller.run(20)
        self.assert_all_ended(controller)


class Client(unittest.TestCase):
    def test_a_large_request_and_its_answer_pass_through_the_pipes(self) -> None:
        with Decide("equal_share", program=RATION) as policy:
            jobs = [{"id": f"job-{n}-{'x' * 100}", "state": "running"} for n in range(3000)]
            answer = policy.ask(nodes=[{"id": "n", "capacity.cpu": 3000 * 1000}], jobs=jobs)
            self.assertEqual([grant["amount"] for grant in answer["grants"]], [1000] * 3000)
            with self.assertRaisesRegex(DecideError, "runing"):
                policy.ask(jobs=[{"id": 1, "state": "runing"}])
            self.assertEqual(len(policy.ask()["grants"]), 3000)

    def test_a_request_that_is_not_json_leaves_the_program_and_its_tables(self) -> None:
        with Decide("equal_share", program=RATION) as policy:
            policy.ask(nodes=[{"id": "n", "capacity.cpu": 1000}], jobs=[{"id": "a", "state": "running"}])
            for weight in (float("nan"), b"1"):
                with self.assertRaisesRegex(DecideError, "not JSON") as raised:
                    policy.ask(jobs=[{"id": "a", "state": "running", "weight": weight}])
                self.assertNotIsInstance(raised.exception, DecideEnded)
            self.assertEqual([grant["job"] for grant in policy.ask()["grants"]], ["a"])

    def test_a_program_that_does_not_answer_is_ended(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "ration")
            for script, sentence in (("exec sleep 60", "within 0.2 s"), ("echo x; exec sleep 60", "Expecting value"), ("exit 2", "has ended|Broken pipe")):
                program.write_text(f"#!/bin/sh\n{script}\n")
                program.chmod(0o755)
                began = time.monotonic()
                policy = Decide("fifo", program=str(program), timeout=0.2)
                with self.assertRaisesRegex(DecideEnded, sentence):
                    policy.ask()
                self.assertLess(time.monotonic() - began, 30)
                self.assertIsNone(policy._child)


if __name__ == "__main__":
    unittest.main()
