#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Breaks the cgroup backend on purpose, one small fault at a time, and demands that the tests notice each.

    mutations.py [--cxx g++] [--link FLAG]... [--only NUMBER]... [--jobs N]

Works on a copy; the sources stay as they are. Exit code: 0 when every fault was noticed, 1 when one was not or no longer applies.
A fault that only the running kernel can show is passed over, with a line, where no cgroups can be used.
"""
import argparse
import concurrent.futures
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = "backends/cgroup/include/ration/cgroup"
PROGRAMS = {
    "text": ["text_test.cpp"],
    "suite": ["suite_test.cpp", "suite_memory_test.cpp", "model_machines.cpp"],
    "run": ["suite_run_test.cpp", "model_machines.cpp"],
    "seam": ["seam_test.cpp"],
    "evacuation": ["evacuation_test.cpp"],
    "faults": ["faults_test.cpp"],
    "kernel": ["kernel_io_test.cpp", "kernel_machines.cpp"],
}


class Mutation(NamedTuple):
    what: str      # the fault, in words
    header: str
    old: str       # is in the header exactly once
    new: str
    program: str   # which has to notice


MUTATIONS = [
    Mutation("a quota of 999 us is taken for one that can be written", "limits.hpp",
             "static constexpr std::int64_t least = 1000;", "static constexpr std::int64_t least = 999;", "text"),
    Mutation("paths with a colon are cut", "detail/proc_text.hpp",
             "line.find(':', first + 1)", "line.rfind(':')", "text"),
    Mutation("a mount of another part of the hierarchy is taken for ours", "detail/proc_text.hpp",
             "if (!outside && detail::below(path, mounted.root))", "if (!outside && path.size() >= mounted.root.size())", "text"),
    Mutation("names may begin with a dot", "names.hpp", "name.front() != '.'", "name.front() != ':'", "text"),
    Mutation("a descending range of cpus is an empty one", "detail/cpu_set.hpp", " && first <= last;", ";", "text"),
    Mutation("what was written is not compared with what is read back", "detail/values.hpp",
             "if (!same_value(*shown, text)) return", "if (shown->empty()) return", "seam"),
    Mutation("where a process was placed is not looked up", "detail/group.hpp",
             "if (missing->test(i))", "if (missing->count() > places_.size())", "seam"),
    Mutation("no check that a hierarchy is one", "hierarchy.hpp",
             "if (opened->kind() != kind) {", "if (opened->kind() != kind && kind == version::none) {", "seam"),
    Mutation("a burst above the new quota is lowered too late", "detail/set.hpp",
             "auto const lowered = detail::set_burst(where, 0);", "result<void> const lowered;", "suite"),
    Mutation("memory that cannot be reclaimed does not stop a shrink on v2", "memory.hpp",
             "if (*fixed > target.count()) return", "if (*used < 0) return", "suite"),
    Mutation("a raise of memory.soft is refused like a cut", "memory.hpp",
             "if (target.from.count() < *old) {", "if (target.from.count() < unlimited) {", "suite"),
    Mutation("memory.high stays low after a shrink", "memory.hpp",
             '~high_guard() { static_cast<void>(where_.write("memory.high", old_)); }', "~high_guard() = default;", "suite"),
    Mutation("a job is thawed before it has its new quota", "detail/operation.hpp",
             "    auto const now = detail::read_quota(**place, scratch);",
             "    if (freezer != nullptr) static_cast<void>(plan_state(*freezer, run_state::thawed));\n"
             "    auto const now = detail::read_quota(**place, scratch);", "suite"),
    Mutation("a v1 group that was frozen to be killed is not thawed", "detail/teardown.hpp",
             "auto const thawed = can_freeze ? thaw_tree(top) : result<void>();", "result<void> const thawed;", "suite"),
    Mutation("more than the run has can be granted", "backend.hpp",
             "wanted.amount > capacity().count) {", "wanted.amount > max_amount) {", "suite"),
    Mutation("a narrower cap goes to the run before the jobs", "detail/cap.hpp",
             "if (auto const shrunk = set(*job, wanted); !shrunk)", "if (auto const shrunk = result<void>(); !shrunk)", "run"),
    Mutation("a group of our name is removed even when it is another one", "detail/group.hpp",
             "remove_tree(above(last), name(), where.inode(), at_most)", "remove_tree(above(last), name(), 0, at_most)", "run"),
    Mutation("a process number that was given out again keeps a dead run alive", "orphans.hpp",
             "found->start_time == who.started && ", "", "run"),
    Mutation("runs of another pid namespace are taken for dead", "orphans.hpp",
             "if (who.pid_namespace != our_namespace) return true;", "if (who.pid_namespace == 0 && our_namespace == 0) return true;", "run"),
    Mutation("our process stays in the leaf", "detail/enable.hpp", "~evacuation() { leave(); }", "~evacuation() = default;", "evacuation"),
    Mutation("others in our group do not stop us", "detail/enable.hpp", "return pid != self; })) {", "return pid == -self; })) {", "evacuation"),
    Mutation("a freeze that fails leaves the group frozen", "detail/freeze.hpp",
             "    if (!frozen) static_cast<void>(thaw(where));  // the first error is reported\n", "", "faults"),
    Mutation("a half applied change is not taken back", "backend.hpp",
             "            static_cast<void>((*job)->write(op.old_value));  // the first error is reported\n", "            return done;\n", "faults"),
    Mutation("a group that could not be removed at once is left", "detail/teardown.hpp",
             "removed.failure().code == errc::busy || turn < 3;", "turn < 0;", "faults"),
    Mutation("names may lead out of the held directory", "kernel_io.hpp",
             "how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;", "how.resolve = 0;", "kernel"),
    Mutation("signals go to the process that had the number", "kernel_io.hpp",
             "bool const member = std::binary_search(still.begin(), still.end(), pid);",
             "bool const member = !std::binary_search(still.begin(), still.end(), pid);", "kernel"),
]


class Builder:
    """Compiles and runs test programs of one copy of the sources."""

    def __init__(self, cxx: str, link: list[str], main_object: pathlib.Path):
        self.cxx, self.link, self.main_object = cxx, link, main_object

    def flags(self, tree: pathlib.Path) -> list[str]:
        folders = ["tests", "include", "backends/cgroup/include", "backends/process/include"]
        return ["-std=c++20", "-O0"] + [f"-I{tree / folder}" for folder in folders]

    def build(self, tree: pathlib.Path, program: str) -> pathlib.Path:
        out = tree / program
        sources = [str(tree / "tests/cgroup" / source) for source in PROGRAMS[program]]
        subprocess.run([self.cxx, *self.flags(tree), *sources, str(self.main_object), *self.link, "-o", str(out)], check=True,
                       capture_output=True, text=True)
        return out

    @staticmethod
    def run(program: pathlib.Path) -> int:
        try:
            return subprocess.run([str(program)], capture_output=True, timeout=600).returncode
        except subprocess.TimeoutExpired:
            return -1


def copy_to(folder: pathlib.Path) -> None:
    for part in ("include", "backends/cgroup", "backends/process/include", "tests/support", "tests/cgroup"):
        shutil.copytree(ROOT / part, folder / part)


def check(number: int, builder: Builder, work: pathlib.Path, usable: dict[str, bool]) -> bool:
    """Whether the fault was noticed; prints one line."""
    mutation = MUTATIONS[number]
    label = f"{number + 1:3} {mutation.program:10} {mutation.what}"
    if not usable[mutation.program]:
        print(f"passed over  {label}", flush=True)
        return True
    tree = work / f"mutation-{number + 1}"
    copy_to(tree)
    header = tree / HEADERS / mutation.header
    text = header.read_text()
    if text.count(mutation.old) != 1:
        print(f"NOT APPLIED  {label}", flush=True)
        return False
    header.write_text(text.replace(mutation.old, mutation.new))
    try:
        noticed = builder.run(builder.build(tree, mutation.program)) != 0
    except subprocess.CalledProcessError as failed:
        print(f"NO COMPILE   {label}\n{failed.stderr[-2000:]}", flush=True)
        return False
    finally:
        shutil.rmtree(tree)
    print(f"{'noticed' if noticed else 'MISSED':12} {label}", flush=True)
    return noticed


def sound_programs(builder: Builder, work: pathlib.Path, names: list[str]) -> dict[str, bool]:
    """Builds each program from the true sources. It has to be green, or to say that it cannot run here (77)."""
    tree = work / "true"
    copy_to(tree)
    usable = {}
    for name in names:
        code = builder.run(builder.build(tree, name))
        if code not in (0, 77):
            sys.exit(f"{name} is red before anything was changed (exit code {code})")
        usable[name] = code == 0
    return usable


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--link", action="append", default=[], help="a flag for the linker")
    parser.add_argument("--only", action="append", type=int, default=[], help="a mutation's number")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    chosen = [n - 1 for n in asked.only] or list(range(len(MUTATIONS)))
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        main_object = work / "main.o"
        subprocess.run([asked.cxx, "-std=c++20", "-c", f"-I{ROOT / 'tests'}", str(ROOT / "tests/support/catch_main.cpp"), "-o",
                        str(main_object)], check=True)
        builder = Builder(asked.cxx, asked.link, main_object)
        usable = sound_programs(builder, work, sorted({MUTATIONS[n].program for n in chosen}))
        with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
            noticed = list(pool.map(lambda n: check(n, builder, work, usable), chosen))
    print(f"{sum(noticed)} of {len(noticed)} faults noticed")
    return 0 if all(noticed) else 1


if __name__ == "__main__":
    sys.exit(main())
