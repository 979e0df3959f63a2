#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A PyTorch trainer with phases, for ai4dl_live.py: it loads, then trains, evaluates and saves in each epoch.

The steps of the training wait for their data, as with a remote data set; the evaluation has its data in memory, and uses all cores that it gets.
"""
import argparse
import os
import pathlib
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read once, when the library is loaded

import torch  # noqa: E402

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from ration import progress as ration_progress  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--steps", type=int, default=120, help="of an epoch")
    parser.add_argument("--wait", type=float, default=0.04, help="seconds that a step waits for its data")
    parser.add_argument("--evaluation", type=int, default=400, help="batches of the evaluation")
    parser.add_argument("--save", type=int, default=256, help="MB of a checkpoint")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    progress = ration_progress.open()
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Tanh(), torch.nn.Linear(512, 256))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    step = 0
    for _ in range(options.epochs):
        for _ in range(options.steps):
            time.sleep(options.wait)
            batch = torch.randn(128, 256)
            loss = torch.nn.functional.mse_loss(model(batch), batch.roll(1, dims=1))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            step += 1
            if step % 20 == 0:
                progress.step(step, loss.item())
        held_out = torch.randn(4096, 256)
        with torch.no_grad():
            for _ in range(options.evaluation):
                model(held_out[torch.randint(0, 4096, (256,))])
        with tempfile.TemporaryFile() as checkpoint:
            torch.save(torch.zeros(options.save * 250_000), checkpoint)
            checkpoint.flush()
            os.fsync(checkpoint.fileno())
    print(f"done step={step}", flush=True)


main()
