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
