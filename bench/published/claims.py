# SPDX-License-Identifier: BSL-1.0
"""The end of each live command: it prints whether its claims hold, as findings.hpp does for the simulated ones.

A claim on measured values is judged by the interval of their median. It holds if the whole interval does, and is false if none of it does. Otherwise it is open (None): the
noise of these rounds hides the answer, and more rounds may show it.
"""
import math
from collections.abc import Iterable, Sequence
from typing import Optional

Verdict = Optional[bool]  # None: open
COVERAGE = 0.93
_RANK = {False: 0, None: 1, True: 2}


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The narrowest pair of values that holds the median with the coverage, whatever their distribution; below five values all of them."""
    ordered, n = sorted(values), len(values)
    outside, cut = 0.0, 0
    while True:  # outside: the probability that the median is not between the values behind `cut`
        outside += 2 * math.comb(n, cut) / 2**n
        if outside > 1 - COVERAGE or 2 * (cut + 1) >= n:
            break
        cut += 1
    cut = max(cut - 1, 0)
    return ordered[cut], ordered[n - 1 - cut]


def at_least(values: Sequence[float], limit: float) -> Verdict:
    low, high = interval(values)
    return True if low >= limit else None if high >= limit else False


def at_most(values: Sequence[float], limit: float) -> Verdict:
    return at_least([-value for value in values], -limit)


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    return min(verdicts, key=_RANK.__getitem__)


def any_of(verdicts: Iterable[Verdict]) -> Verdict:
    return max(verdicts, key=_RANK.__getitem__)


def conclude(claims: Iterable[tuple[Verdict, str]]) -> int:
    """The exit code: 1 if a claim is false."""
    failed = 0
    print()
    for verdict, claim in claims:
        print(f"{ {True: 'ok', None: 'open', False: 'FALSE'}[verdict]:5} {claim}", flush=True)
        failed += verdict is False
    return 1 if failed else 0
