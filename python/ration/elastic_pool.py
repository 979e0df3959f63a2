# SPDX-License-Identifier: BSL-1.0
"""A service that chooses its own size: the elastic class of ElasticRMI (K. R. Jayaram, "Elastic Remote Methods", Middleware 2013).

    pool = ration.pool(min=2, max=12, interval=60, change=lambda load: 1 if load.queue > 100 * load.size else 0)
    while serving:
        request = receive()
        pool.arrived()
        answer(request)
        pool.served()
        pool.poll()

Once an interval `poll` calls the hook `change` with the load since the last call. The hook returns the number of devices to add, or to remove
if it is negative. The pool clamps the resulting size to its bounds and requests it from ration. Without a hook the size follows the CPU.
"""
import collections
import math
import os
import threading
import time
import warnings

from ration import progress

__all__ = ["Load", "Pool", "agility", "pool", "thresholds"]

Load = collections.namedtuple("Load", "size queue arrivals served cpu memory")
Load.__doc__ = """The load of a pool over one interval.

`size`: its devices. `queue`: requests that have arrived and are not served. `arrivals`, `served`: requests a second. `cpu`: use of this
process as a share of its cores. `memory`: resident bytes of this process."""

_PAGE = os.sysconf("SC_PAGE_SIZE")


def thresholds(load, more=0.9, fewer=0.6):
    """The rule of a pool without a hook: one more device above 90 % of the CPU, one fewer below 60 %."""
    return (load.cpu > more) - (load.cpu < fewer)


def agility(provided, needed):
    """(excess, shortage): the two parts of SPEC's agility, each a mean over the samples. Their sum is the agility; 0 is ideal."""
    pairs = list(zip(provided, needed))
    if not pairs or len(provided) != len(needed):
        raise ValueError("agility: %d and %d samples; give the same number of both, at least one" % (len(provided), len(needed)))
    excess = sum(max(0, has - needs) for has, needs in pairs)
    shortage = sum(max(0, needs - has) for has, needs in pairs)
    return excess / len(pairs), shortage / len(pairs)


def pool(min, max, interval=60, change=thresholds, want=None, cores=1.0):  # pylint: disable=redefined-builtin
    """The pool of this job. Call `poll` in rank 0 only.

    `min`, `max`: bounds of its devices. `interval`: seconds between two calls of `change`. `want`: the function that requests a number of
    devices, such as that of `ration.elastic` or of an open `ration.progress`; by default the pool opens the latter. `cores`: those of
    this process, as 100 % of `Load.cpu`.
    """
    return Pool(min, max, interval, change, want or progress.open().want, cores)


class Pool:
    """What `pool` returns. Any thread may call `arrived` and `served`."""

    def __init__(self, least, most, interval, change, want, cores, clock=time.monotonic):
        if not 1 <= least <= most:
            raise ValueError("a pool of %r to %r devices: write 1 <= min <= max" % (least, most))
        if not (interval > 0 and cores > 0):
            raise ValueError("interval and cores of a pool: write numbers above 0")
        self.size = int(os.environ.get("WORLD_SIZE") or 1)
        self._least, self._most, self._interval, self._cores = least, most, interval, cores
        self._change, self._want, self._clock = change, want, clock
        self._lock = threading.Lock()
        self._arrived = self._served = 0
        self._last = self._sample()
        self._is_warned = False

    def arrived(self, requests=1):
        """Counts requests that have arrived."""
        with self._lock:
            self._arrived += requests

    def served(self, requests=1):
        """Counts requests that are served, or given up."""
        with self._lock:
            self._served += requests

    def poll(self):
        """Calls the hook if an interval has passed, and requests the new size. Returns that size, or None.

        A hook that fails, or returns anything but a whole number, changes nothing: the last request holds. The first such answer is a warning.
        """
        if self._clock() - self._last.at < self._interval:
            return None
        last, self._last = self._last, self._sample()
        try:
            asked = self._change(self._load(last, self._last))
            if not math.isfinite(asked) or asked != int(asked):
                raise ValueError("it returned %r" % (asked,))
        except Exception as refused:  # pylint: disable=broad-except
            self._warn(refused)
            return None
        size = max(self._least, min(self._most, self.size + int(asked)))
        self._want(size)
        return size

    def _warn(self, refused):
        if not self._is_warned:
            warnings.warn("the hook of a pool: %s; return the number of devices to add, such as 1, 0 or -1" % refused)
        self._is_warned = True

    _Sample = collections.namedtuple("_Sample", "at cpu arrived served")

    def _sample(self):
        with self._lock:
            return self._Sample(self._clock(), time.process_time(), self._arrived, self._served)

    def _load(self, last, now):
        took = now.at - last.at
        return Load(
            size=self.size,
            queue=now.arrived - now.served,
            arrivals=(now.arrived - last.arrived) / took,
            served=(now.served - last.served) / took,
            cpu=(now.cpu - last.cpu) / took / self._cores,
            memory=_resident(),
        )


def _resident():
    """Resident bytes of this process; 0 where the system does not show them."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        return 0
