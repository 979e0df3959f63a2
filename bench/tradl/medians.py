# SPDX-License-Identifier: BSL-1.0
"""Medians over repetitions, and changes against the runs without TRADL."""

import statistics

from event_log import TIERS, Run

SCENARIOS = ("NA", "AO", "FT")
TREATED = SCENARIOS[1:]
Runs = dict[str, list[Run]]  # by scenario; the repetitions of all scenarios in the same order


def median(values: list) -> float | None:
    """None where a value is missing: half a set has no meaning."""
    return None if not values or None in values else statistics.median(values)


def median_of(runs: Runs, scenario: str, value) -> float | None:
    return median([value(run) for run in runs[scenario]])


def change(runs: Runs, scenario: str, value) -> float | None:
    """Median over the repetitions of the change against NA in %, each against the NA run with the same seeds."""
    pairs = [(value(run), value(base)) for run, base in zip(runs[scenario], runs["NA"])]
    return median([None if now is None or not base else 100 * (now / base - 1) for now, base in pairs])


def late_mean(run: Run) -> float | None:
    """Mean time to Acceptable of the jobs that came after the first."""
    first = min(job.arrived for job in run.jobs.values())
    times = [job.acceptable for job in run.jobs.values() if job.arrived > first]
    return None if not times or None in times else statistics.mean(times)


def rows(runs: Runs) -> list[dict]:
    """One row per tier and job, jobs in the order of arrival: medians in seconds, changes in %."""
    table = []
    for tier in TIERS:
        for name, job in sorted(runs["NA"][0].jobs.items(), key=lambda item: item[1].arrived):

            def value(run):
                return getattr(run.jobs[name], tier)

            table.append({"job": name, "tier": tier, "arrived": job.arrived,
                          "seconds": {scenario: median_of(runs, scenario, value) for scenario in SCENARIOS},
                          "change": {scenario: change(runs, scenario, value) for scenario in TREATED}})
    return table


def largest_reduction(table: list[dict]) -> tuple[float, str] | None:
    """In %, and where: job, tier, scenario."""
    found = [(-row["change"][scenario], f"{row['job']}, {row['tier'].capitalize()}, {scenario}")
             for row in table for scenario in TREATED if row["change"][scenario] is not None]
    return max(found, default=None)
