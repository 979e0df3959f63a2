# SPDX-License-Identifier: BSL-1.0
"""Every C and C++ file is as clang-format 19 writes it. Exit code 77 where that program is not installed.

    format.py ROOT
"""

import pathlib
import shutil
import subprocess
import sys

from tree import Tree

FORMATTED = (".c", ".cpp", ".h", ".hpp")


def unformatted(program, root, paths):
    """The first complaint about each file that clang-format would change."""
    done = subprocess.run([program, "--dry-run", "--ferror-limit=1", *paths], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0 and "-Wclang-format-violations" not in done.stderr:
        sys.exit(f"format: {program} failed: {done.stderr}")
    return [line for line in done.stderr.splitlines() if "-Wclang-format-violations" in line]


def main():
    program = shutil.which("clang-format-19")
    if program is None:
        print("skipped: clang-format-19 is not installed")
        return 77
    root = pathlib.Path(sys.argv[1])
    paths = [path for path in Tree(root).files if path.endswith(FORMATTED)]
    if not paths:
        sys.exit(f"format: {root} has no C or C++ file")
    problems = unformatted(program, root, paths)
    for line in problems:
        print(line)
    print(f"{len(problems)} of {len(paths)} files are not as clang-format-19 writes them; run it with -i")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
