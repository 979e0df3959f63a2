#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A PyTorch trainer for cm_dare_live.py: its ranks exchange gradients by gloo, and it requests one number of devices after the other.

usage: python3 -m ration.ranks cm_dare_trainer.py WIDTH DEPTH BATCH SIZES STEPS. The model is one matrix of WIDTH x WIDTH that is applied DEPTH
times, so that WIDTH alone decides how much is exchanged. The job makes STEPS steps on each number of devices in SIZES, as in 1,2,4.
"""
import os
import pathlib
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read once, when the library is loaded

import torch  # noqa: E402

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import ration  # noqa: E402


class Sizes:
    """The numbers of devices, and the steps on the present one. A part of the training's state, for checkpoints."""

    def __init__(self, sizes: list[int], steps: int) -> None:
        self.sizes, self.steps = sizes, steps
        self.at = self.done = 0

    def state_dict(self) -> dict:
        return {"at": self.at, "done": self.done}

    def load_state_dict(self, state: dict) -> None:
        self.at, self.done = state["at"], state["done"]

    @property
    def wanted(self) -> int:
        return self.sizes[self.at]

    def count(self, world: int) -> bool:
        """Counts a step; False after the last one of all."""
        self.done += world == self.wanted
        if self.done < self.steps:
            return True
        if self.at + 1 == len(self.sizes):
            return False
        self.at, self.done = self.at + 1, 0
        return True


def main(width: int, depth: int, batch: int, sizes: Sizes) -> None:
    torch.manual_seed(1)
    torch.set_num_threads(1)
    samples = torch.randn(batch, width)
    targets = samples.roll(1, dims=1)
    model = torch.nn.Linear(width, width, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    run = ration.elastic(batch=batch, seed=1)
    for drawn in run.steps(run.batches(batch), 10**9, model=model, optimizer=optimizer, sizes=sizes):
        run.want(sizes.wanted)
        output = samples[drawn]
        for _ in range(depth):
            output = torch.tanh(model(output))
        optimizer.zero_grad()
        run.backward(torch.nn.functional.mse_loss(output, targets[drawn]))
        optimizer.step()
        if not sizes.count(run.world):
            run.finish()


if __name__ == "__main__":
    WIDTH, DEPTH, BATCH = map(int, sys.argv[1:4])
    main(WIDTH, DEPTH, BATCH, Sizes([int(size) for size in sys.argv[4].split(",")], int(sys.argv[5])))
