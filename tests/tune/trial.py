# SPDX-License-Identifier: BSL-1.0
"""A trial for Ray Tune that trains nothing: its loss falls with its steps, and its steps take less time on more simulated GPUs."""
import json
import os
import pathlib
import tempfile
import time

SPEEDUP = [0, 1, 1.9, 2.7, 3.4]
NODE = {"num_cpus": 4, "num_gpus": 2, "object_store_memory": 80 << 20}  # arguments of a node of Ray's Cluster


def loss_at(step: int, quality: float) -> float:
    """A curve that falls as real ones do. `quality` from 0 to 1: a good trial falls sooner, and lower."""
    return (1.2 - quality) + 1 / (1 + quality * step)


def train(config: dict) -> None:
    """Runs `config["steps"]` steps, or until the loss is at `config["target"]`. It saves after each step.

    It appends a line for each step to its file in `config["folder"]`.
    """
    import ray  # in the worker
    from ray import tune

    found, step = tune.get_checkpoint(), 0
    if found:
        with found.as_directory() as folder:
            step = json.loads(pathlib.Path(folder, "step.json").read_text())
    devices = [device for device in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if device]
    node = ray.get_runtime_context().get_node_id()
    began = time.time()
    while step < config["steps"] and (step == 0 or loss_at(step, config["quality"]) > config["target"]):
        time.sleep(config["step_time"] / config["speedup"][len(devices)])
        step += 1
        line = {"step": step, "began": began, "ended": time.time(), "node": node, "devices": devices, "loss": loss_at(step, config["quality"])}
        with open(pathlib.Path(config["folder"], f"{config['number']}.jsonl"), "a", encoding="utf-8") as log:
            print(json.dumps(line), file=log)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "step.json").write_text(str(step))
            tune.report({"loss": line["loss"]}, checkpoint=tune.Checkpoint.from_directory(folder))


def read_steps(folder: pathlib.Path) -> dict[int, list[dict]]:
    """The lines that the trials have written, by the number of the trial."""
    return {int(file.stem): [json.loads(line) for line in file.read_text().splitlines()] for file in folder.glob("*.jsonl")}
