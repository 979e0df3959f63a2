#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The picture of the figures of good_enough by patience: docs/pictures/good-enough-frontier.svg from bench/sim/patience.jsonl.

    bench/run.sh sim patience --json > bench/sim/patience.jsonl    some minutes
    frontier.py --check    exit code 1 when the picture differs from that of the rows
    frontier.py --write    writes it
"""

import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
import made_files

ROWS = ROOT / "bench/sim/patience.jsonl"
PICTURE = ROOT / "docs/pictures/good-enough-frontier.svg"
FIGURES = {"p99_jct": "p99 JCT", "makespan": "makespan", "worst_rho": "worst rho"}
COLOURS = ("#2a6fbb", "#c2571a", "#3a8a4d", "#8a4fa3")
ALLOWED = 1.05  # times the best other policy
PANEL, GAP, LEFT, TOP, HEIGHT = 240, 60, 56, 40, 250
STYLE = ("text{fill:#333}line{stroke:#999}.edge{stroke:#333}.goal{fill:#3a8a4d;opacity:.15}"
         "@media(prefers-color-scheme:dark){text{fill:#ddd}line{stroke:#777}.edge{stroke:#ddd}}")


def relative(rows):
    """{workload: ([(patience, {figure: value over that of the best other policy})], the same of each other policy)}"""
    found = {}
    for workload in dict.fromkeys(row["workload"] for row in rows):
        own = [row for row in rows if row["workload"] == workload]
        others = [row for row in own if row["policy"] != "good_enough"]
        best = {figure: min(row[figure] for row in others) for figure in ("mean_jct", *FIGURES)}
        ratios = [(row, {figure: row[figure] / best[figure] for figure in best}) for row in own]
        found[workload] = ([(row["patience"], ratio) for row, ratio in ratios if row["policy"] == "good_enough"],
                           {row["policy"]: ratio for row, ratio in ratios if row["policy"] != "good_enough"})
    return found


def reached(rows):
    """The (workload, patience) with a mean JCT at most that of the best other policy, and all figures within 5 % of it."""
    return [(workload, patience) for workload, (own, _) in relative(rows).items() for patience, ratio in own
            if ratio["mean_jct"] <= 1 and all(ratio[figure] <= ALLOWED for figure in FIGURES)]


class Axis:
    """A logarithmic scale from the smallest to the largest value, both with some space."""

    def __init__(self, values, begin, end):
        self.low, self.high, self.begin, self.end = min(*values, 1) / 1.05, max(*values, 1) * 1.05, begin, end

    def at(self, value):
        part = math.log(value / self.low) / math.log(self.high / self.low)
        return self.begin + part * (self.end - self.begin)

    def ticks(self):
        steps = (0.1, 0.2, 0.5, 1, 2, 5) if self.high / self.low > 2.5 else [tick / 10 for tick in range(5, 20)]
        return [tick for tick in steps if self.low <= tick <= self.high]


def panel(figure, left, by_workload):
    """One diagram: the figure against the mean JCT, both over those of the best other policy."""
    own = [ratio for points, _ in by_workload.values() for _, ratio in points]
    x = Axis([ratio["mean_jct"] for ratio in own], left, left + PANEL)
    y = Axis([ratio[figure] for ratio in own], TOP + HEIGHT, TOP)
    parts = [f'<text x="{left}" y="{TOP - 14}">{FIGURES[figure]}</text>',
             f'<rect class="goal" x="{left}" y="{y.at(ALLOWED):.1f}" width="{x.at(1) - left:.1f}" height="{TOP + HEIGHT - y.at(ALLOWED):.1f}"/>']
    for tick in x.ticks():
        parts.append(f'<line x1="{x.at(tick):.1f}" y1="{TOP}" x2="{x.at(tick):.1f}" y2="{TOP + HEIGHT}" stroke-width="0.5"{edge(tick)}/>')
        parts.append(f'<text x="{x.at(tick):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{tick:g}</text>')
    for tick in y.ticks():
        parts.append(f'<line x1="{left}" y1="{y.at(tick):.1f}" x2="{left + PANEL}" y2="{y.at(tick):.1f}" stroke-width="0.5"{edge(tick)}/>')
        parts.append(f'<text x="{left - 8}" y="{y.at(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for colour, (points, _) in zip(COLOURS, by_workload.values()):
        dots = [(x.at(ratio["mean_jct"]), y.at(ratio[figure])) for _, ratio in points]
        parts.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in dots)}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for (patience, _), (a, b) in zip(points, dots):
            title = f"<title>patience {patience:g} s</title>"
            parts.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{4 if patience == 28800 else 2.5}" fill="{colour}">{title}</circle>')
    return parts


def edge(tick):
    return ' class="edge"' if tick == 1 else ""


def picture(rows):
    by_workload = relative(rows)
    width = LEFT + 3 * PANEL + 2 * GAP + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 100}" role="img" font-family="sans-serif" font-size="12">',
        "<title>Figures of good_enough by patience, over those of the best other policy</title>",
        f"<style>{STYLE}</style>",
    ]
    for number, figure in enumerate(FIGURES):
        parts += panel(figure, LEFT + number * (PANEL + GAP), by_workload)
    parts.append(f'<text x="{width / 2:g}" y="{TOP + HEIGHT + 40}" text-anchor="middle">mean JCT, over that of the best other policy</text>')
    for number, (colour, workload) in enumerate(zip(COLOURS, by_workload)):
        left, height = LEFT + number % 2 * 330, TOP + HEIGHT + 66 + number // 2 * 20
        parts.append(f'<rect x="{left}" y="{height - 6}" width="14" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{left + 20}" y="{height}">{workload}</text>')
    return "\n".join([*parts, "</svg>\n"])


def made():
    return {PICTURE: picture([json.loads(line) for line in ROWS.read_text().splitlines()])}


if __name__ == "__main__":
    sys.exit(made_files.main(__doc__, made, "the rows of bench/sim/patience.jsonl", "bench/sim/frontier.py"))
