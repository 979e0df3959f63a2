# SPDX-License-Identifier: BSL-1.0
"""Trains until the loss is below 1, with two samples on each rank. Prints what each rank has then."""
import os

import torch

import ration

run = ration.elastic(batch_per_rank=2, seed=1)
model = torch.nn.Linear(1, 1, bias=False)
with torch.no_grad():
    model.weight.fill_(4.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
for drawn in run.steps(run.batches(16), 100, model=model, optimizer=optimizer):
    optimizer.zero_grad()
    loss = run.backward(model(torch.ones(len(drawn), 1)).square().mean())  # the weight halves in each step: 16, 4, 1, 1/4
    optimizer.step()
    if float(loss) < 1:
        run.finish()
# One write for the whole line: both ranks share the output.
os.write(1, f"rank={run.rank} batch={run.batch} steps={run.step} position={run.position}\n".encode())
