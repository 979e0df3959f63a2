# SPDX-License-Identifier: BSL-1.0
"""Compiles one source twice and holds the compiler's words against the sentence that ration promises.

Failure alone proves nothing, since any unrelated mistake fails as well. So the unchanged source has to compile, and to fail with
RATION_MISUSE defined. The sentence has to be within the first lines of the output, where a reader looks. Excerpts of the
source are not counted: newer compilers (g++ 14) print one below each line, and a reader passes over them. Where a line of the source
ends in `// [here]`, its number has to be in the output, a little later. A reader of a sentence in a header needs the line of the own
source that it is about.
"""

import argparse
import os
import re
import subprocess
import sys

FIRST_LINES = 10   # for the sentences
FIRST_PLACES = 16  # for the line of one's own
HERE = "// [here]"
EXCERPT = re.compile(r" +\d* \|")  # "  139 | struct in ..." and what is drawn below it


def compile_source(compiler, directories, source, misuse):
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-fsyntax-only"]
    command += ["-I" + directory for directory in directories]
    command += ["-DRATION_MISUSE"] if misuse else []
    done = subprocess.run(command + [source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    return done.returncode, done.stdout


def places(source):
    """Patterns of the marked lines in an output: FILE:LINE."""
    with open(source, encoding="utf-8") as lines:
        return [re.escape(f"{os.path.basename(source)}:{number}") + r"\b" for number, line in enumerate(lines, 1) if line.rstrip().endswith(HERE)]


def complaint(compiler, directories, source, *sentences):
    """Why the case fails, or None when it passes."""
    status, output = compile_source(compiler, directories, source, misuse=False)
    if status != 0:
        return "the right program does not compile:\n" + output
    status, output = compile_source(compiler, directories, source, misuse=True)
    if status == 0:
        return "the wrong program compiles: nothing stops the mistake (is RATION_MISUSE used in the source?)"
    lines = [line for line in output.splitlines() if not EXCERPT.match(line)]
    for wanted, most in [*((sentence, FIRST_LINES) for sentence in sentences), *((place, FIRST_PLACES) for place in places(source))]:
        if not any(re.search(wanted, line) for line in lines[:most]):
            return f"the first {most} lines do not say /{wanted}/:\n{output}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", default="", help="directories, separated by semicolons")
    parser.add_argument("--sentence", required=True, action="append", help="regular expression")
    parser.add_argument("source")
    given = parser.parse_args()
    directories = [directory for directory in given.include.split(";") if directory]
    problem = complaint(given.compiler, directories, given.source, *given.sentence)
    if problem is not None:
        print(f"{given.source} with {given.compiler}: {problem}")
        return 1
    print("right compiles, wrong fails and says why")
    return 0


if __name__ == "__main__":
    sys.exit(main())
