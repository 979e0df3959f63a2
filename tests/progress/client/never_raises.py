# SPDX-License-Identifier: BSL-1.0
"""Every method with everything that it is not made for; afterwards it still works."""
import os

from common import progress, turn


class Hostile:
    """Raises whatever is asked of it."""

    def _fail(self, *_):
        raise RuntimeError("hostile")

    __float__ = __int__ = __index__ = __str__ = __repr__ = __bool__ = __len__ = __eq__ = __hash__ = _fail


THINGS = [None, "", "x y=z\n", b"\xff", -1, 2**64, 10**400, 1e999, float("nan"), [], {}, object(), Hostile(), "\ud800", "9" * 5000]


def waits(one):
    return isinstance(one, (int, float)) and one > 0


def storm(p):
    for method in ("hello", "step", "eval", "phase", "checkpoint", "want", "listen", "command", "heartbeat", "bye", "close"):
        call = getattr(p, method)
        if method == "close":
            continue
        call()
        for one in THINGS:
            call(no_such_argument=one)
            for other in THINGS:
                call(one, other)
                call(1, other, one)
            if method != "command" or not waits(one):  # it would wait that long
                call(one)
    for one in THINGS:
        p.hello(devices=one)
        p.step(1, 1.0, batch=one)
        if not waits(one):
            p.hold(one)
    with p:
        pass


for name in ("RATION_PROGRESS", "RATION_JOB", "RATION_INCARNATION", "RATION_TOKEN", "RANK"):
    kept = os.environ.get(name)
    for value in ("", "x", "-1", "unix:", "unix:/" + "x" * 200, "unix:/nowhere/at/all", "9" * 5000):
        os.environ[name] = value
        storm(progress.open())
    if kept is None:
        del os.environ[name]
    else:
        os.environ[name] = kept

good = progress.open()
storm(good)
turn("unharmed")  # meanwhile the receiver starts afresh
again = progress.open()
again.hello()
again.eval(7, "survived", 1.0)
again.close()
again.eval(8, "closed", 1.0)
