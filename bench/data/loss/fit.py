#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Fits the loss curve of include/ration/sim/cpu_model.hpp to curves.csv, and writes fits.csv beside it: bench/data/loss/fit.py

loss(s) = floor + power * (1 + s / power_steps)^-exponent + fast * exp(-s / fast_steps), all members at least 0, with the least sum of squared
relative errors. For fixed power_steps, exponent and fast_steps the rest is linear; these three are searched on a grid that gets finer.
"""

import collections
import csv
import itertools
import math
import pathlib
import statistics
import typing

HERE = pathlib.Path(__file__).resolve().parent
# Acceptable and Objective, as README.md describes.
TARGETS = {"softmax": (0.55, 0.45), "mlp": (0.5, 0.38), "vae": (275, 260), "rnn": (0.7, 0.5), "torch-vae": (265, 255), "torch-cnn": (0.5, 0.4),
           "torch-gru": (0.04, 0.03), "torch-lstm-cfc": (0.68, 0.58), "torch-lstm-crf": (3, 2.2), "torch-bidirectional-rnn": (0.68, 0.55),
           "torch-rnn": (0.95, 0.75), "torch-dynamic-rnn": (0.75, 0.62)}
USUAL_BATCH = {"softmax": 512, "mlp": 128, "vae": 64, "rnn": 32}
MOST_POINTS = 60  # of one run that the fit looks at, evenly spread


class Recorded(typing.NamedTuple):
    curves: list[list[tuple[float, float]]]  # of each seed: step and loss
    steps: int


def recorded() -> dict[tuple[str, int], Recorded]:
    """By model and batch. The mean loss of the steps since the report before counts for the middle of them."""
    runs = collections.defaultdict(list)
    with open(HERE / "curves.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            runs[row["model"], int(row["batch"]), row["seed"]].append((int(row["step"]), float(row["loss"])))
    found = {}
    for (model, batch, _), points in runs.items():
        before = [0] + [step for step, _ in points[:-1]]
        same = found.setdefault((model, batch), Recorded([], points[-1][0]))
        same.curves.append([((first + last + 1) / 2, loss) for first, (last, loss) in zip(before, points)])
    return found


def solve(matrix: list[list[float]], right: list[float]) -> list[float] | None:
    """Gauss with pivots; None when singular."""
    rows = [[*row, value] for row, value in zip(matrix, right)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        if abs(rows[i][i]) < 1e-12:
            return None
        for r in range(len(rows)):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def linear_fit(points, power_steps: float, exponent: float, fast_steps: float):
    """(sum of squared relative errors, (floor, power, fast)), the best of those that are not negative."""
    columns = [(1 / loss, (1 + s / power_steps) ** -exponent / loss, math.exp(-s / fast_steps) / loss) for s, loss in points]
    normal = [[sum(c[i] * c[j] for c in columns) for j in range(3)] for i in range(3)]
    right = [sum(c[i] for c in columns) for i in range(3)]
    best = (math.inf, (0.0, 0.0, 0.0))
    for used in itertools.chain.from_iterable(itertools.combinations(range(3), n) for n in (1, 2, 3)):
        found = solve([[normal[i][j] for j in used] for i in used], [right[i] for i in used])
        if found is None or min(found) < 0:
            continue
        weight = [0.0, 0.0, 0.0]
        for i, value in zip(used, found):
            weight[i] = value
        error = sum((sum(w * c for w, c in zip(weight, row)) - 1) ** 2 for row in columns)
        best = min(best, (error, tuple(weight)))
    return best


def fit(points):
    """(error, (floor, power, fast), (power_steps, exponent, fast_steps)); four rounds, each around the best so far.

    Nothing falls faster than the first report shows: before it a curve would be free to begin anywhere.
    """
    first, last = min(s for s, _ in points), max(s for s, _ in points)
    centre, span = (last / 30, 1.0, last / 30), (60.0, 4.0, 60.0)
    best = None
    for _ in range(4):
        axes = [[c * reach ** (i / 3) for i in range(-3, 4)] for c, reach in zip(centre, span)]
        grid = itertools.product({max(p, first) for p in axes[0]}, axes[1], {max(f, first) for f in axes[2]})
        tried = ((*linear_fit(points, *shape), shape) for shape in sorted(grid))
        best = min(itertools.chain(tried, [best] if best else []))
        centre, span = best[2], tuple(reach ** 0.4 for reach in span)
    return best


def loss_at(step: float, weight, shape) -> float:
    floor, power, fast = weight
    power_steps, exponent, fast_steps = shape
    return floor + power * (1 + step / power_steps) ** -exponent + fast * math.exp(-step / fast_steps)


def noise_of(curves, weight, shape) -> float:
    """Standard deviation of one step's loss as a share of it. Of differences of neighbours, so that what the curve misses does not count."""
    squares = []
    for points in curves:
        off = [loss / loss_at(s, weight, shape) - 1 for s, loss in points]
        steps = points[1][0] - points[0][0]
        squares += [(b - a) ** 2 / 2 * steps for a, b in zip(off[len(off) // 4:], off[len(off) // 4 + 1:])]
    return math.sqrt(statistics.fmean(squares))


def speeds() -> dict[tuple[str, int], float]:
    with open(HERE / "speeds.csv", encoding="utf-8", newline="") as file:
        return {(row["model"], int(row["batch"])): float(row["steps_per_core_second"]) for row in csv.DictReader(file) if float(row["share"]) == 1}


def row_of(key: tuple[str, int], of: Recorded, speed: float) -> list:
    model, batch = key
    points = [point for curve in of.curves for point in curve[::max(len(curve) // MOST_POINTS, 1)]]
    error, weight, shape = fit(points)
    numbers = [weight[0], weight[1], shape[0], shape[1], weight[2], shape[2], noise_of(of.curves, weight, shape), speed]
    name = model if batch == USUAL_BATCH.get(model, 64) else f"{model}-{batch}"
    return [name, batch, *(format(value, ".5g") for value in numbers), *TARGETS[model], of.steps, format(math.sqrt(error / len(points)), ".2g")]


def main() -> None:
    speed = speeds()
    rows = [row_of(key, of, speed[key]) for key, of in sorted(recorded().items()) if key in speed]
    with open(HERE / "fits.csv", "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow("name batch floor power power_steps exponent fast fast_steps noise steps_per_core_second acceptable objective steps error".split())
        out.writerows(rows)
    for row in rows:
        print(*row)


if __name__ == "__main__":
    main()
