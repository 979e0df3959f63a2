# SPDX-License-Identifier: BSL-1.0
"""`ration decide` from the outside: its clients, its page, policies from files, and hostile input."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "decide"
RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
PLUGINS = pathlib.Path(os.environ["RATION_PLUGINS"])
MISBEHAVING = pathlib.Path(os.environ["RATION_MISBEHAVING"])
PATIENCE = float(os.environ.get("RATION_TEST_PATIENCE", 120))
GRANTS = "a gets 4 gpu on n1\nc gets 4 gpu on n2\na ends\nb gets 2 gpu on n1\n"
CPU = {"id": "n", "capacity.cpu": 4000, "capacity.gpu": 4, "capacity.memory": 1 << 30}


def decide(*words: str, requests: str = "", code: int = 0) -> tuple[list[dict], str]:
    done = subprocess.run([RATION, "decide", *words], input=requests, text=True, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == code, f"{done.returncode}: {done.stderr}"
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def lines(*requests: dict) -> str:
    return "".join(json.dumps(request) + "\n" for request in requests)


class Clients(unittest.TestCase):
    def check(self, *command: object) -> None:
        done = subprocess.run([*map(str, command), RATION, "pack"], text=True, capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (GRANTS, "", 0))

    def test_python(self) -> None:
        self.check(sys.executable, EXAMPLES / "client.py")

    def test_bash(self) -> None:
        self.check("bash", EXAMPLES / "client.sh")

    def test_go(self) -> None:
        if shutil.which("go") is None:
            self.skipTest("go is not installed")
        self.check("go", "run", EXAMPLES / "client.go")


class Page(unittest.TestCase):
    def test_the_session_of_the_page_is_real(self) -> None:
        page = (ROOT / "docs" / "decide.md").read_text()
        block = re.search(r"<!-- session -->\n```console\n\$ cat \S+\n(.*?)\$ ration decide (\S+) < \S+\n(.*?)```", page, re.S)
        answers, _ = decide(block[2], requests=block[1])
        shown = [json.loads(line) for line in block[3].splitlines()]
        for answer in [*answers, *shown]:
            answer.pop("took", None)
        self.assertEqual(answers, shown)

    def test_the_example_of_help_works(self) -> None:
        text = subprocess.run([RATION, "decide", "--help"], text=True, capture_output=True, check=True).stdout
        request = re.search(r"echo '(.*)' \| ration decide equal_share", text)[1]
        self.assertEqual([g["amount"] for g in decide("equal_share", requests=request)[0][0]["grants"]], [2000, 2000])


class Policies(unittest.TestCase):
    def test_a_policy_from_a_file_answers_in_a_worker_as_the_one_compiled_in(self) -> None:
        jobs = [{"id": i, "state": "running", "used.cpu": 500 * i, "tier": i % 3} for i in range(1, 6)]
        requests = lines({"t": 1, "nodes": [CPU], "jobs": jobs}, {"t": 10**9, "jobs": {"changed": [{"id": 1, "tier": 2}], "removed": [2]}})
        words = ("--set", "tradl.scenario=AO")
        built_in, from_file = (decide(p, *words, requests=requests)[0] for p in ("tradl", str(PLUGINS / "tradl.so")))
        for answer in [*built_in, *from_file]:
            answer.pop("took")
        self.assertEqual(built_in, from_file)
        self.assertGreater(len(built_in[0]["grants"]), 0)
        other, _ = decide("tradl", requests=requests)
        self.assertNotEqual(other[0]["grants"], built_in[0]["grants"])

    def test_a_policy_that_hangs_or_crashes_costs_its_answers_only(self) -> None:
        requests = lines({"nodes": [CPU], "jobs": [{"id": 1, "state": "running", **self.columns()}]}, {}, {}, {}, {})
        for fault in ("loops_in_decide", "aborts_in_decide", "throws_in_decide"):
            answers, _ = decide(str(MISBEHAVING / f"misbehaving_{fault}.so"), requests=requests)
            self.assertEqual(len(answers), 5)
            self.assertTrue(all("error" in answer for answer in answers), answers)
            self.assertIn("ask", answers[0]["error"]["fix"])
            if fault == "throws_in_decide":  # the worker lives on, and each answer counts; the others are started again after a pause
                self.assertEqual(answers[-1]["error"]["fix"], "start ration decide again, with a policy that answers")

    def test_a_refused_grant_is_named_with_its_rule(self) -> None:
        requests = lines({"nodes": [CPU], "jobs": [{"id": i, "state": "running", **self.columns()} for i in "ab"]})
        for fault, rule in (("grants_negative_amount", "negative_amount"), ("grants_to_unknown_job", "unknown_job"),
                            ("grants_above_capacity", "over_capacity")):
            (answer,), _ = decide(str(MISBEHAVING / f"misbehaving_{fault}.so"), requests=requests)
            self.assertIn(rule, [r["rule"] for r in answer["rejected"]], answer)

    @staticmethod
    def columns() -> dict:
        return {"submitted": 0, "started": 0, "step": 1, "loss": 1, "loss.best": 1, "used.cpu": 0, "attained": 0, "request.gpu": 1, "restart_cost": 0,
                "measured_steps_per_second": 1}


class Input(unittest.TestCase):
    FIRST = {"nodes": [CPU], "jobs": [{"id": 1, "state": "running"}]}

    def test_each_line_has_one_answer_and_a_long_one_is_refused(self) -> None:
        long = '{"jobs":[' + "1," * (9 << 20) + "1]}"
        requests = f"{lines(self.FIRST)}{long}\n\n{{}}"  # the last line has no newline
        answers, _ = decide("equal_share", requests=requests)
        self.assertEqual([a["error"]["message"] if "error" in a else a["number"] for a in answers],
                         [0, "the line has more than 16777216 bytes", "the line is empty", 1])
        self.assertEqual(answers[1]["error"]["line"], 2)

    def test_an_answer_comes_before_the_next_request(self) -> None:
        with subprocess.Popen([RATION, "decide", "equal_share"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            for number in range(3):
                child.stdin.write(lines(self.FIRST))
                child.stdin.flush()
                self.assertEqual(json.loads(child.stdout.readline())["number"], number)
            child.stdin.close()
            self.assertEqual(child.wait(PATIENCE), 0)

    def test_exit_codes(self) -> None:
        self.assertEqual(decide("equal_share"), ([], ""))
        for words in ((), ("no_such",), ("./no_such.so",), ("equal_share", "--set", "tradl.alpha=1"), ("tradl", "--set", "tradl.alpha=7")):
            answers, text = decide(*words, code=2)
            self.assertEqual(answers, [])
            self.assertIn("ration: ", text)
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([RATION, "decide", "equal_share"], input=lines(self.FIRST), text=True, stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr), (3, "ration: standard output: cannot be written; read all answers\n"))
        done = subprocess.run([RATION, "decide", "equal_share"], stdin=os.open("/", os.O_RDONLY), text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"^ration: standard input: cannot be read \(Is a directory\); pass requests through a pipe or a file\n$")


if __name__ == "__main__":
    unittest.main()
