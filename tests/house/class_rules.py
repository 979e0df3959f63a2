# SPDX-License-Identifier: BSL-1.0
"""A class is small enough to be held in the head: at most 25 methods, in one header and one source file."""

import posixpath

from cpp_classes import classes
from cpp_functions import UnbalancedBraces, functions
from tree import CPP, Problem

MOST_METHODS = 25


def _read(reader, tree, path):
    """What the reader finds; nothing in a file that it cannot read, which the rule of function lengths reports."""
    try:
        return reader(tree.text(path))
    except UnbalancedBraces:
        return []


def check_class_size(tree):
    for path in tree.ending_in(*CPP):
        for one in _read(classes, tree, path):
            if one.methods > MOST_METHODS:
                yield Problem(path, one.line, f"{one.name} has {one.methods} methods, and {MOST_METHODS} are the most: give a part of its state "
                                              "and the methods that use it to another class")


def check_class_files(tree):
    """The methods of a class that are defined outside of it are in one source file."""
    declared = {(posixpath.dirname(path), one.name) for path in tree.ending_in(".hpp") for one in _read(classes, tree, path) if one.name}
    first = {}
    for path in tree.ending_in(".cpp"):
        folder = posixpath.dirname(path)
        for one in _read(functions, tree, path):
            owner = (folder, one.name.split("::")[-2] if "::" in one.name else "")
            if owner in declared and first.setdefault(owner, path) != path:
                yield Problem(path, one.first_line, f"{one.name} is not in {first[owner]}, where the other methods of {owner[1]} are: "
                                                    "split the class, not its file")
                break
