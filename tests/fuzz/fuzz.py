# SPDX-License-Identifier: BSL-1.0
"""Runs one fuzz target: first on its seeds and regression inputs, then on inputs that libFuzzer makes of them.

    fuzz.py --work FOLDER [--longest BYTES] [--seconds N] PROGRAM INPUTS...

FOLDER keeps the corpus for the next call, each input that ended the program, and in `executions` how many inputs were run. Without --seconds
the variable RATION_FUZZ_SECONDS counts, or 20.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--longest", type=int, default=512)
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("RATION_FUZZ_SECONDS", "20")))
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("inputs", type=pathlib.Path, nargs="+")
    return parser.parse_args()


def environment():
    """The sanitizers' own settings; what the caller has set comes last and so counts."""
    variables = dict(os.environ)
    for name, usual in (("ASAN_OPTIONS", "detect_stack_use_after_return=0:allocator_may_return_null=1"), ("UBSAN_OPTIONS", "print_stacktrace=1")):
        variables[name] = f"{usual}:{variables[name]}" if name in variables else usual
    return variables


def fuzz(given):
    corpus, found = given.work / "corpus", given.work / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    seed = 1 if given.seconds <= 60 else 0  # short runs judge a change by the same inputs each time; 0: libFuzzer draws one
    command = [given.program, f"-seed={seed}", f"-max_total_time={given.seconds}", f"-max_len={given.longest}", "-timeout=20", "-rss_limit_mb=1500",
               "-print_final_stats=1", "-verbosity=1", f"-artifact_prefix={found}/", corpus, *given.inputs]
    return subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)


def executions(output):
    counted = re.findall(r"^stat::number_of_executed_units:\s*(\d+)", output, re.MULTILINE)
    return int(counted[-1]) if counted else 0


def main():
    given = arguments()
    done = fuzz(given)
    count = executions(done.stderr)
    if done.returncode != 0:
        print(done.stdout, done.stderr[-20000:], sep="\n")
        print(f"{given.program.name}: an input in {given.work / 'found'} ends it; make it small with -minimize_crash=1, mend the reader, "
              f"and keep the input in tests/fuzz/regressions")
        return 1
    with open(given.work / "executions", "a", encoding="utf-8") as file:
        file.write(f"{count}\n")
    print(f"{given.program.name}: {count} executions in {given.seconds} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
