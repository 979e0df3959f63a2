#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes rates.csv of measured training speeds that others published.

  bench/data/rates/convert.py GAVEL/scheduler/simulation_throughputs.json ELASTICFLOW/throughputs_A100 ELASTICFLOW/throughputs_T4

GAVEL is a checkout of stanford-futuredata/gavel, ELASTICFLOW the folder of pkusys/ElasticFlow with its tables. README.md describes the
columns.
"""

import ast
import csv
import json
import math
import pathlib
import sys

APART = "_unconsolidated"


def gavel(path):
    for kind, jobs in json.loads(path.read_text(encoding="utf-8")).items():
        for key, speeds in jobs.items():
            model, devices = ast.literal_eval(key)
            yield model, kind.removesuffix(APART), int(kind.endswith(APART)), 0, devices, float(speeds["null"])


def elasticflow(folder):
    """A blank, nan or 0 means that it cannot run like that."""
    kind = folder.name.removeprefix("throughputs_").lower()
    for path in sorted(folder.glob("*.csv")):
        with open(path, encoding="utf-8", newline="") as file:
            titles, *lines = csv.reader(file)
        for line in lines:
            for devices, speed in zip(titles[1:], line[1:]):
                if speed.strip() and float(speed) > 0 and not math.isnan(float(speed)):
                    yield path.stem, kind, 0, int(line[0]), int(devices), float(speed)


def main(throughputs, *folders):
    rows = [row for row in gavel(pathlib.Path(throughputs)) if row[-1] > 0]
    for folder in folders:
        rows += elasticflow(pathlib.Path(folder))
    with open(pathlib.Path(__file__).parent / "rates.csv", "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow("model type several_nodes batch devices steps_per_second".split())
        out.writerows((*row[:-1], format(row[-1], ".6g")) for row in sorted(rows))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
