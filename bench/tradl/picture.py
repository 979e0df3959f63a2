# SPDX-License-Identifier: BSL-1.0
"""Compares runs with the paper's picture: statements with yes or no and the numbers. None of them is a condition."""

import dataclasses

from medians import SCENARIOS, TREATED, Runs, change, largest_reduction, late_mean, median, median_of

BAND = (30, 50)  # %, around the paper's largest reduction
NOISE = 3.0  # %, a change of up to here counts as none
NOT_THERE = "a job did not get there in every run"


@dataclasses.dataclass
class Verdict:
    statement: str
    holds: bool | None  # None: nothing to judge by
    numbers: str


def changes_of(table: list[dict], tier: str, scenario: str) -> list[float]:
    """Empty where one is missing."""
    values = [row["change"][scenario] for row in table if row["tier"] == tier]
    return [] if None in values else values


def nobody_later(table: list[dict], scenario: str) -> Verdict:
    statement = f"no job reaches Acceptable later in {scenario} than in NA"
    changes = changes_of(table, "acceptable", scenario)
    if not changes:
        return Verdict(statement, None, NOT_THERE)
    later = sum(value > NOISE for value in changes)
    return Verdict(statement, later == 0, f"{later} of {len(changes)} later; the latest {max(changes):+.1f} %")


def limited_jobs_later(table: list[dict]) -> Verdict:
    statement = "in AO no job reaches Objective earlier than in NA"
    changes = changes_of(table, "objective", "AO")
    if not changes:
        return Verdict(statement, None, NOT_THERE)
    earlier = sum(value < -NOISE for value in changes)
    return Verdict(statement, earlier == 0, f"{earlier} of {len(changes)} earlier; the earliest {min(changes):+.1f} %")


def best_in_band(table: list[dict]) -> Verdict:
    statement = f"the largest reduction is {BAND[0]} to {BAND[1]} %"
    best = largest_reduction(table)
    return Verdict(statement, BAND[0] <= best[0] <= BAND[1], f"{best[0]:.1f} %") if best else Verdict(statement, None, NOT_THERE)


def ends(runs: Runs) -> list[Verdict]:
    span = {scenario: change(runs, scenario, lambda run: run.makespan) for scenario in TREATED}
    numbers = ", ".join(f"{scenario} {value:+.1f} %" for scenario, value in span.items())
    return [Verdict("in AO the last job does not end later than in NA", span["AO"] <= NOISE, numbers),
            Verdict("in FT the last job ends earlier than in AO", span["FT"] < span["AO"] - NOISE, numbers)]


def order_of_means(runs: Runs) -> Verdict:
    statement = "mean time to Acceptable of the jobs after the first: FT ≤ AO ≤ NA"
    mean = {scenario: median_of(runs, scenario, late_mean) for scenario in SCENARIOS}
    if None in mean.values():
        return Verdict(statement, None, NOT_THERE)
    numbers = ", ".join(f"{scenario} {mean[scenario]:.1f} s" for scenario in reversed(SCENARIOS))
    return Verdict(statement, mean["FT"] <= mean["AO"] <= mean["NA"], numbers)


def shares(runs: Runs, scenario: str) -> Verdict:
    statement = f"in {scenario} limited jobs use less than a fair share and the others more"
    samples = {kind: [use for run in runs[scenario] for use in getattr(run, kind)] for kind in ("limited", "others", "kept")}
    limited, others, kept = map(median, samples.values())
    if limited is None or others is None:
        return Verdict(statement, None, "no job was under a limit beside one without for long enough")
    numbers = f"medians {limited:.2f} and {others:.2f} of 1/n; limited jobs use {100 * kept:.0f} % of their limit"
    return Verdict(statement, limited < 1 < others, numbers)


def judge(runs: Runs, table: list[dict]) -> list[Verdict]:
    return [*(nobody_later(table, scenario) for scenario in TREATED), best_in_band(table), limited_jobs_later(table), *ends(runs),
            order_of_means(runs), *(shares(runs, scenario) for scenario in TREATED)]
