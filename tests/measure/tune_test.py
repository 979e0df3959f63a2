# SPDX-License-Identifier: BSL-1.0
"""`ration measure tune` on a job whose speeds are known."""
import json
import pathlib
import unittest

from measure_case import PYTHON, MeasureTest, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = """# Jobs of the lab
policy = "none"
tick = "100ms"

[[job]]
name = "a"
command = ["%(python)s", "%(job)s", "{tile}", "{kind}"]
environment = { PYTHONPATH = "%(package)s", KIND = "{kind}" }
target = { loss = { objective = 0 } }
parameters = { tile = 4, kind = "fast" }   # of the old machine
"""
QUICK = ("--time", "200ms", "--warm-up", "0s", "--repeat", "2")


class TuneTest(MeasureTest):
    command = "tune"

    def setUp(self) -> None:
        super().setUp()
        self.text = FILE % {"python": PYTHON, "job": ROOT / "tests/measure/tuned.py", "package": ROOT / "python"}
        (self.folder / "jobs.toml").write_text(self.text)

    def test_the_fastest_setting_is_found_and_written(self) -> None:
        done = self.measure("--try", "tile=8,16", "--try", "kind=fast,broken", "--fit", "tile <= 16", *QUICK, "--write", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual((result["best"], result["changes"]), ({"tile": "16", "kind": "fast"}, True))
        best = result["settings"][0]
        self.assertGreater(best["gain_low"], 1)
        failures = {one["setting"]["tile"]: one["failure"] for one in result["settings"] if one["setting"]["kind"] == "broken"}
        self.assertEqual(failures, dict.fromkeys(("8", "16"), "it failed: exit code 1; its last line: not on this machine"))
        self.assertEqual((self.folder / "jobs.toml").read_text(), self.text.replace("tile = 4, kind = \"fast\"", 'tile = 16, kind = "fast"'))
        launched = [launch[1:] for launch in self.launches()]
        self.assertEqual(len(launched), result["launches"])
        self.assertTrue(all(kind == variable for _, kind, variable in launched))
        self.assertEqual(launched.count(["4", "fast", "fast"]), 3)  # the present setting is in each round
        self.assertEqual([launched.count([tile, "broken", "broken"]) for tile in ("8", "16")], [1, 1])

    def test_a_slower_setting_is_not_written(self) -> None:
        (self.folder / "jobs.toml").write_text(self.text.replace("tile = 4", "tile = 16"))
        done = self.measure("--try", "kind=slow", *QUICK, "--write")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("\nthe present setting stays: no other one is faster beyond the error of the measurement\n"), done.stdout)
        self.assertIn("tile = 16, kind", (self.folder / "jobs.toml").read_text())

    def test_requests_that_cannot_be_met(self) -> None:
        self.assertEqual(self.refused("--try", "tle=1,2"), "ration: --try: job 'a' has no parameter 'tle'; did you mean 'tile'?\n")
        self.assertEqual(self.refused("--try", "tile=4"), "ration: --try: only the present setting fits; try other values too\n")
        self.assertEqual(self.refused("--try", "tile=8", "--job", "b"), "jobs.toml: job 'b' is unknown; did you mean 'a'?\n")
        (self.folder / "jobs.toml").write_text(self.text.replace("tile = 4", "tile = '''4'''"))
        self.assertEqual(self.refused("--try", "tile=8"), "jobs.toml: its values cannot be replaced: it has no value of parameter 'tile' on one line; "
                                                          "write parameters = { NAME = VALUE }\n")
        (self.folder / "jobs.toml").write_text(self.text.replace('"fast"', '"fa\\u0001st"'))  # which no line of a file can hold unescaped
        self.assertEqual(self.refused("--try", "kind=fast,slow"), "jobs.toml: its values cannot be replaced: it has no value of parameter 'kind' on one line; "
                                                                  "write parameters = { NAME = VALUE }\n")
        (self.folder / "jobs.toml").write_text(self.text.replace("parameters", "# parameters"))
        sentence = "has no parameters; add parameters = { threads = 1 } to it, and {threads} to its command\n"
        self.assertEqual(self.refused("--try", "tile=8"), f"jobs.toml: every job {sentence}")
        self.assertEqual(self.refused("--try", "tile=8", "--job", "a"), f"jobs.toml: job 'a' {sentence}")


if __name__ == "__main__":
    main()
