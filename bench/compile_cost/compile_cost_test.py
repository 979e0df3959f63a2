# SPDX-License-Identifier: BSL-1.0
"""The gate on the compile cost can be red, and counts the same twice."""

import contextlib
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import compile_cost
import page

LEAN = "#pragma once\n#include <span>\n"
HEAVY = "#pragma once\n" + "".join(
    f"template <int N> struct c{i} {{ c{i}<N - 1> next; }};\ntemplate <> struct c{i}<0> {{}};\ninline c{i}<300> v{i};\n"
    for i in range(20))


class Gate(unittest.TestCase):
    def run_on(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "synthetic.hpp").write_text(text)
            done = subprocess.run([sys.executable, compile_cost.__file__, "--include", folder, "--header", "synthetic.hpp"],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_a_lean_header_passes(self):
        self.assertEqual(self.run_on(LEAN)[0], 0)

    def test_a_heavy_one_does_not_and_the_cause_is_named(self):
        status, said = self.run_on(HEAVY)
        self.assertEqual(status, 1)
        self.assertIn("baseline: instantiations.", said)
        self.assertIn("c7<300>", said)

    def test_a_header_that_does_not_compile_is_no_pass(self):
        self.assertEqual(self.run_on("#include <no_such_header_at_all>\n")[0], 1)

    def test_the_limit_itself_passes_and_one_more_does_not(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(compile_cost.report([("lines", 250, 100), ("instantiations", 10, 100)], 2.5), [])
            self.assertEqual(compile_cost.report([("lines", 251, 100), ("instantiations", 10, 100)], 2.5), ["lines"])

    def test_the_counts_repeat(self):
        counts = {len(compile_cost.instantiations("clang++-19", [], ["concepts"])) for _ in range(3)}
        self.assertEqual(len(counts), 1)
        self.assertGreater(counts.pop(), 0)

    def test_lines_are_those_of_the_preprocessor(self):
        self.assertGreater(compile_cost.preprocessed_lines("g++", [], ["span"]),
                           2 * compile_cost.preprocessed_lines("g++", [], ["concepts"]))


class Page(unittest.TestCase):
    def test_the_rows_of_a_table_are_read(self):
        text = "| header | lines |\n|---|--:|\n| `ration/a.hpp` | 22 569 | 668 | 0.39 |\n| `other` | x |\n"
        self.assertEqual(page.rows_of(text), {"ration/a.hpp": (22569, 668)})

    def test_more_than_the_slack_is_told_in_either_direction(self):
        said = {"a": (1000, 1000)}
        self.assertEqual(list(page.changes(said, {"a": (1030, 970)})), [])
        self.assertEqual(len(list(page.changes(said, {"a": (1031, 969)}))), 2)
        self.assertIn("1031 lines, the page has 1000 (+3.1 %)", next(page.changes(said, {"a": (1031, 1000)})))
        self.assertEqual(list(page.changes(said, {"b": (1, 1)})), ["<b> is not in the table"])

    def test_the_page_lists_what_is_checked(self):
        self.assertEqual(list(page.rows_of(page.PAGE.read_text())), page.HEADERS)


if __name__ == "__main__":
    for compiler in ("g++", "clang++-19"):
        if shutil.which(compiler) is None:
            print(f"skipped: {compiler} is not installed")
            sys.exit(77)
    unittest.main()
