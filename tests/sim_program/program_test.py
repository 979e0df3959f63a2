# SPDX-License-Identifier: BSL-1.0
"""`ration sim` from the outside: what it prints where, its exit codes, policies from files."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

RATION = os.environ["RATION_PROGRAM"]
PLUGINS = os.environ["RATION_PLUGINS"]
MISBEHAVIOUR = os.environ["RATION_MISBEHAVING"]
WRONG = os.environ["RATION_WRONG"]
FITS = pathlib.Path(__file__).resolve().parents[2] / "bench/data/loss/fits.csv"
JOBS = "job_id,submit_time,num_gpus,duration\n" + "".join(f"{i},{7 * i},{1 + i % 3},{50 + 13 * i % 90}\n" for i in range(40))


class Sim(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "jobs.csv").write_text(JOBS)

    def sim(self, *words: str, cluster: str = "2x4") -> subprocess.CompletedProcess:
        return subprocess.run([RATION, "sim", "--trace", "jobs.csv", "--cluster", cluster, *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=100, check=False)

    def figures(self, policy: str) -> dict:
        done = self.sim("--policy", policy, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        said, measured = done.stdout.splitlines()
        self.assertEqual(json.loads(measured)["event"], "measured")
        return json.loads(said)["policies"][0]["figures"]

    def test_a_plugin_schedules_as_the_same_class_does(self) -> None:
        for name in ("fifo", "las"):
            self.assertEqual(self.figures(name), self.figures(f"{PLUGINS}/{name}.so"))

    def test_the_output_is_the_same_but_for_what_is_measured(self) -> None:
        first, second = (self.sim("--policy", "fifo,srtf", "--quiet", "--report", f"{i}.html", "--threads", str(i)) for i in (1, 2))
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        self.assertEqual(first.stdout.split("Measured")[0], second.stdout.split("Measured")[0])
        pages = [(self.folder / f"{i}.html").read_text() for i in (1, 2)]
        outside = [page.split("<!-- measured -->")[0] + page.split("<!-- /measured -->")[1] for page in pages]
        self.assertEqual(*outside)

    def test_exit_codes(self) -> None:
        starving = self.sim("--policy", "none", "--interval", "0")
        self.assertEqual(starving.returncode, 1)
        self.assertIn("none: 40 jobs wait, nothing runs, and it starts none of them", starving.stdout)
        self.assertEqual(self.sim("--policy", "fifo", "--until", "30").returncode, 0)
        wrong = self.sim("--policy", "fiffo")
        self.assertEqual((wrong.returncode, wrong.stderr), (2, "ration: --policy: unknown policy 'fiffo'; did you mean 'fifo'?\n"))
        nowhere = self.sim("--policy", "fifo", "--quiet", "--report", "no/where.html")
        self.assertEqual(nowhere.returncode, 2)
        self.assertIn("--report: no/where.html cannot be written (No such file or directory); name a file", nowhere.stderr)

    def trace(self, text: str) -> None:
        (self.folder / "jobs.csv").write_text(text)

    def test_times_beyond_the_clock_are_refused(self) -> None:
        for rows in ("a,0,1,8000000000\nb,0,1,1215000000\nc,0,1,1000\n", "a,0,1,5000000000\nb,0,1,5000000000\n", "a,0,1,10\nb,9000000000,1,9000000000\n"):
            self.trace("job_id,submit_time,num_gpus,duration\n" + rows)
            for interval in ("0", "60"):
                refused = self.sim("--policy", "fifo", "--interval", interval, cluster="1x1")
                self.assertEqual((refused.returncode, refused.stdout), (2, ""))
                self.assertRegex(refused.stderr, r"^ration: jobs: the jobs last (292|317|570) years together, more than the 285 years of a simulation's clock: "
                                                 r"are these milliseconds\? Write --time-unit ms, or name fewer jobs\n$")
            self.assertEqual(self.sim("--policy", "fifo", "--interval", "0", "--time-unit", "ms", cluster="1x1").returncode, 0)

    def test_a_run_that_only_a_policy_makes_too_long_is_refused(self) -> None:
        self.trace("job_id,submit_time,num_gpus,duration\n" + "".join(f"{i},0,1,5000000000\n" for i in range(3)))  # 7.5e9 s, if they shared two devices
        done = self.sim("--policy", "fifo", "--interval", "0", cluster="1x2")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("fifo: did not run: it takes longer than the 285 years of a simulation's clock", done.stdout)

    def test_the_unit_of_unlikely_times_is_questioned(self) -> None:
        question = "the median job of jobs.csv takes more than 30 days; if its times are milliseconds, write --time-unit ms\n"
        self.trace("job_id,submit_time,num_gpus,duration\na,0,1,60000\nb,0,1,6000000\nc,0,1,6000000\n")
        self.assertIn(question, self.sim("--policy", "fifo", "--interval", "0").stdout)
        self.assertNotIn("median job of", self.sim("--policy", "fifo", "--interval", "0", "--time-unit", "s").stdout)
        self.trace(JOBS)
        self.assertNotIn("median job of", self.sim("--policy", "fifo").stdout)
        wrong = self.sim("--policy", "fifo", "--time-unit", "min")
        self.assertEqual((wrong.returncode, wrong.stderr), (2, "ration: --time-unit: 'min' is not a unit of time: write ms, s, m or h\n"))

    def test_utilisation_does_not_depend_on_the_interval(self) -> None:
        stuck = "job_id,submit_time,num_gpus,duration\na,0,2,600\nb,1,8,10\nc,2,1,10\n"
        for text, words, code, expected in ((stuck, (), 1, 0.504), (stuck, ("--faults", "losses:every=8000h"), 1, 0.504), (JOBS, ("--until", "40"), 0, None)):
            self.trace(text)
            reached = set()
            for interval in ("0", "1", "60", "7"):
                done = self.sim("--policy", "fifo", "--interval", interval, "--json", *words, cluster="1x4")
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                reached.add(round(json.loads(done.stdout.splitlines()[0])["policies"][0]["figures"]["utilisation"]["mean"], 3))
            self.assertEqual(len(reached), 1, reached)
            self.assertIn(expected or reached.copy().pop(), reached)

    def test_lines_of_a_trace_that_are_no_jobs_are_counted(self) -> None:
        self.trace("; MaxProcs: 4\n10000\n1 0 5 100 2 -1 -1 2 200 -1 1 1 1 -1 1 -1 -1 -1\n2 0 5 100 2 -1 -1 2 200 -1 3 1 1 -1 1 -1 -1 -1\n3 0 5 -1 2 -1 -1 2 200 -1 5 1 1 -1 1 -1 -1 -1\n")
        done = self.sim("--policy", "fifo", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("jobs: 1 job on 8 devices", done.stdout)
        self.assertIn("1 rows of jobs.csv were left out: they have no device or no run time\n", done.stdout)
        self.assertIn("2 lines of jobs.csv were left out: they have other than 18 numbers, or are parts of a job that has a line\n", done.stdout)

    def test_what_a_plugin_logs_is_told_once_for_all_its_runs(self) -> None:
        talker = f"{WRONG}/talker.so"
        done = self.sim("--policy", f"fifo,{talker}", "--until", "200", "--seeds", "3", "--threads", "2", "--quiet")
        said = [line for line in done.stderr.splitlines() if "of policy" in line]
        self.assertEqual(said, [f"ration: error of policy {talker}: one", f"ration: error of policy {talker}: two", f"ration: warning of policy {talker}: ?[2Jrunning hot?"])

    def test_a_plugin_that_dies_is_named(self) -> None:
        done = self.sim("--policy", f"fifo,{MISBEHAVIOUR}/misbehaving_aborts_in_decide.so", "--until", "200", cluster="1x4+1core")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"misbehaving_aborts_in_decide.so: at tick \d+ \(.*\) it gave no answer: .*its worker was killed by signal SIGABRT")
        self.assertNotRegex(done.stdout, r"(?m)^fifo: at tick")
        self.assertIn("  fifo  misbehaving_aborts_in_decide.so\n", done.stdout)

    def test_a_plugin_that_breaks_a_rule_is_named(self) -> None:
        for word in ("go-on", "stop"):
            done = self.sim("--policy", f"{WRONG}/greedy.so", "--until", "200", "--on-bad-grant", word)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("greedy.so: at tick 0 (0.0 s) it granted 1000 of gpu on node 0 to job '0', but the amount is above the job's maximum; ",
                          done.stdout)
            self.assertEqual("the run ends there" in done.stdout, word == "stop")

    def test_a_plugin_that_shares_what_is_not_there_is_refused(self) -> None:
        shutil.copy(f"{MISBEHAVIOUR}/misbehaving_aborts_in_decide.so", self.folder / "cores.so")  # a message shortens long paths
        done = self.sim("--policy", f"{PLUGINS}/fifo.so,./cores.so", cluster="1x4")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "ration: the policy './cores.so' shares cores, and --cluster has none: choose one that shares devices, such as fifo, "
                                      "or write 1x4+8cores for a node with both\n")

    def test_tenants_of_a_file_have_figures_and_limits(self) -> None:
        (self.folder / "jobs.csv").write_text("job_id,submit_time,num_gpus,duration,tenant\n" + "".join(f"{i},0,2,100,{'ab'[i % 2]}\n" for i in range(8)))
        (self.folder / "tenants.toml").write_text('[[tenant]]\nname = "a"\nparent = "lab"\nweight = 3\n[[tenant]]\nname = "b"\nparent = "lab"\nlimit = { gpu = 2 }\n'
                                                  '[[tenant]]\nname = "lab"\nquota = { gpu = 8 }\n')
        done = self.sim("--policy", "fifo", "--set", "fifo.tenants=borrow", "--tenants", "tenants.toml", "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lab, a, b = json.loads(done.stdout.splitlines()[0])["policies"][0]["runs"][0]["tenants"]
        self.assertEqual([one["tenant"] for one in (lab, a, b)], ["lab", "a", "b"])
        self.assertEqual([one["weight"] for one in (lab, a, b)], [1, 0.75, 0.25])
        self.assertEqual([one["jobs"] for one in (lab, a, b)], [8, 4, 4])
        self.assertEqual((lab["held"], a["held"], b["held"]), (1, 0.5, 0.5))
        self.assertEqual((a["worst_wait"], b["worst_wait"], b["mean_wait"]), (100, 300, 150))  # b runs one job after another
        table = self.sim("--policy", "fifo", "--set", "fifo.tenants=borrow", "--tenants", "tenants.toml", "--quiet").stdout
        self.assertRegex(table, r"(?m)^b +fifo +4 +150.0 +297.0 +50.0 % +25.0 %$")
        refused = self.sim("--policy", "srtf", "--tenants", "tenants.toml")  # it reads no limit, and no grant exceeds one
        self.assertEqual(refused.returncode, 1)
        self.assertIn("but the tenant would hold more than its limit", refused.stdout)
        (self.folder / "tenants.toml").write_text('[[tenant]]\nname = "a"\nquota = { gpu = 9 }\n')
        wrong = self.sim("--policy", "fifo", "--tenants", "tenants.toml")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertEqual(wrong.stderr, "ration: tenants.toml:1:1: the quotas of gpu: they are 9 together, and the capacity is 8; lower a quota\n")

    def test_a_cluster_that_cannot_be_is_refused(self) -> None:
        for wrong in ("1x0cores", "1000000000x8cores", "2x8cores,2x0cores"):
            done = self.sim("--policy", "tradl", cluster=wrong)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, r"^ration: --cluster: '[^']+' is not a group of nodes: write [^\n]*\n$")

    def test_jobs_on_processors_of_several_nodes_need_a_policy_that_places_them(self) -> None:
        generated = ("sim", "--generate", "cpu:jobs=6", "--models", FITS, "--cluster", "2x2cores", "--quiet", "--interval", "1", "--policy")
        done = subprocess.run([RATION, *generated, "tradl,equal_share"], capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "ration: the policy 'equal_share' does not place jobs on processors, and --cluster has cores on other nodes than the first: "
                                      "choose one that does, such as tradl, or give all cores to the first node, as in 1x8cores or 1x4+8cores,8x4\n")
        done = subprocess.run([RATION, *generated, "tradl"], capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("cpu: 6 jobs on 4 cores (2x2cores)\n", done.stdout)

    def test_a_plugin_that_needs_a_column_that_is_not_there_is_refused(self) -> None:
        done = self.sim("--policy", f"fifo,{WRONG}/moody.so")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"ration: the policy '{WRONG}/moody.so' reads the column jobs/mood, which a simulation does not offer: "
                                      "choose a policy that does without\n")


if __name__ == "__main__":
    unittest.main()
