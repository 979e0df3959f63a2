# SPDX-License-Identifier: BSL-1.0
"""A training script under ration: reports of its progress, checkpoints, and a size that changes while it trains.

    ration.progress      reports the progress of the job, and receives the requests of ration
    ration.checkpoint    checkpoints that survive a crash at any moment
    ration.elastic(...)  a plain PyTorch loop on as many devices as ration gives it
    ration.pool(...)     a service that requests its own number of devices
    ration.huggingface, ration.lightning    the same for their trainers
    python3 -m ration.ranks train.py        one process per device
    ration.decide        asks a policy about any jobs; ration.tune (Ray Tune) and `python3 -m ration.slurm` do so for theirs
    ration.submit(...)   a job of `ration serve`; also jobs, ServiceExecutor and ration.service
    ration.policy        the other side: a policy as one class, and `python3 -m ration.policy build` makes a plugin of it

Importing this needs the standard library only; PyTorch is imported when `elastic` or a checkpoint is used.
"""
from importlib import import_module

from ration.elastic_loop import elastic, share
from ration.elastic_pool import pool

_OF_SERVICE = {name: "ration.service" for name in ("Job", "Service", "ServiceError", "jobs", "jobs_async", "submit", "submit_async")}
_OF_SERVICE.update({name: "ration.service_executor" for name in ("JobFailed", "ServiceExecutor")})

__all__ = ["elastic", "pool", "share", *_OF_SERVICE]
__version__ = "0.1.0"


def __getattr__(name):
    """Training does not pay for the import of asyncio and of HTTP."""
    if name not in _OF_SERVICE:
        raise AttributeError(f"module 'ration' has no attribute '{name}'")
    return getattr(import_module(_OF_SERVICE[name]), name)
