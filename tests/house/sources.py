# SPDX-License-Identifier: BSL-1.0
"""Small files, small functions, a licence line, and no path of the machine on which they were written."""

import ast
import os
import re

from cpp_functions import UnbalancedBraces, functions
from cpp_tokens import tokens
from tree import CPP, Problem

MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 40

LICENCE = "SPDX-License-Identifier: BSL-1.0"
_HASH_ENDINGS = (".py", ".sh", ".cmake", ".cmake.in", ".pc.in", "CMakeLists.txt", ".toml", ".clang-format", ".clang-tidy",
                 ".editorconfig", ".gitattributes", ".yml", ".yaml", ".map")
# Names of one letter are made up, for tests.
_MACHINE_PATH = re.compile(r"(?<![\w.$}-])/(?:work|root|home|mnt|Users)/[\w.-]{2,}|/tmp/[b]uild-")
_NOTHING_THROWN = ("include/", "backends/")
_INPUT = "process::open_input or process::read_input"
_RAW_READING = {"ifstream", "fstream", "fopen", "freopen", "O_RDONLY", "O_RDWR"}
# The templates are programs of their own; a record is opened with O_NOFOLLOW, a folder with O_DIRECTORY, a file of claims or a lock is locked and
# not read so, the note of a lock is opened with O_NOFOLLOW, and the standard streams are opened on /dev/null.
_MAY_OPEN = ("tools/ration/new/", "tools/ration/run/run_directory.cpp", "tools/ration/run/private_folder.cpp", "tools/ration/run/record_folder.cpp", "tools/ration/run/core_claims.cpp",
             "tools/ration/run/descriptors.cpp", "tools/ration/nodes/agent_claims.cpp", "tools/ration/nodes/earlier_runs.cpp",
             "tools/ration/nodes/node_lock.cpp")


def check_licence(tree):
    for path in tree.files:
        first = tree.text(path).split("\n", 2)
        script = first[0].startswith("#!")
        comment = "//" if path.endswith(CPP) else "#" if script or path.endswith(_HASH_ENDINGS) else None
        at = 1 if script else 0
        if comment and tree.text(path) and first[at:at + 1] != [f"{comment} {LICENCE}"]:
            yield Problem(path, at + 1, f"this line has to be `{comment} {LICENCE}`")


def check_executable(tree):
    for path in tree.files:
        if tree.text(path).startswith("#!") and not os.access(tree.root / path, os.X_OK):
            yield Problem(path, 1, "a script with #! is not executable: chmod +x")


def check_file_length(tree):
    for path in tree.ending_in(*CPP, ".py", ".sh", ".cmake", "CMakeLists.txt"):
        count = len(tree.text(path).splitlines())
        if count > MOST_FILE_LINES:
            yield Problem(path, count, f"{count} lines, and {MOST_FILE_LINES} are the most: split it by what it is about")


def _python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def _functions(tree, path):
    if path.endswith(".py"):
        return list(_python_functions(tree.text(path)))
    return [(one.name, one.first_line, one.length) for one in functions(tree.text(path))]


def check_function_length(tree):
    for path in tree.ending_in(*CPP, ".py"):
        try:
            found = _functions(tree, path)
        except (UnbalancedBraces, SyntaxError) as failure:
            yield Problem(path, 1, f"cannot tell where its functions end ({type(failure).__name__}): simplify its #if branches")
            continue
        for name, line, length in found:
            if length > MOST_FUNCTION_LINES:
                yield Problem(path, line, f"{name} has {length} lines, and {MOST_FUNCTION_LINES} are the most")


def check_machine_paths(tree):
    for path in tree.files:
        for number, line in tree.lines(path):
            match = _MACHINE_PATH.search(line)
            if match:
                yield Problem(path, number, f"{match[0]} exists on one machine only: write a relative path")


def check_inputs(tree):
    """The program opens what a user names by one function: a raw open of a pipe blocks, and one of a device never ends."""
    for path in tree.ending_in(*CPP):
        if path.startswith("tools/ration/") and not path.startswith(_MAY_OPEN):
            for token in tokens(tree.text(path)):
                if token.text in _RAW_READING:
                    yield Problem(path, token.line, f"{token.text} reads a file without the checks of an input: call {_INPUT}")


def check_nothing_thrown(tree):
    for path in tree.ending_in(*CPP):
        if path.startswith(_NOTHING_THROWN):
            for token in tokens(tree.text(path)):
                if token.text == "throw":
                    yield Problem(path, token.line, "errors are values here: return a ration::error")
