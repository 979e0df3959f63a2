# SPDX-License-Identifier: BSL-1.0
"""bench/compile_cost/table.md and the headers that it lists: the counts of its table are the reviewed baseline.

    page.py --check core|all    exit code 1 when a header costs over 3 % more (or less) than on the page, 77 with other compilers than the page's
    page.py --write             measures all again and writes the table; the difference belongs into the same change as its cause
"""

import argparse
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import compile_cost

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "bench/compile_cost/table.md"
SLACK = 0.03
GXX, CLANGXX = "g++", "clang++-19"
# The headers that people include, from the cheapest to the most expensive; they include the rest.
CORE = """ration/policy.hpp ration/job.hpp ration/column_adapter.hpp ration/allocate.hpp ration/host/engine.hpp ration/ration.hpp
ration/policies/equal_share.hpp ration/policies/tradl.hpp ration/policies/pollux.hpp""".split()
HEADERS = CORE + """ration/adapt/jobs.hpp ration/adapt/adapt.hpp ration/plugin/abi.h ration/plugin/export.hpp ration/plugin/host/host.hpp
ration/sim/simulation.hpp ration/process/backend.hpp ration/cgroup/backend.hpp ration/progress/receiver.hpp ration/cuda/inventory.hpp
ration/hwloc/placement.hpp""".split()
_ROW = re.compile(r"^\| `([^`]+)` \| ([\d ]+) \| ([\d ]+) \| ([\d.]+) \|$", re.M)


def directories():
    return [f"-I{path}" for path in [ROOT / "include", *sorted(ROOT.glob("backends/*/include"))]]


def version_of(compiler):
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    return f"{compiler} {re.search(r'[0-9]+[.][0-9]+[.][0-9]+', said)[0]}"


def compilers():
    return f"{version_of(GXX)}, {version_of(CLANGXX)}"


def counts_of(header):
    return (compile_cost.preprocessed_lines(GXX, directories(), [header]), len(compile_cost.instantiations(CLANGXX, directories(), [header])))


def seconds_of(header):
    """Of the compiler's own time, the median of three."""
    measured = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a.cpp").write_text(compile_cost.source_of([header]))
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            compile_cost.compile_in(folder, [GXX, "-std=c++20", "-fsyntax-only", *directories(), "a.cpp"])
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        measured.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(measured)


def number(value):
    return f"{value:,}".replace(",", " ")


def rows_of(text):
    """{header: (lines, instantiations)}"""
    return {m[1]: (int(m[2].replace(" ", "")), int(m[3].replace(" ", ""))) for m in _ROW.finditer(text)}


def changes(said, measured):
    """The changes that a reviewer has to look at: a sentence for each count that has moved by more than the slack."""
    for header, counts in measured.items():
        if header not in said:
            yield f"<{header}> is not in the table"
            continue
        for what, before, now in zip(("lines", "instantiations"), said[header], counts):
            if abs(now - before) > SLACK * before:
                yield f"<{header}> costs {now} {what}, the page has {before} ({100 * (now - before) / before:+.1f} %)"


def write():
    text = PAGE.read_text()
    begin, end = text.index("| header |"), text.index("\n\n", text.index("| header |"))
    lines = ["| header | lines | instantiations | seconds |", "|---|--:|--:|--:|"]
    for header in HEADERS:
        count, made = counts_of(header)
        lines.append(f"| `{header}` | {number(count)} | {number(made)} | {seconds_of(header):.2f} |")
    text = text[:begin] + "\n".join(lines) + text[end:]
    PAGE.write_text(re.sub(r"made with [^;]*;", f"made with {compilers()};", text))


def check(headers):
    text = PAGE.read_text()
    if compilers() not in text:
        print(f"skipped: the page was not made with {compilers()}")
        return 77
    found = list(changes(rows_of(text), {header: counts_of(header) for header in headers}))
    for sentence in found:
        print(sentence)
    if found:
        print("If that is what it has to cost, run bench/compile_cost/page.py --write and say why in the same change.")
    return 1 if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--check", choices=("core", "all"))
    group.add_argument("--write", action="store_true")
    given = parser.parse_args()
    for compiler in (GXX, CLANGXX):
        if shutil.which(compiler) is None:
            print(f"skipped: {compiler} is not installed")
            return 77
    return write() if given.write else check(CORE if given.check == "core" else HEADERS)


if __name__ == "__main__":
    sys.exit(main())
