# SPDX-License-Identifier: BSL-1.0
"""Steps without a reader: none may get lost, none may block."""
from common import progress, turn

p = progress.open()
turn("ready")  # meanwhile the queue is filled
for step in range(1, 41):
    p.step(step, float(step))
p.step(41, float("nan"))
p.phase("eval")
p.eval(40, "accuracy", 0.5)
turn("full")  # meanwhile the queue is emptied
p.step(42, 42.0)
p.bye(0)
