#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A substitute for a training script, so that the policy has something to share out: python3 trainer.py SECONDS.

Its loss falls from 1 to 0 with the CPU time that it gets, whatever the policy does to the time on the wall.
"""
import sys
import time

seconds = float(sys.argv[1])
step, used, said = 0, 0.0, 0.0
while used < seconds:
    sum(range(5000))
    step += 1
    used = time.process_time()
    if used - said > 0.05:
        said = used
        print(f"step={step} loss={max(0.0, 1 - used / seconds):.4f}", flush=True)
print(f"step={step + 1} loss=0", flush=True)
