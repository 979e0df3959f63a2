# SPDX-License-Identifier: BSL-1.0
"""A made-up source tree for the tests of the rules."""

import pathlib
import tempfile
import unittest

from tree import Tree

SPDX = "// SPDX-License-Identifier: BSL-1.0\n"


class SyntheticTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def found(self, rule):
        """(path, line) of each problem."""
        return [(problem.path, problem.line) for problem in rule(Tree(self.root))]

    def words(self, rule):
        return "\n".join(str(problem) for problem in rule(Tree(self.root)))
