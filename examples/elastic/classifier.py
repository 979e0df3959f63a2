# SPDX-License-Identifier: BSL-1.0
"""A classifier whose step costs some 0.05 s of a core, for three_to_one.py. usage: classifier.py STEPS SEED [WIDTH]"""
import pathlib
import sys

import torch
from torch.nn import Linear, ReLU, Sequential, functional

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "backends" / "progress" / "python"))
import ration  # noqa: E402

STEPS, SEED, WIDTH = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1024
torch.manual_seed(SEED)
inputs = torch.randn(16384, 64)
labels = (torch.tanh(inputs @ torch.randn(64, 32)) @ torch.randn(32, 10)).argmax(dim=1)
run = ration.elastic(batch=512, seed=SEED)
model = Sequential(Linear(64, WIDTH), ReLU(), Linear(WIDTH, WIDTH), ReLU(), Linear(WIDTH, 10)).to(run.device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for drawn in run.steps(run.batches(len(inputs)), STEPS, model=model, optimizer=optimizer):
    optimizer.zero_grad()
    run.backward(functional.cross_entropy(model(inputs[drawn].to(run.device)), labels[drawn].to(run.device)))
    optimizer.step()
