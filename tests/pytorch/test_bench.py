# SPDX-License-Identifier: BSL-1.0
"""The TRADL benchmark's arithmetic: jobs files, the reading of event logs, medians, verdicts, the formula. Needs no PyTorch."""

import json
import pathlib
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench" / "tradl"))

import event_log
import formula
import jobs_file
import medians
import picture
import report

SECOND = 10**9
UNLIMITED = 2**63 - 1


def decision(t, held, used, states):
    columns = {"jobs/state": states, "jobs/held.cpu": held, "jobs/used.cpu": used, "nodes/capacity.cpu": [1000]}
    return {"event": "decision", "t": int(t * SECOND), "columns": columns}


def ended(jobs, **changed):
    summaries = [{"job": name, "arrived": at * SECOND, "started": at * SECOND, "acceptable_at": acceptable,
                  "objective_at": objective, "ended_at": 90 * SECOND, "how": "finished", "why": ""}
                 for name, at, acceptable, objective in jobs]
    return {"event": "run_ended", "t": 91 * SECOND, "policy": "tradl", "makespan": 90 * SECOND, "mean_cpu": 0.97,
            "interrupted": False, "lost_events": 0, "jobs": summaries, "approximate": []} | changed


BEGIN = {"event": "run", "t": 0, "schema": 1, "controls": [{"resource": "memory", "backend": "none", "approximate": ""},
                                                           {"resource": "cpu", "backend": "cgroup v1", "approximate": ""}]}
JOBS = [("a", 0, 10 * SECOND, 40 * SECOND), ("b", 5, 35 * SECOND, None)]


class Logs(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.path = pathlib.Path(holder.name) / "log.jsonl"

    def read(self, *events, tail=""):
        self.path.write_text("".join(json.dumps(event) + "\n" for event in events) + tail)
        return event_log.read(self.path)

    def test_times_count_from_the_arrival(self):
        run = self.read(BEGIN, {"event": "of a later version", "t": 1}, ended(JOBS))
        self.assertEqual(run.jobs["a"], event_log.Job(arrived=0, acceptable=10, objective=40, ended=90, how="finished"))
        self.assertEqual((run.jobs["b"].acceptable, run.jobs["b"].objective), (30, None))
        self.assertEqual((run.makespan, run.mean_cpu, run.backend), (90, 0.97, "cgroup v1"))

    def test_shares_are_read_where_a_limit_has_settled(self):
        free, limited = [UNLIMITED, UNLIMITED, 0, 0], [250, UNLIMITED, 0, 0]
        states = [1, 1, 3, 1]  # two running, one done, one released and about to end
        ticks = [(1, free, 500.0), (5, free, 500.0), (6, limited, 480.0), (8.9, limited, 300.0), (9, limited, 240.0)]
        decisions = [decision(t, held, [used, 1000 - used, 0.0, 0.0], states) for t, held, used in ticks]
        run = self.read(BEGIN, *decisions, ended(JOBS))
        self.assertEqual((run.limited, run.others, run.kept), ([0.48], [1.52], [0.96]))

    def test_what_is_no_whole_run_is_refused(self):
        logs = {"no end": [BEGIN], "two runs": [BEGIN, ended(JOBS), BEGIN, ended(JOBS)],
                "interrupted": [BEGIN, ended(JOBS, interrupted=True)], "gaps": [BEGIN, ended(JOBS, lost_events=3)]}
        for name, events in logs.items():
            with self.subTest(name), self.assertRaises(ValueError):
                self.read(*events)

    def test_a_line_in_the_middle_has_to_be_an_event_the_last_one_may_be_cut(self):
        for broken in ("{\n", "[]\n", '{"t":1}\n', "\n"):
            with self.subTest(broken), self.assertRaisesRegex(ValueError, "log.jsonl:3: "):
                self.read(BEGIN, ended(JOBS), tail=broken)
        self.assertEqual(len(self.read(BEGIN, ended(JOBS), tail='{"event":"pro').jobs), 2)


class JobsFile(unittest.TestCase):
    def test_the_eight_models_are_there_and_their_scripts_exist(self):
        jobs = jobs_file.models()
        self.assertEqual(len({job["name"] for job in jobs}), 8)
        for job in jobs:
            self.assertTrue(pathlib.Path(job["command"][1]).is_file(), job["command"])
            self.assertLess(job["target"]["loss"]["objective"], job["target"]["loss"]["acceptable"])

    def test_a_schedule_follows_its_seed_and_starts_at_zero(self):
        jobs = jobs_file.models()
        schedule = jobs_file.staggered(jobs, 1, 60)
        self.assertEqual(schedule, jobs_file.staggered(jobs, 1, 60))
        self.assertNotEqual(schedule, jobs_file.staggered(jobs, 2, 60))
        times = [at for at, _ in schedule]
        self.assertEqual((times[0], times == sorted(times), len({job["name"] for _, job in schedule})), (0, True, 8))
        self.assertTrue(20 < times[-1] <= 60)

    def test_what_is_written_reads_back(self):
        schedule = jobs_file.staggered(jobs_file.models(), 1, 60)
        written = tomllib.loads(jobs_file.as_toml(schedule, "AO", 7))
        self.assertEqual((written["policy"], written["tradl"]["scenario"], written["cpus"]), ("tradl", "AO", 1))
        for (at, job), back in zip(schedule, written["job"], strict=True):
            self.assertEqual((back["name"], back["target"], back["at"]), (job["name"], job["target"], f"{at}s"))
            self.assertEqual(back["command"][:2] + back["command"][-2:], job["command"][:2] + ["--seed", "7"])


def run_of(times, makespan=100.0, **shares):
    """A run with the jobs a (first), b and c; `times`: of each, to Acceptable and to Objective."""
    jobs = {name: event_log.Job(arrived=10.0 * place, acceptable=a, objective=o, ended=makespan, how="finished")
            for place, (name, (a, o)) in enumerate(zip("abc", times))}
    return event_log.Run(makespan=makespan, mean_cpu=1.0, backend="fake", jobs=jobs,
                         **({"limited": [0.5], "others": [1.5], "kept": [1.0]} | shares))


def runs_of(ao, ft, **kwargs):
    na = [(10.0, 20.0), (20.0, 40.0), (30.0, 50.0)]
    return {"NA": [run_of(na)], "AO": [run_of(ao, **kwargs)], "FT": [run_of(ft, makespan=80.0)]}


class Medians(unittest.TestCase):
    def test_a_change_compares_runs_of_the_same_seeds(self):
        by_seed = [(10.0, 12.0), (100.0, 50.0), (40.0, 30.0)]  # NA and AO: +20, -50, -25 %
        runs = {scenario: [run_of([(pair[index], None)]) for pair in by_seed] for index, scenario in enumerate(("NA", "AO"))}
        self.assertAlmostEqual(medians.change(runs, "AO", lambda run: run.jobs["a"].acceptable), -25)
        self.assertIsNone(medians.change(runs, "AO", lambda run: run.jobs["a"].objective))

    def test_one_repetition_without_the_tier_leaves_no_median(self):
        self.assertEqual(medians.median([3, 1, 2]), 2)
        self.assertIsNone(medians.median([3, None, 2]))
        self.assertIsNone(medians.median([]))

    def test_the_first_job_is_not_late(self):
        self.assertEqual(medians.late_mean(run_of([(10.0, 20.0), (20.0, 40.0), (30.0, 50.0)])), 25)

    def test_the_largest_reduction_is_named_with_its_place(self):
        table = medians.rows(runs_of([(10.0, 20.0), (18.0, 40.0), (30.0, 50.0)], [(10.0, 20.0), (20.0, 40.0), (30.0, 30.0)]))
        best = medians.largest_reduction(table)
        self.assertAlmostEqual(best[0], 40)
        self.assertEqual(best[1], "c, Objective, FT")


class Picture(unittest.TestCase):
    GOOD = ([(10.0, 22.0), (16.0, 41.0), (24.0, 52.0)], [(10.0, 20.0), (15.0, 30.0), (20.0, 30.0)])

    def verdicts(self, ao=GOOD[0], ft=GOOD[1], **kwargs):
        runs = runs_of(ao, ft, **kwargs)
        return {v.statement: v.holds for v in picture.judge(runs, medians.rows(runs))}

    def test_all_of_it_can_be_true(self):
        self.assertEqual(set(self.verdicts().values()), {True})

    def test_each_statement_can_be_false(self):
        worse = {"no job reaches Acceptable later in AO": dict(ao=[(10.4, 22.0), *self.GOOD[0][1:]]),
                 "no job reaches Acceptable later in FT": dict(ft=[(10.4, 20.0), *self.GOOD[1][1:]]),
                 "the largest reduction is": dict(ft=[(10.0, 20.0), (15.0, 30.0), (14.0, 30.0)]),
                 "in AO no job reaches Objective earlier": dict(ao=[(10.0, 19.0), *self.GOOD[0][1:]]),
                 "in AO the last job": dict(makespan=104.0),
                 "in FT the last job": dict(makespan=80.0),
                 "mean time to Acceptable": dict(ao=[(10.0, 22.0), (14.0, 41.0), (20.0, 52.0)]),
                 "in AO limited jobs use": dict(limited=[1.1])}
        for statement, changed in worse.items():
            with self.subTest(statement):
                self.assertEqual({s for s, holds in self.verdicts(**changed).items() if not holds},
                                 {s for s in self.verdicts() if s.startswith(statement)})

    def test_what_cannot_be_judged_is_unknown(self):
        verdicts = self.verdicts(ao=[(10.0, None), (None, 41.0), (24.0, 52.0)], limited=[], others=[], kept=[])
        self.assertEqual(sum(holds is None for holds in verdicts.values()), 4)

    def test_the_report_says_what_was_not_reached(self):
        text = report.markdown(runs_of([(10.0, None), (16.0, 41.0), (24.0, 52.0)], self.GOOD[1]), "origin")
        self.assertIn("| a | 0.0 | 20.0 | not reached | not reached | 20.0 | +0.0 % |", text)
        self.assertIn("Largest reduction: 40.0 % (c, Objective, FT). The paper's largest is 48.2 %", text)
        self.assertIn("| last job ends, s | 100.0 | 100.0 | 80.0 |", text)

    def test_the_report_warns_of_a_busy_machine(self):
        runs = runs_of(*self.GOOD)
        self.assertNotIn("busy", report.markdown(runs, "origin"))
        runs["AO"][0].mean_cpu = 0.5
        self.assertIn("In one run the jobs got only 0.50 cores", report.markdown(runs, "origin"))


class Formula(unittest.TestCase):
    def test_against_shares_counted_out(self):
        # 4 jobs, 3 at 1/5: the fourth has 2/5 in place of 1/4. 4 jobs, 3 at 1/8: it has 5/8. 2 jobs, one gone: it has all.
        self.assertAlmostEqual(formula.reduction(4, 3, 1 / 5), 1 - (1 / 4) / (2 / 5))
        self.assertAlmostEqual(formula.reduction(4, 3, 1 / 8), 0.6)
        self.assertAlmostEqual(formula.reduction(2, 1, 0), 0.5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
