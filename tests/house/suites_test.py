# SPDX-License-Identifier: BSL-1.0
import unittest

from suites import outcomes, summary


def case(name, status, inside=""):
    return f'<testcase name="{name}" classname="{name}" time="0" status="{status}">{inside}</testcase>'


def skipped(message, output):
    return f'<skipped message="{message}"/><system-out>{output}</system-out>'


class Suites(unittest.TestCase):
    def summary(self, *cases):
        return list(summary("debug", outcomes("<testsuite>" + "".join(cases) + "</testsuite>")))

    def test_counts(self):
        self.assertEqual(self.summary(case("a", "run", "<system-out>fine</system-out>"), case("b", "fail", '<failure message=""/>')),
                         ["debug: 1 passed, 1 failed, 0 skipped", "  FAILED   b"])

    def test_the_reason_is_the_line_that_says_so_or_the_last_one(self):
        said = self.summary(case("a", "notrun", skipped("SKIP_RETURN_CODE=77", "one\nskipped: no cgroup\nsummary\n")),
                            case("b", "notrun", skipped("SKIP_RETURN_CODE=77", "one\nno qemu here\n\n")),
                            case("c", "notrun", skipped("SKIP_RETURN_CODE=77", "")))
        self.assertEqual(said, ["debug: 0 passed, 0 failed, 3 skipped", "  skipped  a: skipped: no cgroup", "  skipped  b: no qemu here",
                                "  skipped  c: it gives no reason"])

    def test_a_program_that_is_not_there_is_a_failure_and_no_skip(self):
        self.assertEqual(self.summary(case("a", "notrun", skipped("Unable to find executable", "")))[0],
                         "debug: 0 passed, 1 failed, 0 skipped")

    def test_a_part_that_was_skipped_is_told(self):
        self.assertEqual(self.summary(case("a", "run", "<system-out>skipped: no memory controller\nall fine</system-out>")),
                         ["debug: 1 passed, 0 failed, 0 skipped", "  partly   a: skipped: no memory controller"])


if __name__ == "__main__":
    unittest.main()
