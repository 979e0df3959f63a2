# SPDX-License-Identifier: BSL-1.0
"""docs/field-failures.md and field_tests.md: each failure that a test excludes names a test that exists."""
import pathlib
import re
import sys
import unittest

from page import tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/field-failures.md").read_text()
EXCLUDED = tables(PAGE, "| report | what failed | what ration does |")
TESTS = tables((ROOT / "tests/failures/field_tests.md").read_text(), "| report | test |")
POSSIBLE = tables(PAGE, "| report | what fails | why, and what to do |")
_TEST = re.compile(r"`(tests/[\w/]+\.(?:cpp|py))`: (.+)")


def problem_of(cell: str) -> str | None:
    """What is wrong with a cell that names a test, or None."""
    found = _TEST.fullmatch(cell)
    if not found:
        return f"not a test file and a title: {cell}"
    path, title = ROOT / found[1], found[2]
    if not path.is_file():
        return f"{found[1]}: no such file"
    definition = rf"def {re.escape(title)}\(" if path.suffix == ".py" else rf'TEST_CASE\(\s*"{re.escape(title)}"'
    return None if re.search(definition, path.read_text()) else f"{found[1]}: no test '{title}'"


class FieldFailures(unittest.TestCase):
    def test_each_named_test_exists(self) -> None:
        self.assertEqual([row[0] for row in TESTS], [row[0] for row in EXCLUDED])
        for report, test in TESTS:
            with self.subTest(report=report):
                self.assertIsNone(problem_of(test))

    def test_a_test_that_does_not_exist_is_found(self) -> None:
        for wrong in ("`tests/unit/settle.cpp`: deferral: dead", "`tests/unit/none.cpp`: x", "tests/unit/settle.cpp: x",
                      "`tests/run/killed_test.py`: test_a"):
            with self.subTest(wrong=wrong):
                self.assertIsNotNone(problem_of(wrong))

    def test_both_tables_are_complete(self) -> None:
        self.assertGreaterEqual(len(EXCLUDED), 25)
        self.assertTrue(POSSIBLE)
        for row in EXCLUDED + POSSIBLE:
            self.assertTrue(all(row), row)
            self.assertEqual(len(row), 3, row)
        self.assertTrue(all(len(row) == 2 for row in TESTS))


if __name__ == "__main__":
    sys.exit(unittest.main())
