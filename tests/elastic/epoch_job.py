# SPDX-License-Identifier: BSL-1.0
"""Three epochs over ten samples in batches of four, with a save at each step; dies after the step that its argument names.

Prints each epoch's steps, its evaluation, and the learning rate behind it.
"""
import os
import sys

import torch

import ration

die_at = int(sys.argv[1])
SAMPLES, EPOCHS = 10, 3
run = ration.elastic(batch=4, seed=1)
model = torch.nn.Linear(1, 1, bias=False)
with torch.no_grad():
    model.weight.fill_(1.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
for epoch, batches in run.epochs(run.batches(SAMPLES), SAMPLES, EPOCHS, save_every=1, model=model, optimizer=optimizer, schedule=schedule):
    steps = []
    for drawn in batches:
        steps.append(run.step)
        optimizer.zero_grad()
        run.backward(model(torch.ones(len(drawn), 1)).square().mean())
        optimizer.step()
    if run.step == die_at:
        os._exit(9)  # behind the epoch's last step, before the code of its end
    schedule.step()
    mine = run.part(SAMPLES)
    mean = run.evaluate("index", sum(mine), len(mine))
    os.write(1, f"rank={run.rank} epoch={epoch} steps={steps} mean={mean} rate={optimizer.param_groups[0]['lr']}\n".encode())
