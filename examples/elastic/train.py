# SPDX-License-Identifier: BSL-1.0
"""A small classifier that trains on as many devices as ration gives it. The lines marked (1) to (5) are what makes it elastic.

usage: python3 -m ration.ranks train.py [STEPS]
"""
import pathlib
import sys

import torch
from torch.nn import functional

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import ration  # noqa: E402  (1)


def main(steps: int) -> None:
    torch.manual_seed(1)
    inputs = torch.randn(2048, 32)
    labels = (inputs @ torch.randn(32, 4)).argmax(dim=1)
    run = ration.elastic(batch=512, seed=1)  # (2)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)).to(run.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=500, gamma=0.5)
    batches = run.batches(len(inputs))  # (3)
    for drawn in run.steps(batches, steps, model=model, optimizer=optimizer, schedule=schedule):  # (4)
        loss = functional.cross_entropy(model(inputs[drawn].to(run.device)), labels[drawn].to(run.device))
        optimizer.zero_grad()
        loss = run.backward(loss)  # (5)
        optimizer.step()
        schedule.step()
        if run.rank == 0:
            print(f"step={run.step + 1} loss={float(loss):.7g} ranks={run.world}", flush=True)


main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
