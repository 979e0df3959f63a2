# SPDX-License-Identifier: BSL-1.0
"""A job for tests. usage: job.py STEPS [PAUSE]    prints "step=S loss=L" in rank 0; PAUSE seconds in each step"""
import os
import resource
import sys
import time

import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import ration
from ration import fork_server

torch.manual_seed(3)
inputs = torch.randn(300, 16)  # a batch of 96 reaches over the end of a pass
labels = (inputs @ torch.randn(16, 4)).argmax(dim=1)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.7)
run = ration.elastic(batch=100, seed=5)
run.want(3)
print(f"rank {run.rank} of {run.world} batch {run.batch}", flush=True)
print("forked" if fork_server.is_forked() else "imported", flush=True)
print(f"{resource.getrlimit(resource.RLIMIT_NOFILE)[0]} open files", flush=True)
if "RATION_TEST_DDP" in os.environ:
    model = torch.nn.parallel.DistributedDataParallel(model)
loader = DataLoader(TensorDataset(inputs, labels), batch_sampler=run.batches(len(inputs)))
for images, classes in run.steps(loader, int(sys.argv[1]), model=model, optimizer=optimizer, schedule=schedule):
    optimizer.zero_grad()
    loss = run.backward(functional.cross_entropy(model(images), classes))
    optimizer.step()
    schedule.step()
    if run.rank == 0:
        print(f"step={run.step + 1} loss={float(loss):.9g}", flush=True)
    time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)
print(f"rank {run.rank} done", flush=True)
