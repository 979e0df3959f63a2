# SPDX-License-Identifier: BSL-1.0
"""The receiver goes away and comes back."""
import time

from common import progress, turn

p = progress.open()
p.step(1, 1.0)
turn("sent")  # meanwhile the receiver goes
time.sleep(0.25)
for step in range(2, 11):
    p.step(step, 1.0)
p.phase("eval")
turn("gone")  # meanwhile it comes back
time.sleep(0.25)
p.step(11, 1.0)
p.bye(0)
