# SPDX-License-Identifier: BSL-1.0
"""Asks a policy one question, for its tests: tables in, grants out; no plugin, no process, no clock.

    self.assertEqual(ask(Half, {"jobs/state": [1, 0], "nodes/capacity.cpu": [2000]}), [Grant(job=0, node=0, resource=CPU, amount=1000, reason=1)])

It is as strict as a plugin is: a policy sees its inputs and nothing else, the views end with the call, and a grant that a host would never
accept is a ValueError.
"""
import array
from typing import NamedTuple

from ration.policy import BATCH, CPU, KINDS, LEAST_CPU, UNLIMITED, Rows, Tick, made


class Grant(NamedTuple):
    """So much of a resource for a job on a node from now on."""

    job: int
    node: int
    resource: int
    amount: int
    reason: int = 0
    group: int = 0


def ask(policy, columns, number=0, seed=0, now_ns=0, parameters=None):
    """The grants of one tick. `policy` is a class, made with these `parameters`, or an instance that continues from its earlier ticks; `columns` has the
    values of each input: for one of several values a row a list of lists."""
    asked = made(policy, parameters) if isinstance(policy, type) else policy
    rows = _rows_of(asked, columns)
    tick, grants = Tick(number=number, seed=seed, now_ns=now_ns), []
    for name, kind in asked.inputs.items():
        tick[name] = _view(name, kind, columns[name])

    def grant(job, node, resource, amount, reason=0, group=0):
        one = Grant(job, node, resource, amount, reason, group)
        _prove(one, rows, len(asked.reasons))
        grants.append(one)

    try:
        asked.decide(tick, grant)
    finally:
        for name in asked.inputs:
            tick[name].release()
    return grants


def _rows_of(policy, columns):
    """How many rows each table has that is there."""
    rows = {}
    lacks, unread = [name for name in policy.inputs if name not in columns], [name for name in columns if name not in policy.inputs]
    if lacks or unread:
        raise ValueError(f"{lacks[0]} is an input, and the test gives no values of it" if lacks else
                         f"the test gives {unread[0]}, which is not among the policy's inputs")
    for name, values in columns.items():
        table = name.partition("/")[0]
        if rows.setdefault(table, len(values)) != len(values):
            raise ValueError(f"{name} has {len(values)} rows, and another column of {table} has {rows[table]}")
    return rows


def _view(name, kind, values):
    one, several = kind.removesuffix("[]"), kind.endswith("[]")
    try:
        widths = {len(row) for row in values} if several else {1}
        flat = memoryview(array.array(KINDS[one], [value for row in values for value in row] if several else values)).toreadonly()
    except (TypeError, OverflowError) as problem:
        raise ValueError(f"{name}: not all of its values are {kind} ({problem})") from problem
    if len(widths) > 1 or 0 in widths:
        raise ValueError(f"{name}: its rows have {', '.join(map(str, sorted(widths)))} values; a host gives each row as many, and one at least")
    return Rows(flat, max(widths, default=1)) if several else flat


def _prove(one, rows, reasons):
    for name, value in one._asdict().items():
        if not isinstance(value, int):
            raise ValueError(f"{one}: {name} is not a whole number")
    limits = {"job": rows.get("jobs", 2**32), "node": rows.get("nodes", 2**16), "resource": BATCH + 1,
              "amount": UNLIMITED + 1, "reason": max(reasons, 1), "group": 2**32}
    for name, limit in limits.items():
        if not 0 <= getattr(one, name) < limit:
            raise ValueError(f"{one}: {name} is not from 0 to {limit - 1}")
    if one.resource == CPU and 0 < one.amount < LEAST_CPU:
        raise ValueError(f"{one}: amount is below LEAST_CPU; grant {LEAST_CPU} or more, or 0 to pause the job")
