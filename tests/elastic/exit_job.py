# SPDX-License-Identifier: BSL-1.0
"""A job of two ranks with words still on their way when rank 0 ends. usage: exit_job.py

They arrive while only rank 0's main thread can hold the interpreter. When that thread ends, no thread of a process group may be left.
"""
import atexit
import os
import sys
import time


@atexit.register  # before ration's own, so that it is called after them
def keep_the_interpreter():
    if os.environ["RANK"] == "0":
        sys.setswitchinterval(5)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            pass


import torch

import ration
from ration.boundary import side_group

model = torch.nn.Linear(2, 1)
run = ration.elastic(batch=4)
for drawn in run.steps(run.batches(4), 2, model=model):
    run.backward(model(torch.ones(len(drawn), 2)).mean())
groups = [torch.distributed.group.WORLD, side_group()]
if run.rank == 1:
    time.sleep(0.5)
for group in groups:
    torch.distributed.all_reduce(torch.ones(1), group=group, async_op=True)  # only gloo holds this tensor
del groups, group
print(f"rank {run.rank} ends", flush=True)
