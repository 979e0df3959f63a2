# SPDX-License-Identifier: BSL-1.0
"""A class is small enough to be held in the head: at most 25 methods, in one header and one source file."""

import posixpath

from cpp_classes import classes
from cpp_functions import UnbalancedBraces, functions
from tree import CPP, Problem

MOST_METHODS = 25
# Classes from before the rule, with their number of methods. The number may only fall, and an entry that is not needed any longer is refused.
LARGER = {
    ("tools/ration/run/resize.hpp", "resize"): 61,
}


def _read(reader, tree, path):
    """What the reader finds; nothing in a file that it cannot read, which the rule of function lengths reports."""
    try:
        return reader(tree.text(path))
    except UnbalancedBraces:
        return []


def check_class_size(tree):
    for path in tree.ending_in(*CPP):
        for one in _read(classes, tree, path):
            most = LARGER.get((path, one.name), MOST_METHODS)
            if one.methods > most:
                yield Problem(path, one.line, f"{one.name} has {one.methods} methods, and {most} are the most: give a part of its state "
                                              "and the methods that use it to another class")
            if one.methods < most and (path, one.name) in LARGER:
                yield Problem(path, one.line, f"{one.name} has {one.methods} methods now: lower its number in class_rules.LARGER, or remove it at {MOST_METHODS}")


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
