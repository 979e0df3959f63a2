# SPDX-License-Identifier: BSL-1.0
"""The end of each live command: it prints whether its claims hold, as findings.hpp does for the simulated ones."""
from collections.abc import Iterable


def conclude(claims: Iterable[tuple[bool, str]]) -> int:
    """The exit code: 0 when every claim holds."""
    failed = 0
    print()
    for holds, claim in claims:
        print(f"{'ok' if holds else 'FALSE':5} {claim}", flush=True)
        failed += not holds
    return 1 if failed else 0
