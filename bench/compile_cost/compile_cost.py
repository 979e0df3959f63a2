# SPDX-License-Identifier: BSL-1.0
"""The cost of including a header, counted and not timed: the same counts come out of a busy machine and of an idle one.

    compile_cost.py --include DIR... [--header NAME] [--most RATIO]

Two counts: lines after the preprocessor (g++ -E -P) and template instantiations (clang++ -ftime-trace, classes and functions).
Both are put beside those of <span>, <string_view>, <vector> and <variant> together, which a caller has included anyway.
Exit code 1 when a ratio is over the limit, 77 when a compiler is missing.
"""

import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

BASELINE = ("span", "string_view", "vector", "variant")
MOST_CAUSES = 20
INSTANTIATIONS = {"InstantiateClass", "InstantiateFunction"}


def compile_in(folder, command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"compile_cost: this command failed: {' '.join(command)}\n{done.stderr}")
    return done.stdout


def source_of(headers):
    return "".join(f"#include <{header}>\n" for header in headers)


def preprocessed_lines(compiler, directories, headers):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "a.cpp").write_text(source_of(headers))
        return len(compile_in(folder, [compiler, "-std=c++20", "-E", "-P", *directories, "a.cpp"]).splitlines())


def instantiations(compiler, directories, headers):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "a.cpp").write_text(source_of(headers))
        compile_in(folder, [compiler, "-std=c++20", "-c", "-ftime-trace", "-ftime-trace-granularity=0", *directories, "a.cpp"])
        events = json.loads((pathlib.Path(folder) / "a.json").read_text())["traceEvents"]
    return [event for event in events if event.get("name") in INSTANTIATIONS]


def causes(events):
    """The number of instantiations of each outermost one: those that it began, and itself."""
    counts, cause, end = collections.Counter(), None, -1
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        if event["ts"] >= end:
            cause, end = event["args"]["detail"], event["ts"] + event["dur"]
        counts[cause] += 1
    return counts


def report(rows, most):
    """rows: (what, of the header, of the baseline). Prints the table and returns what is over the limit."""
    width = max(len(row[0]) for row in rows)
    print(f"{'':{width}}  {'header':>8}  {'baseline':>8}  ratio")
    for what, ours, baseline in rows:
        print(f"{what:{width}}  {ours:8}  {baseline:8}  {ours / baseline:5.2f}")
    return [what for what, ours, baseline in rows if ours > most * baseline]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", action="append", required=True, metavar="DIR")
    parser.add_argument("--header", default="ration/ration.hpp")
    parser.add_argument("--most", type=float, default=2.5, metavar="RATIO")
    parser.add_argument("--gxx", default="g++")
    parser.add_argument("--clangxx", default="clang++-19")
    given = parser.parse_args()
    for compiler in (given.gxx, given.clangxx):
        if shutil.which(compiler) is None:
            print(f"skipped: {compiler} is not installed")
            return 77
    directories = [f"-I{pathlib.Path(directory).resolve()}" for directory in given.include]
    print(f"<{given.header}> beside {', '.join('<' + name + '>' for name in BASELINE)}")
    ours = instantiations(given.clangxx, directories, [given.header])
    over = report([
        ("preprocessed lines", preprocessed_lines(given.gxx, directories, [given.header]), preprocessed_lines(given.gxx, [], BASELINE)),
        ("instantiations", len(ours), len(instantiations(given.clangxx, [], BASELINE))),
    ], given.most)
    if over:
        print(f"over {given.most} times the baseline: {', '.join(over)}. What begins the most instantiations:")
        for cause, count in causes(ours).most_common(MOST_CAUSES):
            print(f"{count:6}  {cause[:110]}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
