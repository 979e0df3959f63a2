# SPDX-License-Identifier: BSL-1.0
"""Prints the results of the tests of each preset: suites.py PRESET..., read from build/PRESET/tests.xml, which ctest wrote.

A skipped test is named with its reason, so that a machine on which nothing could run does not look like one on which all passed.
"""

import pathlib
import sys
import xml.etree.ElementTree as xml
from typing import NamedTuple

SKIPPED_BY_CODE = "SKIP_RETURN_CODE=77"


class Outcome(NamedTuple):
    test: str
    result: str    # passed, failed or skipped
    reasons: list  # why it, or a part of it, was skipped


def reasons_in(output, skipped):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = list(dict.fromkeys(line for line in lines if line.lower().startswith("skipped")))
    return said or (lines[-1:] or ["it gives no reason"] if skipped else [])


def outcome_of(case):
    output = case.findtext("system-out") or ""
    skipped = case.find("skipped")
    if skipped is not None and skipped.get("message") == SKIPPED_BY_CODE:
        return Outcome(case.get("name"), "skipped", reasons_in(output, True))
    if case.get("status") == "run":
        return Outcome(case.get("name"), "passed", reasons_in(output, False))
    return Outcome(case.get("name"), "failed", [])


def outcomes(text):
    return [outcome_of(case) for case in xml.fromstring(text).iter("testcase")]


def summary(preset, all_outcomes):
    counts = {result: sum(1 for one in all_outcomes if one.result == result) for result in ("passed", "failed", "skipped")}
    yield f"{preset}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"
    for one in all_outcomes:
        if one.result == "failed":
            yield f"  FAILED   {one.test}"
        for reason in one.reasons:
            yield f"  {'skipped' if one.result == 'skipped' else 'partly '}  {one.test}: {reason}"


def main(presets):
    for preset in presets:
        file = pathlib.Path("build") / preset / "tests.xml"
        if not file.is_file():
            print(f"{preset}: no record of its tests")
            continue
        print("\n".join(summary(preset, outcomes(file.read_text(encoding="utf-8", errors="replace")))))


if __name__ == "__main__":
    main(sys.argv[1:])
