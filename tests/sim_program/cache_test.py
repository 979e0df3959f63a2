# SPDX-License-Identifier: BSL-1.0
"""Data sets in `ration sim`: their readers run at full speed while they are cached."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
TITLES = "job_id,submit_time,num_gpus,duration,tenant,data_set,data_bytes,read_bytes\n"
# Two tenants read one data set, and each reads a separate one. A step is a second and reads 100 bytes; without the cache it takes two.
JOBS = "".join(f"{tenant}-{data},0,1,600,{tenant},{data},40,100\n" for tenant, data in (("a", "common"), ("b", "common"), ("a", "a"), ("b", "b")))


class Cache(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="ration-test-")
        self.addCleanup(folder.cleanup)
        self.trace = pathlib.Path(folder.name) / "jobs.csv"
        self.trace.write_text(TITLES + JOBS)

    def sim(self, *more: str) -> subprocess.CompletedProcess:
        return subprocess.run([RATION, "sim", "--trace", str(self.trace), "--cluster", "1x4", "--policy", "fifo", "--quiet", *more],
                              text=True, capture_output=True, timeout=60, check=False)

    def result(self, *more: str) -> dict:
        done = self.sim("--json", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        (run,) = json.loads(done.stdout.splitlines()[0])["policies"][0]["runs"]
        return run | {"by_tenant": {one["tenant"]: one for one in run["tenants"]}}

    def test_without_a_cache_option_reads_cost_nothing(self) -> None:
        self.assertEqual(self.result()["figures"]["mean_jct"], 600)

    def test_the_common_data_set_stays_and_the_others_take_turns(self) -> None:
        """Ten rounds of 60 s, half of them at half speed, are 450 steps; then the common readers are done, and both data sets fit."""
        run = self.result("--cache", "80B", "--storage", "50B")
        self.assertEqual(run["figures"]["mean_jct"], (600 + 600 + 750 + 750) / 4)
        for tenant in ("a", "b"):
            self.assertAlmostEqual(run["by_tenant"][tenant]["speed"], 1200 / 1350, places=6)
            self.assertAlmostEqual(run["by_tenant"][tenant]["cached"], 1050 / 1200, places=6)  # 150 steps at half speed

    def test_the_optimum_leaves_one_tenant_behind(self) -> None:
        run = self.result("--cache", "80B", "--storage", "50B", "--set", "shared_cache.mode=optimum")
        speeds = sorted(one["speed"] for one in run["by_tenant"].values())
        self.assertAlmostEqual(speeds[0], 1200 / 1500, places=6)
        self.assertAlmostEqual(speeds[1], 1, places=6)

    def test_an_empty_cache_serves_nobody_and_one_for_all_serves_all(self) -> None:
        self.assertEqual(self.result("--cache", "0B", "--storage", "50B")["figures"]["mean_jct"], 1200)
        self.assertEqual(self.result("--cache", "120B", "--storage", "50B")["figures"]["mean_jct"], 600)

    def test_the_table_has_the_tenants(self) -> None:
        done = self.sim("--cache", "80B", "--storage", "50B")
        self.assertRegex(done.stdout, r"tenant +policy +.* from cache +speed")
        self.assertRegex(done.stdout, r"\na +fifo .* 87\.5 ?% +88\.9 ?%")

    def generate(self, kind: str, *more: str) -> subprocess.CompletedProcess:
        return subprocess.run([RATION, "sim", "--generate", kind, "--cluster", "16x4", "--policy", "fifo", "--quiet", *more],
                              text=True, capture_output=True, timeout=60, check=False)

    def test_generated_jobs_read_data_sets(self) -> None:
        """A cache for all of them makes reads free; without room they cost time. A larger cache serves more from memory."""
        def figures(*more: str) -> tuple[float, float]:
            done = self.generate("rigid:jobs=60,data_sets=10", "--json", *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            (run,) = json.loads(done.stdout.splitlines()[0])["policies"][0]["runs"]
            return run["figures"]["mean_jct"], max((one.get("cached") or 0 for one in run["tenants"]), default=0)
        free, none, some, whole = figures(), figures("--cache", "0B"), figures("--cache", "100GB"), figures("--cache", "2TB")
        self.assertLess(whole[0], 1.001 * free[0])  # a new data set waits for the next round
        self.assertEqual(whole[1], 1)
        self.assertEqual(none[1], 0)
        self.assertTrue(free[0] < some[0] < none[0], (free, some, none))

    def test_wrong_input_is_named(self) -> None:
        self.assertIn("--set: ", self.sim("--cache", "80B", "--set", "shared_cache.mode=fair").stderr)
        self.assertIn("is not a size: write a number with B", self.sim("--cache", "80").stderr)
        self.trace.write_text(TITLES + JOBS.replace("b,common,40", "b,common,41"))
        self.assertIn("the same in all rows of a data set", self.sim("--cache", "80B").stderr)
        self.trace.write_text("job_id,submit_time,num_gpus,duration\n1,0,1,60\n")
        self.assertIn("read no data set", self.sim("--cache", "80B").stderr)
        done = self.generate("rigid:jobs=5,data_sets=0")
        self.assertEqual((done.returncode, done.stderr), (2, "ration: --generate: data_sets is a whole number from 1 to 1000, not '0'\n"))


if __name__ == "__main__":
    unittest.main()
