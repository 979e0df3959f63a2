# SPDX-License-Identifier: BSL-1.0
"""A classifier whose step costs some 0.05 s of a core, for three_to_one.py. It ends after STEPS, or at a loss (mean of ten steps)."""
import argparse
import collections
import pathlib
import sys

import torch
from torch.nn import Linear, ReLU, Sequential, functional

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import ration  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("steps", type=int)
parser.add_argument("seed", type=int)
parser.add_argument("--width", type=int, default=1024)
parser.add_argument("--until-loss", type=float, default=float("-inf"))
parser.add_argument("--batch-per-rank", type=int, help="instead of 512 for all ranks together")
asked = parser.parse_args()
torch.manual_seed(asked.seed)
inputs = torch.randn(16384, 64)
labels = (torch.tanh(inputs @ torch.randn(64, 32)) @ torch.randn(32, 10)).argmax(dim=1)
run = ration.elastic(batch_per_rank=asked.batch_per_rank, seed=asked.seed) if asked.batch_per_rank else ration.elastic(batch=512, seed=asked.seed)
model = Sequential(Linear(64, asked.width), ReLU(), Linear(asked.width, asked.width), ReLU(), Linear(asked.width, 10)).to(run.device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
last = collections.deque(maxlen=10)
for drawn in run.steps(run.batches(len(inputs)), asked.steps, model=model, optimizer=optimizer):
    optimizer.zero_grad()
    last.append(float(run.backward(functional.cross_entropy(model(inputs[drawn].to(run.device)), labels[drawn].to(run.device)))))
    optimizer.step()
    if len(last) == 10 and sum(last) / 10 <= asked.until_loss:
        run.finish()
if run.rank == 0:
    print(f"steps={run.step} samples={run.position} loss={sum(last) / max(len(last), 1):.4f}", flush=True)
