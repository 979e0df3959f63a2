# SPDX-License-Identifier: BSL-1.0
"""Prints the gradients of two losses on one batch, of a model whose parts not every rank uses, and one that none does."""
import torch

import ration

torch.manual_seed(1)
inputs = torch.randn(9, 4)
model = torch.nn.ModuleDict({name: torch.nn.Linear(4, 1) for name in ("all", "late", "none")})
model["late"].double()
run = ration.elastic(batch=9, seed=1)
first, count = ration.share(9, run.rank, run.world)
for drawn in run.steps([list(range(first, first + count))], 1, model=model):
    out = model["all"](inputs[drawn])
    late = [at for at in drawn if at >= 6]  # with three ranks only the last one has such samples
    total = out.sum() + (model["late"](inputs[late].double()).sum().float() if late else 0)
    run.backward(total / len(drawn))
    mean = run.backward(model["all"](inputs[drawn]).square().mean())
    if run.rank == 0:
        print(f"loss [{float(mean)!r}]")
        for name, parameter in model.named_parameters():
            print(name, None if parameter.grad is None else parameter.grad.flatten().tolist())
