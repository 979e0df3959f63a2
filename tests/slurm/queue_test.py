# SPDX-License-Identifier: BSL-1.0
"""`python3 -m ration.slurm` on recorded output of Slurm 22.05.8: its parser, its commands, and its behaviour when Slurm refuses or is down."""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from ration import slurm  # noqa: E402  pylint: disable=wrong-import-position

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
PATIENCE = float(os.environ.get("RATION_TEST_PATIENCE", 60))

# As squeue printed it; MARK replaces the text that begins each line of one call. Job 2 belongs to a hostile user.
JOBS = """\
MARK|1|PENDING|0|1000|1|gres:gpu:2|||1795641433|N/A|5:00|0:00|ration seconds=40
MARK|2|RUNNING|4294901759|1001|1|gres:gpu:1|n1||1795641433|1795641434|365-00:00:00|0:09|x
guess|999|PENDING|0|0|1|gres:gpu:4|||1795641433|N/A|1:00|0:00|ration
999|RUNNING|1|0|1|gres:gpu:4|n1||1795641433|1795641434|1:00|0:09|ration
MARK|3|PENDING|0|1000|1|gres:gpu:a100:4|||1795641435|N/A|1-02:03:04|0:00|ration min=2 max=4 speedup=1,1.9,2.7,3.4 restart=20
MARK|4|RUNNING|4294901757|1000|1|gres:gpu:3|n2|n2|1795641436|1795641446|UNLIMITED|1:01|ration seconds=90
MARK|5|PENDING|4294901756|1000|1|gres/gpu:1||n3|1795641437|N/A|30:00|0:00|ration
MARK|6_[1-3]|PENDING|0|1000|1|gres:gpu:2|||1795641438|N/A|5:00|0:00|ration
MARK|7|PENDING|0|1000|2|gres:gpu:2|||1795641438|N/A|5:00|0:00|ration
MARK|8|PENDING|0|1000|1|N/A|||1795641438|N/A|5:00|0:00|ration
MARK|9|COMPLETING|0|1000|1|gres:gpu:2|n1||1795641438|1795641440|5:00|0:00|ration
MARK|10|PENDING|0|1000|1|gres:gpu:2|||1795641438|N/A|5:00|0:00|rational choice
"""
NODES = """\
n1      gpu:4         gpu:1(IDX:0)   mixed
n1      gpu:4         gpu:1(IDX:0)   mixed
n2      gpu:4(S:0-1)  gpu:3(IDX:0-2) draining
n3      gpu:a100:4    gpu:a100:0     idle
n4      gpu:4         gpu:0          down*
"""


def jobs_of(text: str, mark: str = "secret") -> tuple[list, list]:
    return slurm.read_jobs(text.replace("MARK", mark), mark)


class Reading(unittest.TestCase):
    def test_a_comment_with_line_feeds_adds_no_job(self) -> None:
        jobs, warnings = jobs_of(JOBS)
        self.assertNotIn(999, [job.number for job in jobs])
        self.assertNotIn("999", " ".join(warnings))

    def test_only_jobs_that_ration_can_size_are_managed(self) -> None:
        jobs, warnings = jobs_of(JOBS)
        self.assertEqual([job.number for job in jobs], [1, 3, 4, 5])
        self.assertEqual([text.split(":")[0] for text in warnings], ["job 6_[1-3]", "job 7", "job 8"])

    def test_a_job_has_the_values_of_its_line(self) -> None:
        jobs, _ = jobs_of(JOBS)
        third, fourth = (next(job for job in jobs if job.number == number) for number in (3, 4))
        self.assertEqual((third.is_held, third.kind, third.gpus, third.node, third.left), (True, "gpu:a100", 4, None, 93784.0))
        self.assertEqual(third.spec, slurm.JobSpec(2, 4, None, 20.0, [1.0, 1.9, 2.7, 3.4]))
        self.assertEqual((fourth.is_running, fourth.node, fourth.started, fourth.used, fourth.left), (True, "n2", 1795641446, 61.0, math.inf))

    def test_a_faulty_comment_leaves_the_job_to_slurm(self) -> None:
        for comment in ("ration min=0", "ration min=3 max=2", "ration min=-1", "ration max=", "ration gpus=2", "ration seconds=nan", "ration seconds=1e9",
                        "ration speedup=1,,2", "ration min=1 ; rm", "ration max=٣", "ration max=2|3", "ration max=99999999", "ration speedup=" + ",".join(["1"] * 300)):
            with self.subTest(comment):
                jobs, warnings = jobs_of(f"MARK|1|PENDING|0|1|1|gres:gpu:1|||1|N/A|5:00|0:00|{comment}\n")
                self.assertEqual(jobs, [])
                self.assertIn("ration leaves it to Slurm", warnings[0])

    def test_nodes_count_once_without_the_gpus_of_other_jobs(self) -> None:
        jobs, _ = jobs_of(JOBS)
        self.assertEqual(slurm.read_nodes(NODES, jobs), {"n1": 3, "n2": 3, "n3": 4, "n4": 0})
        self.assertEqual(slurm.read_nodes("$(id) gpu:4 gpu:0 idle\n\nn5\n", jobs), {"n5": 0})

    def test_the_state_of_a_node_decides_whether_jobs_can_start_there(self) -> None:
        for state, gpus in (("idle", 4), ("planned", 4), ("mixed-", 4), ("idle~", 4), ("idle*", 0), ("mixed*", 0), ("drained", 0), ("unknown", 0)):
            with self.subTest(state):
                self.assertEqual(slurm.read_nodes(f"n1 gpu:4 gpu:0 {state}\n", []), {"n1": gpus})


class Commands(unittest.TestCase):
    def job(self, **values: object) -> slurm.Job:
        fresh = slurm.Job(7, False, True, 0, "gpu", 2, None, 1, None, 60.0, 0.0, slurm.JobSpec(1, 4, None, 10.0, None))
        return fresh._replace(**values)

    def test_each_situation_has_its_commands(self) -> None:
        held, released = self.job(), self.job(is_held=False, node="n1")
        running = self.job(is_held=False, is_running=True, node="n1")
        on_n1, on_n2 = slurm.Placement("n1", 2), slurm.Placement("n2", 3)
        update = ["update", "JobId=7", "Gres=gpu:3", "ReqNodeList=n2"]
        for job, placement, commands in ((held, None, []), (held, on_n2, [update, ["release", "7"]]), (released, on_n1, []), (released, None, [["hold", "7"]]),
                                     (released, on_n2, [update]), (running, on_n1, []), (running, None, [["requeuehold", "7"]]),
                                     (running, on_n2, [["requeuehold", "7"]]), (self.job(node="n1"), on_n1, [["update", "JobId=7", "Gres=gpu:2", "ReqNodeList=n1"],
                                                                                                          ["release", "7"]])):
            self.assertEqual(slurm.commands_for(job, placement), commands, (job, placement))

    def test_a_grant_on_several_nodes_counts_if_one_part_is_enough(self) -> None:
        grants = [{"job": 7, "node": node, "resource": "gpu", "amount": amount, "reason": "r"} for node, amount in (("n1", 1), ("n2", 3))]
        self.assertEqual(slurm.placements_in(grants, {7: 2}), {7: (slurm.Placement("n2", 3), "r")})
        self.assertEqual(slurm.placements_in(grants, {7: 4})[7][0], None)

    def test_holds_come_before_releases(self) -> None:
        jobs = [self.job(number=1), self.job(number=2, is_running=True, is_held=False, node="n1"), self.job(number=3, is_held=False)]
        grants = [{"job": 1, "node": "n1", "resource": "gpu", "amount": 2, "reason": "r"}, {"job": 2, "node": "n1", "resource": "gpu", "amount": 0, "reason": "r"}]
        self.assertEqual([words[0] for words, _ in slurm.plan(jobs, grants)], ["hold", "requeuehold", "update", "release"])


# squeue prints the recorded files one after another, and fails where one has the name of a failure; scontrol writes its words down.
FAKE = """\
#!{python}
import json, os, pathlib, sys
folder, name, words = pathlib.Path(__file__).parent, os.path.basename(sys.argv[0]), sys.argv[1:]
if name == "sinfo":
    print((folder / "nodes").read_text(), end="")
elif name == "squeue":
    first = sorted(folder.glob("jobs.*"))[0]
    text = first.read_text()
    first.unlink()
    if text.startswith("error"):
        sys.exit(text)
    print(text.replace("MARK", words[words.index("--format") + 1].split("|")[0]), end="")
else:
    with open(folder / "calls", "a") as calls:
        print(json.dumps(words), file=calls)
    if words == ["release", "3"]:
        sys.exit("slurm_suspend error: Access/permission denied")
"""


class Program(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        for name in ("squeue", "sinfo", "scontrol"):
            (self.folder / name).write_text(FAKE.format(python=sys.executable))
            (self.folder / name).chmod(0o755)
        (self.folder / "nodes").write_text(NODES)

    def call(self, *words: str, jobs: list[str], code: int = 0) -> tuple[str, str, list]:
        for number, text in enumerate(jobs):
            (self.folder / f"jobs.{number}").write_text(text)
        environment = {**os.environ, "PATH": str(self.folder), "PYTHONPATH": str(ROOT / "python")}
        done = subprocess.run([sys.executable, "-m", "ration.slurm", "--ration", RATION, *words], env=environment, text=True, capture_output=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        calls = self.folder / "calls"
        return done.stdout, done.stderr, [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []

    def test_without_apply_the_commands_are_only_printed(self) -> None:
        out, _, calls = self.call("sjf", jobs=[JOBS])
        lines = [line.split(" #")[0].rstrip() for line in out.splitlines()]
        self.assertEqual(calls, [])
        self.assertEqual(lines, ["scontrol update JobId=1 Gres=gpu:2 ReqNodeList=n1", "scontrol release 1",
                                 "scontrol update JobId=3 Gres=gpu:a100:3 ReqNodeList=n3", "scontrol release 3"])  # job 5 has one of n3

    def test_apply_runs_them_until_no_job_is_left(self) -> None:
        third = next(line for line in JOBS.splitlines(keepends=True) if line.startswith("MARK|3|"))
        _, errors, calls = self.call("sjf", "--apply", "--every", "0", jobs=[third, third, "error: Unable to contact slurm controller", third, ""])
        self.assertEqual(calls, [["update", "JobId=3", "Gres=gpu:a100:4", "ReqNodeList=n3"], ["release", "3"]] * 3)
        self.assertEqual([line for line in errors.splitlines() if line],  # each refusal is reported once
                         ["ration.slurm: scontrol release 3: slurm_suspend error: Access/permission denied",
                          next(line for line in errors.splitlines() if "Unable to contact" in line)])

    def test_without_slurm_or_policy_it_ends_with_a_sentence(self) -> None:
        _, errors, _ = self.call("sjf", jobs=["error: Unable to contact slurm controller"], code=3)
        self.assertIn("Unable to contact slurm controller", errors)
        _, errors, _ = self.call("no_such_policy", jobs=[JOBS], code=3)
        self.assertIn("no_such_policy", errors)
        (self.folder / "squeue").unlink()
        _, errors, _ = self.call("sjf", jobs=[], code=3)
        self.assertIn("install Slurm's commands", errors)
        _, errors, _ = self.call("sjf", "--set", "x", jobs=[], code=2)
        self.assertIn("POLICY.NAME=VALUE", errors)
        for period in ("-1", "nan", "inf", "86401", "x"):
            _, errors, _ = self.call("sjf", "--every", period, jobs=[], code=2)
            self.assertIn("write a number of seconds", errors)


if __name__ == "__main__":
    unittest.main()
