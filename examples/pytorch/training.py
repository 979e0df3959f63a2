# SPDX-License-Identifier: BSL-1.0
"""Common parts of the eight models: command line, batches, the training loop and the reports of its progress.

A model is an nn.Module with a method `loss(images, labels)`. Exit status: 0 all steps done or stopped by SIGTERM or Ctrl-C,
1 the data set cannot be read, 2 wrong command line, 3 the loss was not finite.
"""

import os
import pathlib
import signal
import sys

stop_asked = False


def ask_to_stop(_signal, _frame):
    global stop_asked
    stop_asked = True


# Before torch, whose import takes seconds on a busy machine: a stop in that time is to end cleanly too.
signal.signal(signal.SIGTERM, ask_to_stop)
signal.signal(signal.SIGINT, ask_to_stop)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read once, when the library is loaded

import argparse
import math

import torch

import fashion_mnist

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from ration import progress as ration_progress

DIVERGED = 3


def uniform_batches(images, labels, size):
    """Without end: `size` images in [0, 1], drawn with replacement, and their labels."""
    while True:
        drawn = torch.randint(len(images), (size,))
        yield images[drawn].float() / 255, labels[drawn]


def arguments(steps: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--data", default=fashion_mnist.DEFAULT_FOLDER, metavar="FOLDER", help="default: %(default)s")
    return parser.parse_args()


def train(model, batches, rate: float, steps: int, report_every: int, progress) -> int:
    """One optimiser step per batch; each report is the mean loss of the steps since the one before. Returns the exit status.

    Reports go by steps, not by seconds, so that a seed gives the same reports however large the job's share of the machine is.
    """
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    losses = []
    for step, batch in zip(range(1, steps + 1), batches):
        if stop_asked:
            print(f"stopped before step {step}", flush=True)
            return 0
        loss = model.loss(*batch)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        diverged = not math.isfinite(losses[-1])
        if diverged or step % report_every == 0 or step == steps:
            mean = sum(losses) / len(losses)
            progress.step(step, mean, total=steps)
            print(f"step={step} loss={mean:.6g}", flush=True)
            losses.clear()
        if diverged:
            print(f"the loss at step {step} is not finite: lower the learning rate", file=sys.stderr)
            return DIVERGED
    return 0


def main(build, *, steps: int, report_every: int, batches=uniform_batches, batch=64, rate=1e-3):
    """Trains the model that `build()` makes, by the options of the command line, and ends the process."""
    asked = arguments(steps)
    torch.set_num_threads(1)
    torch.manual_seed(asked.seed)
    progress = ration_progress.open()
    progress.hello(world=1, threads=1)
    progress.phase("load")
    try:
        images, labels = fashion_mnist.load(asked.data)
    except (OSError, ValueError) as problem:
        progress.bye(1)
        sys.exit(f"cannot read the data set: {problem}\n"
                 "install it (apt-get install dataset-fashion-mnist) or name its folder with --data")
    progress.phase("train")
    status = train(build(), batches(images, labels, batch), rate, asked.steps, report_every, progress)
    progress.bye(status, why="diverged" if status == DIVERGED else "stop" if stop_asked else "done")
    sys.exit(status)
