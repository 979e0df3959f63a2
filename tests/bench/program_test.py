# SPDX-License-Identifier: BSL-1.0
"""`ration bench` from the outside: its report on policies that do one thing wrong, its JSON, its exit codes. No time is asserted."""
import json
import os
import re
import subprocess
import unittest

RATION, COSTLY, WRONG, MISBEHAVIOUR = (os.environ[name] for name in ("RATION_PROGRAM", "RATION_COSTLY", "RATION_WRONG", "RATION_MISBEHAVING"))
SMALL = ("--jobs", "1,20", "--devices", "12")
OBJECTIVES = ["speedup", "fairness", "targets", "completion"]


def bench(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([RATION, "bench", *words], capture_output=True, text=True, timeout=250, check=False)


def plugin(name: str) -> str:
    return f"{COSTLY}/{name}.so"


class Figures(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        names = ",".join(["elastic_batch_dp", "tradl"] + [plugin(n) for n in ("plain", "slow", "allocating", "useless")])
        done = bench("--policies", names, *SMALL, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        cls.said = json.loads(done.stdout)
        cls.by_name = {os.path.basename(p["name"]): p for p in cls.said["policies"]}

    def worlds(self, name: str) -> list:
        return self.by_name[name]["worlds"]

    def median(self, name: str, objective: str) -> float:
        return next(q["median"] for q in self.by_name[name]["quality"] if q["objective"] == objective)

    def test_shape(self) -> None:
        self.assertEqual(set(self.said), {"ration", "seed", "optimised", "machine", "instances", "objectives", "policies"})
        self.assertEqual(set(self.said["machine"]), {"cpus", "cpu_model", "memory", "kernel"})
        self.assertEqual(list(self.said["objectives"]), OBJECTIVES)
        for policy in self.said["policies"]:
            self.assertEqual(set(policy), {"name", "id", "version", "isolation", "shares", "left_out", "went_wrong", "answers_refused", "answers_missing",
                                           "remarks", "worlds", "quality"})
            self.assertEqual([(w["jobs"], w["devices"], w["pattern"]) for w in policy["worlds"]],
                             [(jobs, 12, pattern) for jobs in (1, 20) for pattern in ("single", "steady", "churn")])
            self.assertEqual([q["objective"] for q in policy["quality"]], OBJECTIVES)
            for world in policy["worlds"]:
                self.assertEqual(set(world["nanoseconds"]), {"ticks", "interrupted", "median", "p10", "p90", "longest", "plain_loop", "ratio", "grants"})
                times = world["nanoseconds"]
                self.assertTrue(0 < times["p10"] <= times["median"] <= times["p90"] <= times["longest"])
                self.assertGreater(times["plain_loop"], 0)
        self.assertEqual([self.by_name[n]["isolation"] for n in ("tradl", "plain.so")], ["none", "worker"])
        self.assertEqual([self.by_name[n]["shares"] for n in ("tradl", "plain.so")], ["cores", "devices"])

    def test_who_takes_his_time_is_far_from_the_loop(self) -> None:
        for world in self.worlds("slow.so"):
            self.assertGreaterEqual(world["nanoseconds"]["p10"], 1.9e6)
            self.assertGreater(world["nanoseconds"]["ratio"], 100)

    def test_allocations_are_counted(self) -> None:
        if self.worlds("plain.so")[0]["memory"] is None:
            self.skipTest("this build does not see the heap")
        for world in self.worlds("allocating.so"):
            self.assertEqual((world["memory"]["allocations"], world["memory"]["most_allocations"]), (3, 3))
        for name in ("plain.so", "slow.so", "elastic_batch_dp", "tradl"):
            self.assertEqual([w["memory"]["allocations"] for w in self.worlds(name)], [0] * 6, name)

    def test_the_exact_policy_is_the_best_and_the_useless_one_is_not(self) -> None:
        quality = self.by_name["elastic_batch_dp"]["quality"][0]
        self.assertEqual((quality["objective"], quality["made_for"], quality["median"], quality["worst"]), ("speedup", True, 1, 1))
        self.assertEqual(quality["each"], [1] * self.said["instances"])
        self.assertLess(self.median("plain.so", "speedup"), 1)
        self.assertEqual([self.median("useless.so", objective) for objective in OBJECTIVES], [0] * 4)
        self.assertEqual([q["made_for"] for q in self.by_name["plain.so"]["quality"]], [False] * 4)
        self.assertIsNone(self.by_name["tradl"]["quality"][3]["median"])


class Runs(unittest.TestCase):
    def test_the_same_seed_says_the_same_of_quality(self) -> None:
        names = f"elastic_batch_dp,optimus,tradl,{plugin('plain')}"

        def quality(*words: str) -> str:
            said = json.loads(bench("--policies", names, "--jobs", "1", "--devices", "4", "--json", *words).stdout)
            return json.dumps([p["quality"] for p in said["policies"]])

        first = quality("--seed", "5")
        self.assertEqual(first, quality("--seed", "5"))
        self.assertEqual(first, quality("--seed", "5", "--isolation", "in-process"))
        self.assertNotEqual(first, quality("--seed", "6"))

    def test_a_wrong_answer_is_said_and_ends_in_1(self) -> None:
        for place in ("worker", "in-process"):
            done = bench("--policies", f"fifo,{plugin('wrong')}", *SMALL, "--isolation", place)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertRegex(done.stdout, r"(?m)^wrong\.so: \d+ answers broke a rule; at tick 0 it granted 1000 of gpu on node 0 to job 1, "
                                          r"but the amount is above the job's maximum$")
            self.assertNotRegex(done.stdout, r"(?m)^fifo: ")

    def test_what_ends_its_process_is_named(self) -> None:
        said = {"worker": ("its worker was killed by signal SIGABRT", "its worker ended by itself with exit code 0"),
                "in-process": ("killed by SIGABRT (Aborted)", "its process ended by itself: a policy must not call exit")}
        for place, sentences in said.items():
            done = bench("--policies", f"{MISBEHAVIOUR}/misbehaving_aborts_in_decide.so,{MISBEHAVIOUR}/misbehaving_exits_in_decide.so,tradl", "--jobs", "1", "--devices", "4", "--isolation", place)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            for name, sentence in zip(("misbehaving_aborts_in_decide", "misbehaving_exits_in_decide"), sentences):
                self.assertRegex(done.stdout, rf"(?m)^{name}\.so: .*{re.escape(sentence)}; it was not asked any more$")
            self.assertRegex(done.stdout, r"(?m)^  tradl +[\d.]+ us ")

    def test_what_hangs_is_ended(self) -> None:
        for place, sentence in (("worker", "it gave no answer: "), ("in-process", "it gave no answer within 5 s, and was ended")):
            done = bench("--policies", f"{plugin('endless')},fifo", "--jobs", "1", "--devices", "4", "--isolation", place)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertRegex(done.stdout, f"(?m)^endless\\.so: {sentence}.*; it was not asked any more$")
            self.assertRegex(done.stdout, r"(?m)^  fifo +[\d.]+ us ")

    def test_who_needs_what_is_not_there_is_left_out(self) -> None:
        sentence = f"the policy '{WRONG}/moody.so' reads the column jobs/mood, which no synthetic cluster has: it is left out\n"
        done = bench("--policies", f"fifo,{WRONG}/moody.so", "--jobs", "1", "--devices", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith(sentence), done.stdout)
        self.assertEqual(bench("--policies", f"{WRONG}/moody.so", "--jobs", "1", "--devices", "4").returncode, 2)

    def test_words(self) -> None:
        self.assertIn("Exit codes: 0 every answer was good;", bench("--help").stdout)
        for words, sentence in ((("--policies", "fiffo"), "ration: --policies: unknown policy 'fiffo'; did you mean 'fifo'?\n"),
                                (("--policies", "fifo", "--jobs", "0"), "ration: --jobs: '0' is not a number from 1 to 100000\n"),
                                (("--policies", "fifo", "--isolation", "wrker"),
                                 "ration: --isolation: it may be worker or in-process, not 'wrker'; did you mean 'worker'?\n"),
                                (("--policies", "fifo", "--set", "las.promote=0"),
                                 "ration: --set: 'las' is not one of the policies that are measured; use one of: fifo\n")):
            done = bench(*words)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", sentence))

    def test_no_colour_in_a_pipe(self) -> None:
        done = bench("--policies", "fifo", "--jobs", "1", "--devices", "4")
        self.assertNotIn("\x1b", done.stdout)
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
