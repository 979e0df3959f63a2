#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Breaks the rules of a run on several nodes, one at a time. The model of model_test.cpp has to notice each.

    mutations.py [--cxx g++] [--link FLAG]... [--only NUMBER]...

Works on a copy. Exit code: 0 if each fault was noticed, 1 if one was not or no longer applies.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODES = "tools/ration/nodes"
SCHEDULES = 100000


class Mutation(NamedTuple):
    what: str  # the fault, in words
    file: str
    old: str   # is in the file exactly once
    new: str


MUTATIONS = [
    Mutation("a late message renews the lease from its arrival", "node_lease.hpp", "std::min(clock, now) + length_", "now + length_"),
    Mutation("a suspect node is lost at once", "node_registry.cpp", "if (!may_be_lost || now < lost_at) continue;", "if (!may_be_lost) continue;"),
    Mutation("a report on an earlier list frees a job", "node_registry.cpp", "(p.leaving || p.number == 0) && number >= p.number", "p.leaving || p.number == 0"),
    Mutation("a job is assigned beside its earlier launch", "node_registry.hpp", "return is_free(job) && nodes_[node].state == node_state::up;",
             "return nodes_[node].state == node_state::up;"),
    Mutation("the jobs of an agent that has kept them are free", "node_registry.cpp", "if (!has_kept_jobs) release_jobs(node);", "release_jobs(node);"),
    Mutation("a list is sent before an agent has reported its jobs", "node_registry.cpp", "n.awaits_report = has_kept_jobs;", "n.awaits_report = false;"),
    Mutation("a later controller expects no jobs", "node_registry.cpp", "    for (auto const node : nodes) {\n        jobs_[job].parts.push_back(",
             "    for (auto const node : nodes) {\n        if (job > jobs_.size()) jobs_[job].parts.push_back("),
    Mutation("a later controller does not wait for the lease of a node", "node_registry.cpp", "nodes_[node].last_message = now;", "nodes_[node].last_message = {};"),
    Mutation("a controller that was suspended counts that time as silence", "node_registry.cpp", "for (auto& n : nodes_) n.started = n.last_message = now;",
             "for (auto& n : nodes_) n.started = now;"),
    Mutation("a start on several nodes that hangs is not withdrawn", "start_deadline.hpp", "return now - since_ >= limit;", "return now - since_ >= limit && limit == nanoseconds{};"),
]


def copy_to(folder: pathlib.Path) -> None:
    for part in ("include", NODES, "tests/nodes", "tests/support"):
        shutil.copytree(ROOT / part, folder / part)


def passes(folder: pathlib.Path, cxx: str, rest: list[str]) -> bool:
    """Compiles and runs the model."""
    program = folder / "model"
    sources = [str(folder / "tests/nodes/model_test.cpp"), str(folder / NODES / "node_registry.cpp")]
    subprocess.run([cxx, "-std=c++20", "-O2", *(f"-I{folder / part}" for part in ("include", "tools/ration", "tests")), *sources, *rest, "-o", str(program)], check=True)
    environment = {**os.environ, "RATION_NODE_SCHEDULES": str(SCHEDULES)}
    return subprocess.run([program], env=environment, capture_output=True, check=False, timeout=600).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--link", action="append", default=[], help="a flag for the linker")
    parser.add_argument("--only", action="append", type=int, default=[], help="the number of a mutation")
    asked = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as holder:
        main_object = pathlib.Path(holder, "main.o")
        subprocess.run([asked.cxx, "-std=c++20", "-c", f"-I{ROOT / 'tests'}", str(ROOT / "tests/support/catch_main.cpp"), "-o", str(main_object)], check=True)
        rest = [str(main_object), *asked.link]
        true = pathlib.Path(holder, "true")
        copy_to(true)
        if not passes(true, asked.cxx, rest):
            sys.exit("the model fails before a rule is changed")
        for number, mutation in enumerate(MUTATIONS, 1):
            if asked.only and number not in asked.only:
                continue
            folder = pathlib.Path(holder, str(number))
            copy_to(folder)
            file = folder / NODES / mutation.file
            text = file.read_text()
            applies = text.count(mutation.old) == 1
            file.write_text(text.replace(mutation.old, mutation.new))
            noticed = applies and not passes(folder, asked.cxx, rest)
            missed += not noticed
            print(f"{'noticed' if noticed else 'MISSED' if applies else 'NOT APPLIED':12} {number:2} {mutation.what}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
