#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A search of Ray Tune whose GPUs elastic_batch_dp divides, on two nodes with simulated GPUs on this machine: search.py [RATION]

Needs `pip install 'ray[tune]'` and ration's Python package. With a real cluster, `ray.init()` takes the place of `Cluster`.
"""
import json
import os
import pathlib
import sys
import tempfile
import time

import ray
from ray import tune
from ray.cluster_utils import Cluster

from ration.tune import RationScheduler


def train(config: dict) -> None:
    checkpoint, step = tune.get_checkpoint(), 0
    if checkpoint:  # paused by ration, and started again with another number of GPUs
        with checkpoint.as_directory() as folder:
            step = json.loads(pathlib.Path(folder, "step.json").read_text())
    gpus = len(os.environ["CUDA_VISIBLE_DEVICES"].split(","))
    while step < 10:
        time.sleep(0.5 / gpus)  # a step of training on all of them
        step += 1
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "step.json").write_text(str(step))
            tune.report({"loss": config["rate"] / step, "gpus": gpus}, checkpoint=tune.Checkpoint.from_directory(folder))


cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 4, "num_gpus": 2, "include_dashboard": False})
cluster.add_node(num_cpus=4, num_gpus=2)
ray.init(address=cluster.address, log_to_driver=False)
# [search]
scheduler = RationScheduler("elastic_batch_dp", bounds=(1, 2), speedup=[0, 1, 1.9], ration=sys.argv[1] if len(sys.argv) > 1 else "ration")
tuner = tune.Tuner(tune.with_resources(train, {"cpu": 1, "gpu": 1}), param_space={"rate": tune.grid_search([1, 2, 3, 4, 5])},
                   tune_config=tune.TuneConfig(metric="loss", mode="min", scheduler=scheduler))
results = tuner.fit()
# [search]
for result in results:
    print(f"rate {result.config['rate']}: loss {result.metrics['loss']:.2f}, at the end on {result.metrics['gpus']} GPUs")
ray.shutdown()
cluster.shutdown()
