# SPDX-License-Identifier: BSL-1.0
"""Compiles every source of a configured build tree without generating code.

    syntax.py BUILD [--jobs N]

Templates are instantiated and warnings are errors as in the build itself; only code generation and linking are left out. Exit code
0, or 1 with the compiler's messages when it refuses a source.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def is_precompiled_header(entry):
    return pathlib.Path(entry["file"]).name.startswith("cmake_pch.")


def is_header_alone(entry):
    return "verify_interface_header_sets" in entry["file"]


def words_of(entry):
    """The command, without output and, where there is one, without the compiler cache before it."""
    words = shlex.split(entry["command"])
    if pathlib.Path(words[0]).name == "ccache":
        del words[0]
    if is_precompiled_header(entry):
        return words
    at = words.index("-o")
    return [*words[:at], *words[at + 2:], "-fsyntax-only"]


def run(entry):
    done = subprocess.run(words_of(entry), cwd=entry["directory"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        print(f"{entry['file']}: refused\n{done.stdout}", flush=True)
    return done.returncode == 0


def generate(build, entries):
    """Makes the sources that are made by the build, and nothing else of it."""
    missing = [entry["file"] for entry in entries if not pathlib.Path(entry["file"]).exists()]
    if missing:
        subprocess.run(["ninja", "-C", build, *missing], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    entries = [e for e in json.loads((given.build / "compile_commands.json").read_text()) if not is_header_alone(e)]
    if not entries:
        sys.exit(f"syntax: {given.build} has nothing to compile: configure it with tests and program")
    generate(given.build, entries)
    first = [entry for entry in entries if is_precompiled_header(entry)]
    others = [entry for entry in entries if not is_precompiled_header(entry)]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        results = [*pool.map(run, first), *pool.map(run, others)]
    refused = results.count(False)
    print(f"{len(results) - refused} of {len(results)} sources compile")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
