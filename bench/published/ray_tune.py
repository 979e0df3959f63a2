#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""One search of Ray Tune under ration's scheduler, ASHA, Ray's own DistributeResources, and fixed sizes, on two nodes with two simulated GPUs each.

    bench/run.sh published.ray [--repetitions 3] [--trials 6] [--limit 100]

A trial trains nothing: its loss falls along a curve, and a step takes 0.4 s on one GPU. The methods take turns in each repetition, on the same
trials. In the control, more GPUs make no trial faster. The table has medians, and ranges in parentheses.
"""
import argparse
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time
from typing import Callable, NamedTuple

os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
import ray  # noqa: E402  pylint: disable=wrong-import-position
from ray import tune  # noqa: E402  pylint: disable=wrong-import-position
from ray.cluster_utils import Cluster  # noqa: E402  pylint: disable=wrong-import-position
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, ResourceChangingScheduler, TrialScheduler  # noqa: E402
from ray.tune.schedulers.resource_changing_scheduler import DistributeResources  # noqa: E402

from claims import Verdict, at_least, at_most, conclude  # noqa: E402  pylint: disable=wrong-import-position
from ration.tune import RationScheduler  # noqa: E402  pylint: disable=wrong-import-position
import trial  # noqa: E402  pylint: disable=wrong-import-position

STEP_TIME, TARGET = 0.4, 0.4  # seconds on one GPU, and a loss
CONTROL_SPEEDUP = [0, 1, 1, 1, 1]  # by GPUs; where more of them are faster, the control breaks


class Method(NamedTuple):
    name: str
    gpus: int  # of a trial at its start
    scheduler: Callable[[argparse.Namespace, list], TrialScheduler]


def ration_scheduler(options: argparse.Namespace, speedup: list) -> RationScheduler:
    return RationScheduler("elastic_batch_dp", bounds=(1, 2), speedup=speedup, tick=1.0, ration=options.program,
                           parameters={"elastic_batch_dp.interval": 2, "elastic_batch_dp.horizon": 60})


def distribute(increases: int) -> Callable:
    return lambda options, speedup: ResourceChangingScheduler(FIFOScheduler(), DistributeResources(increase_by={"GPU": 1}, increase_by_times=increases))


METHODS = (Method("ration, elastic_batch_dp", 1, ration_scheduler),
           Method("ASHA, 1 GPU", 1, lambda options, speedup: ASHAScheduler(grace_period=4, max_t=40, reduction_factor=2)),
           Method("DistributeResources", 1, distribute(-1)),
           Method("DistributeResources, at most a node", 1, distribute(1)),
           Method("fixed, 1 GPU", 1, lambda options, speedup: FIFOScheduler()),
           Method("fixed, 2 GPUs", 2, lambda options, speedup: FIFOScheduler()))


class Watch(tune.Callback):
    """The last trials that had not ended, with the GPUs that they had or waited for."""

    unfinished: list[tuple[str, str, float]] = []

    def on_step_end(self, iteration: int, trials: list, **info: object) -> None:
        now = [(t.trial_id, t.status, t.placement_group_factory.required_resources.get("GPU", 0)) for t in trials if not t.is_finished()]
        self.unfinished = now or self.unfinished


class Outcome(NamedTuple):
    to_target: float  # seconds to the first trial at the target; infinite if none reached it
    to_end: float  # seconds to the end of the last trial; infinite at the limit
    gpu_seconds: float


def run_search(options: argparse.Namespace, method: Method, qualities: list[float], speedup: list) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        space = {"number": tune.grid_search(list(range(len(qualities)))), "folder": name, "steps": 40, "target": TARGET, "step_time": STEP_TIME,
                 "speedup": speedup, "quality": tune.sample_from(lambda config: qualities[config["number"]])}
        watch, began = Watch(), time.time()
        tune.Tuner(tune.with_resources(trial.train, {"cpu": 1, "gpu": method.gpus}), param_space=space,
                   tune_config=tune.TuneConfig(metric="loss", mode="min", scheduler=method.scheduler(options, speedup), time_budget_s=options.limit),
                   run_config=tune.RunConfig(storage_path=str(folder / "tune"), verbose=0, callbacks=[watch])).fit()
        ended = time.time() - began
        if ended > options.limit:
            print(f"{method.name} was stopped after {options.limit:g} s with these trials: {watch.unfinished}", file=sys.stderr)
        lines = [line for steps in trial.read_steps(folder).values() for line in steps]
    at_target = [line["ended"] - began for line in lines if line["loss"] <= TARGET]
    runs: dict[tuple, dict] = {}
    for line in lines:
        runs[line["began"], line["node"], tuple(line["devices"])] = line
    gpu_seconds = sum(len(line["devices"]) * (line["ended"] - line["began"]) for line in runs.values())
    return Outcome(min(at_target, default=float("inf")), ended if ended < options.limit else float("inf"), gpu_seconds)


def summary(values: list[float]) -> str:
    return f"{statistics.median(values):.1f} ({min(values):.1f}-{max(values):.1f})"


def compare(options: argparse.Namespace, title: str, speedup: list) -> dict[str, list[Outcome]]:
    outcomes: dict[str, list[Outcome]] = {method.name: [] for method in METHODS}
    for repetition in range(options.repetitions):
        rng = random.Random(repetition)
        qualities = [rng.uniform(0.3, 0.8) for _ in range(options.trials - 2)] + [0.86, 0.9]  # two reach the target
        rng.shuffle(qualities)
        for method in METHODS:
            outcomes[method.name].append(run_search(options, method, qualities, speedup))
            print(f"{title} {repetition} {method.name}: {outcomes[method.name][-1]}", file=sys.stderr, flush=True)
    print(f"\n{title}: {options.trials} trials, {options.repetitions} repetitions\n")
    print("| scheduler | first trial at target, s | last trial ended, s | GPU-seconds |\n|---|--:|--:|--:|")
    for name, results in outcomes.items():
        print(f"| {name} | " + " | ".join(summary(list(column)) for column in zip(*results)) + " |", flush=True)
    return outcomes


def claims_of(gain: dict[str, list[Outcome]], control: dict[str, list[Outcome]]) -> list[tuple[Verdict, str]]:
    def used(name: str) -> list[float]:
        return [one.gpu_seconds / single.gpu_seconds for one, single in zip(control[name], control["fixed, 1 GPU"])]

    ends = all(one.to_end < float("inf") for outcomes in (gain, control) for one in outcomes["ration, elastic_batch_dp"])
    return [(ends, "each search under ration ends before the limit"),
            (at_least(used("fixed, 2 GPUs"), 1.5), "control: there 2 GPUs for each trial use at least 1.5 times the GPU-seconds of 1"),
            (at_most(used("ration, elastic_batch_dp"), 1.2), "control: there ration uses at most 1.2 times the GPU-seconds of 1 GPU for each trial")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/ration", type=os.path.abspath)
    parser.add_argument("--repetitions", default=3, type=int)
    parser.add_argument("--trials", default=6, type=int)
    parser.add_argument("--limit", default=100.0, type=float, help="seconds for one search")
    options = parser.parse_args()
    cluster = Cluster(initialize_head=True, head_node_args={**trial.NODE, "include_dashboard": False})
    cluster.add_node(**trial.NODE)
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        gain = compare(options, "more GPUs are faster", trial.SPEEDUP)
        control = compare(options, "control: more GPUs are not faster", CONTROL_SPEEDUP)
    finally:
        ray.shutdown()
        cluster.shutdown()
    return conclude(claims_of(gain, control))


if __name__ == "__main__":
    sys.exit(main())
