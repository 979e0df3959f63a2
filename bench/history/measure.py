#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares the speed of this tree with that of an earlier commit, in turns, and records the comparison.

    measure.py                      against the commit of the newest point in bench/history; prints the table
    measure.py --against COMMIT     against this one
    measure.py --record             also writes the point, bench/history/NNN.json, for page.py

Both trees are built as releases in build/history, which takes some minutes. Exit code: 0, 1 when a group of rows is more than 5 %
slower or a simulation gives another answer, 2 for a wrong command line, 77 with the reason when this cannot be measured here.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HISTORY = ROOT / "bench/history"
SLOWER = 1.05
# Part of the build: whether the files of a folder are compiled together, and the targets.
PARTS = {"program": ("ON", ("ration",)), "bench": ("OFF", ("bench.policy.decide", "bench.plugin"))}
# Group: the rows of a Google Benchmark program, by a filter.
PROGRAMS = {
    "decision": ("bench.policy.decide", ".*"),
    "check": ("bench.plugin", "^check.*/10000/"),
}
# Group "simulation": the words of `ration sim`. A simulation takes long enough for one reading of the processor's time.
RIGID = "--generate rigid:jobs=20000,per_hour=20000 --cluster 256x4 --policy"
PROFILED = "--trace bench/data/pollux/workload-1.csv --models bench/data/pollux --cluster 16x4 --policy"
SIMULATIONS = {f"20 000 jobs, {name}": f"{RIGID} {name}" for name in ("fifo", "las", "srtf", "gang", "drf", "max_min")}
SIMULATIONS |= {f"workload-1, {name}": f"{PROFILED} {name}" for name in ("optimus", "pollux", "sia", "good_enough")}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def points():
    """The recorded points, oldest first."""
    return [json.loads(path.read_text()) for path in sorted(HISTORY.glob("[0-9]*.json"))]


def build(source, folder):
    """Builds both parts; a release, because it is what people use."""
    for part, (together, targets) in PARTS.items():
        for words in (["cmake", "--preset", "release", "-B", folder / part, "-D", f"CMAKE_UNITY_BUILD={together}", "-D", "RATION_BUILD_TESTS=OFF"],
                      ["cmake", "--build", folder / part, "--parallel", str(os.cpu_count()), "--target", *targets]):
            done = subprocess.run(words, cwd=source, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{done.stdout}{done.stderr}measure.py: {source} does not build as a release; choose another commit")
    return folder


def rows_of_program(programs, name, pattern):
    """{row: (ns of the processor, None)}"""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        words = [programs / "bench/bin" / name, f"--benchmark_filter={pattern}", "--benchmark_min_time=0.05", f"--benchmark_out={out.name}"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return {row: (ns, None) for row, ns in cpu_times(json.loads(pathlib.Path(out.name).read_text())).items()}


def cpu_times(report):
    """{row: median of its repetitions}, in ns, from the report of a Google Benchmark program."""
    unit = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    found = {}
    for row in report["benchmarks"]:
        if row.get("run_type") != "aggregate":
            found.setdefault(row["run_name"], []).append(row["cpu_time"] * unit[row["time_unit"]])
    return {name: statistics.median(times) for name, times in found.items()}


def row_of_simulation(programs, words):
    """Time of the processor in ns, and the mean JCT, which is the same as long as the schedule is."""
    child = subprocess.Popen([programs / "program/bin/ration", "sim", *shlex.split(words), "--threads", "1", "--quiet", "--json"], cwd=ROOT, stdout=subprocess.PIPE)
    out = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.stdout.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, f"ration sim {words}")
    policy, = json.loads(out.splitlines()[0])["policies"]
    return (used.ru_utime + used.ru_stime) * 1e9, policy["figures"]["mean_jct"]


def measure_once(programs):
    """{(group, row): (ns, answer)}"""
    found = {}
    for group, (name, pattern) in PROGRAMS.items():
        found |= {(group, row): value for row, value in rows_of_program(programs, name, pattern).items()}
    return found | {("simulation", row): row_of_simulation(programs, words) for row, words in SIMULATIONS.items()}


def compare(before, after):
    """The rows of both, from rounds that followed each other: medians, and the median of the ratios of the rounds."""
    rows = []
    for key in before[0]:
        if any(key not in one for one in after):
            continue
        times = [(old[key][0], new[key][0]) for old, new in zip(before, after)]
        rows.append({
            "group": key[0],
            "row": key[1],
            "before_ns": round(statistics.median(old for old, _ in times)),
            "after_ns": round(statistics.median(new for _, new in times)),
            "ratio": round(statistics.median(new / old for old, new in times), 3),
            "same_answer": all(old[key][1] == new[key][1] for old, new in zip(before, after)),
        })
    return rows


def ratios_of(rows):
    """{group: geometric mean of its ratios}"""
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row["ratio"])
    return {group: statistics.geometric_mean(ratios) for group, ratios in groups.items()}


def faults(rows):
    """A sentence for each reason to look at the step."""
    for group, ratio in ratios_of(rows).items():
        if ratio > SLOWER:
            yield f"{group}: {100 * (ratio - 1):.1f} % slower; find the change that costs it, or record the point with the reason in its commit"
    for row in rows:
        if not row["same_answer"]:
            yield f"{row['group']}, {row['row']}: another answer than before; explain the schedule that has changed"


def show(rows):
    for row in rows:
        print(f"{row['group']:<12}{row['row']:<36}{row['before_ns'] / 1e3:>14.2f} us{row['after_ns'] / 1e3:>14.2f} us{row['ratio']:>8.3f}")
    for group, ratio in ratios_of(rows).items():
        print(f"{group}: {ratio:.3f} times the earlier time in the geometric mean")


def processor():
    names = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return names[0] if names else "unknown"


def record(rows, against, number):
    point = {
        "commit": git("rev-parse", "--short=12", "HEAD"),
        "against": against,
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "rows": rows,
    }
    (HISTORY / f"{number:03}.json").write_text(json.dumps(point, indent=1) + "\n")


def measure(against, rounds):
    """Rows of this tree against the commit. The two are measured in turns, so that a change of the machine's speed meets both."""
    folder = ROOT / "build/history"
    earlier = folder / "source"
    if earlier.exists():
        git("worktree", "remove", "--force", str(earlier))
    git("worktree", "prune")
    subprocess.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", earlier, against], check=True)
    try:
        old, new = build(earlier, folder / "before"), build(ROOT, folder / "after")
    finally:
        git("worktree", "remove", "--force", str(earlier))
    before, after = [], []
    for _ in range(rounds):
        before.append(measure_once(old))
        after.append(measure_once(new))
    return compare(before, after)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", help="a commit; by default that of the newest point")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each tree (default 5)")
    parser.add_argument("--record", action="store_true", help="write the next point")
    given = parser.parse_args()
    recorded = points()
    if given.against is None and not recorded:
        parser.error("bench/history has no point yet: name a commit by --against")
    against = git("rev-parse", "--verify", "--short=12", f"{given.against or recorded[-1]['commit']}^{{commit}}")
    if against is None:
        skip("this clone does not have the commit of the newest point: fetch the whole history")
    rows = measure(against, given.rounds)
    show(rows)
    if given.record:
        record(rows, against, len(recorded) + 1)
    found = list(faults(rows))
    for sentence in found:
        print(sentence)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
