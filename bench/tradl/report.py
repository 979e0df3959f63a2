# SPDX-License-Identifier: BSL-1.0
"""The runs of NA, AO and FT as Markdown for people and as data for programs."""

import dataclasses

from event_log import TIERS, Run
from medians import SCENARIOS, TREATED, Runs, largest_reduction, late_mean, median_of, rows
from picture import NOISE, judge

PAPER_LARGEST = 48.2  # %, "as much as": Zheng et al., HPEC 2019
FREE_CORE = 0.85  # cores; jobs that always have something to do use more of a core that is theirs


def cell(value: float | None, form: str, unit: str = "") -> str:
    return "not reached" if value is None else format(value, form) + unit


def tier_table(table: list[dict], tier: str) -> list[str]:
    out = [f"## Time to {tier.capitalize()}, s", "", "| job | arrives | NA | AO | change | FT | change |",
           "|---|--:|--:|--:|--:|--:|--:|"]
    for row in (row for row in table if row["tier"] == tier):
        cells = [f"{row['arrived']:.1f}", cell(row["seconds"]["NA"], ".1f")]
        for scenario in TREATED:
            cells += [cell(row["seconds"][scenario], ".1f"), cell(row["change"][scenario], "+.1f", " %")]
        out.append(f"| {row['job']} | {' | '.join(cells)} |")
    return out + [""]


def whole_table(runs: Runs) -> list[str]:
    measures = {"last job ends, s": (lambda run: run.makespan, ".1f"),
                "mean time to Acceptable of the jobs after the first, s": (late_mean, ".1f"),
                "CPU used, cores": (lambda run: run.mean_cpu, ".3f")}
    out = ["## The run as a whole", "", "| | NA | AO | FT |", "|---|--:|--:|--:|"]
    for name, (value, form) in measures.items():
        out.append(f"| {name} | {' | '.join(cell(median_of(runs, scenario, value), form) for scenario in SCENARIOS)} |")
    least = min(run.mean_cpu for scenario in SCENARIOS for run in runs[scenario])
    if least < FREE_CORE:
        out += ["", f"In one run the jobs got only {least:.2f} cores: the machine was busy with other things, or idle between",
                "arrivals. Times of such runs say little about a policy."]
    return out + [""]


def reduction_text(table: list[dict]) -> list[str]:
    best = largest_reduction(table)
    ours = f"{best[0]:.1f} % ({best[1]})" if best else "none: no tier was reached in every run"
    return [f"Largest reduction: {ours}. The paper's largest is {PAPER_LARGEST} %, for other models, data, targets and",
            "arrivals on another machine: the two numbers answer the same question in different experiments.", ""]


def picture_table(runs: Runs, table: list[dict]) -> list[str]:
    words = {True: "yes", False: "no", None: "unknown"}
    out = [f"## The paper's picture (changes of up to {NOISE:.0f} % count as none)", ""]
    out += ["| statement | holds | numbers |", "|---|---|---|"]
    return out + [f"| {v.statement} | {words[v.holds]} | {v.numbers} |" for v in judge(runs, table)]


def markdown(runs: Runs, origin: str) -> str:
    table = rows(runs)
    count = len(runs["NA"])
    out = ["# TRADL on eight PyTorch models", "", origin, "",
           f"Times are medians over {count} repetition{'s' * (count > 1)}, from the job's arrival. Changes are medians of the",
           "change against the NA run with the same seeds.", ""]
    for tier in TIERS:
        out += tier_table(table, tier)
    return "\n".join(out + whole_table(runs) + reduction_text(table) + picture_table(runs, table)) + "\n"


def run_data(run: Run) -> dict:
    """Without the samples of single ticks: those are in the run's log."""
    whole = dataclasses.asdict(run)
    return {key: whole[key] for key in ("backend", "makespan", "mean_cpu", "jobs")}


def as_data(runs: Runs, origin: str) -> dict:
    """The same, and every repetition's own numbers."""
    table = rows(runs)
    return {"origin": origin, "rows": table, "picture": [dataclasses.asdict(verdict) for verdict in judge(runs, table)],
            "largest_reduction": largest_reduction(table), "paper_largest_reduction": PAPER_LARGEST,
            "repetitions": {scenario: [run_data(run) for run in runs[scenario]] for scenario in SCENARIOS}}
