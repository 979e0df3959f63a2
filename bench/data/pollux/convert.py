#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes applications.csv, step_times.csv and gradients.csv of the measurements in the artifact of Pollux.

  bench/data/pollux/convert.py ARTIFACT/simulator/traces

ARTIFACT is a checkout of petuum/adaptdl, branch osdi21-artifact. README.md describes the files.
"""

import csv
import pathlib
import sys

# Constants of the artifact's own simulator for its applications beside the measurements: rows of the validation files that a job runs
# through, and the largest batch of one device where that is not the largest measured one.
EPOCHS = {"bert": 2, "cifar10": 100, "deepspeech2": 80, "imagenet": 90, "ncf": 10, "yolov3": 50}
MAX_LOCAL_BATCH = {"yolov3": 8}
MOST_DEVICES = {"ncf": 1}      # it never runs ncf on more than one, and always at the batch that was asked for
FIXED_BATCH = {"ncf"}
RESTART_COST = 30              # seconds
MEASURED_DEVICES = 64


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def short(value):
    return format(value, ".6g")


def mean_by_key(times):
    """[(key, step, sync)] to {key: (mean step, mean sync)}, sorted."""
    groups = {}
    for key, step, sync in times:
        groups.setdefault(key, []).append((step, sync))
    return {key: tuple(sum(column) / len(group) for column in zip(*group)) for key, group in sorted(groups.items())}


def first_rotation(placement):
    """How the artifact names all placements that differ only in the node at which their ring begins."""
    return min(placement[i:] + placement[:i] for i in range(len(placement)))


def times_of(folder):
    """Rows (nodes, devices, spread, local batch, step, sync)."""
    by_spread, by_count = [], []
    for row in rows(folder / "placements.csv"):
        spread = "".join(sorted(row["placement"], reverse=True))
        count = len(spread), sum(map(int, spread))
        seconds = float(row["step_time"]), float(row["sync_time"])
        if row["placement"] == first_rotation(spread):
            by_spread.append(((*count, spread, int(row["local_bsz"])), *seconds))
        by_count.append(((*count, "", int(row["local_bsz"])), *seconds))
    for row in rows(folder / "scalability.csv"):
        key = int(row["num_nodes"]), int(row["num_replicas"]), "", int(row["local_bsz"])
        by_count.append((key, float(row["step_time"]), float(row["sync_time"])))
    return [(*key, *map(short, mean)) for group in (by_spread, by_count) for key, mean in mean_by_key(group).items()]


def validations_of(folder):
    """{batch: rows}, in order."""
    found = {int(path.stem.split("-")[1]): rows(path) for path in folder.glob("validation-*.csv")}
    return dict(sorted(found.items()))


def gradients_of(validations, epochs):
    """Rows (progress at the end, batch, sqr, var): an epoch ends for all batches where it ends for the first one."""
    for epoch in range(epochs):
        end = min(float(of[epoch]["progress"]) for of in validations.values())
        for batch, of in validations.items():
            yield format(end, ".10g"), batch, short(float(of[epoch]["grad_sqr"])), short(float(of[epoch]["grad_var"]))


def application_of(name, validations, times):
    local = [row[3] for row in times]
    largest, least = max(validations), min(local)
    most = min(MOST_DEVICES.get(name, MEASURED_DEVICES), largest // least)
    return (name, min(validations), largest, least, MAX_LOCAL_BATCH.get(name, max(local)), most, int(name in FIXED_BATCH), RESTART_COST)


def write(path, titles, lines):
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(titles)
        out.writerows(lines)


def main(traces):
    applications, step_times, gradients = [], [], []
    for name, epochs in EPOCHS.items():
        times, validations = times_of(traces / name), validations_of(traces / name)
        applications.append(application_of(name, validations, times))
        step_times += [(name, *row) for row in times]
        gradients += [(name, *row) for row in gradients_of(validations, epochs)]
    here = pathlib.Path(__file__).parent
    write(here / "applications.csv", "application initial_batch max_batch min_local_batch max_local_batch most_devices fixed_batch restart_cost".split(),
          applications)
    write(here / "step_times.csv", "application nodes devices spread local_batch step_time sync_time".split(), step_times)
    write(here / "gradients.csv", "application progress batch grad_sqr grad_var".split(), gradients)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
