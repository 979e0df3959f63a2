# SPDX-License-Identifier: BSL-1.0
"""`ration.policy` by itself, in a Python without any other package: its messages on a wrong class, and how strict a trial is."""
import contextlib
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / "python"), str(CHECKOUT / "examples/python_policy")]

import fastest
import half
from ration import policy
from ration.policy import Parameter, Policy, Rows, Tick, WrongParameter, __main__ as program
from ration.policy.trial import Grant, ask

BODY = {"id": "org.example.mine", "inputs": {"jobs/state": "u32", "nodes/free.cpu": "i64"}, "reasons": ["", "why not"], "decide": lambda self, tick, grant: None}


def made(**other) -> type:
    return type("Mine", (Policy,), {**BODY, **other})


class Classes(unittest.TestCase):
    def test_what_is_wrong_is_one_sentence(self) -> None:
        for wrong, told in (({"id": "a b"}, "`id` is 'a b'; write letters, digits and '-' with dots between, like 'org.example.mine'"),
                            ({"id": "a..b"}, "`id` is 'a..b'; write letters"), ({"id": "ä"}, "`id` is 'ä'; write letters"), ({"id": 7}, "`id` is 7; write one line of text"),
                            ({"id": "x" * 64}, "`id` takes 64 bytes, and there is room for 63"), ({"version": None}, "`version` is None; write one line of text"),
                            ({"summary": "two\nlines"}, "`summary` is 'two\\nlines'; write one line of text"), ({"summary": "ä" * 64}, "`summary` takes 128 bytes, and there is room for 127"),
                            ({"inputs": {}}, "`inputs` names no column; write those that `decide` reads, as {'jobs/state': 'u32'}"),
                            ({"inputs": ["jobs/state"]}, "`inputs` names no column"), ({"inputs": {"job/state": "u32"}}, "`inputs` has 'job/state'; a column is called 'table/column', and the tables are jobs, "),
                            ({"inputs": {"jobs/": "u32"}}, "`inputs` has 'jobs/'"), ({"inputs": {"jobs/a b": "u32"}}, "`inputs` has 'jobs/a b'"), ({"inputs": {3: "u32"}}, "`inputs` has 3"),
                            ({"inputs": {"jobs/state": "int"}}, "`inputs` declares jobs/state as 'int'; write one of u32, i64, u64, f32, f64, with [] behind it for several values a row"),
                            ({"inputs": {"jobs/speedup": "f64[][]"}}, "`inputs` declares jobs/speedup as 'f64[][]'"), ({"inputs": {"jobs/speedup": 64}}, "`inputs` declares jobs/speedup as 64"),
                            ({"share": Parameter(0.5, "a\nb")}, "the parameter `share` means 'a\\nb'; write one line of text without quotes"),
                            ({"share": Parameter(0.5, 'a "b"')}, "the parameter `share` means"), ({"share": Parameter("half")}, "the parameter `share` has the default 'half'; write a number, True, False"),
                            ({"share": Parameter(2, "x", 0, 1)}, "the parameter `share` cannot be 2: its default must be from 0 to 1: x"), ({"share": Parameter(float("nan"))}, "the parameter `share` cannot be nan"),
                            ({"share": Parameter("c", words=["a", "b"])}, 'the parameter `share` cannot be \'c\': its default must be one of "a", "b"'), ({"share": Parameter("a", words=[])}, "the parameter `share` has the words []"),
                            ({"share": Parameter(True, most=1)}, "the parameter `share` has the limit 1; only numbers have limits"), ({"share": Parameter(1, most="2")}, "the parameter `share` has the limit '2'"),
                            ({"größe": Parameter(1)}, "the parameter `größe` has another name than its users can write"),
                            ({"version": Parameter(1)}, "the parameter `version` has a name that every policy has; choose another"), ({"parameters": Parameter(1)}, "the parameter `parameters` has a name that"),
                            ({"share": Parameter(1, "m" * 3100)}, "`parameters` takes 3217 bytes, and there is room for 3071"),
                            ({"inputs": {f"jobs/{i:040}": "u32" for i in range(30)}}, "`inputs` takes 1500 bytes, and there is room for 1023"),
                            ({"reasons": "why"}, "`reasons` is not a list of lines"), ({"reasons": ["a\nb"]}, "`reasons` is not a list of lines"), ({"reasons": [1]}, "`reasons` is not a list of lines"),
                            ({"decide": Policy.decide}, "it has no method `decide(self, tick, grant)`")):
            with self.subTest(wrong=wrong):
                with self.assertRaises(TypeError) as refused:
                    made(**wrong)
                self.assertIn(f"Mine: {told}", str(refused.exception))
        self.assertEqual(made().id, "org.example.mine")

    def test_a_class_without_an_id_is_a_base_for_others(self) -> None:
        base = type("Base", (Policy,), {"decide": BODY["decide"]})
        self.assertEqual(type("Mine", (base,), {"id": "a", "inputs": BODY["inputs"]}).id, "a")
        names = {"Base": base, "Policy": Policy, "Mine": made(), "number": 3}
        names["Alias"] = names["Mine"]
        self.assertIs(policy.policy_in(names), names["Mine"])
        for wrong, told in (({"Base": base}, "the file has no policy"), ({"A": made(), "B": made()}, "there are several policies in the file, and a plugin is one: Mine, Mine")):
            with self.assertRaisesRegex(TypeError, told):
                policy.policy_in(wrong)

    def test_parameters_have_the_schema_that_those_of_a_class_in_cpp_have(self) -> None:
        mine = made(alpha=Parameter(0.5, "part", 0, 1), rounds=Parameter(3, least=1), strict=Parameter(False, "or not"), scenario=Parameter("FT", "which", words=["FT", "ST"]))
        self.assertEqual(policy.schema_of(mine), '{"type":"object","additionalProperties":false,"properties":{"alpha":{"type":"number","default":0.5,"description":"part","minimum":0,"maximum":1},'
                         '"rounds":{"type":"integer","default":3,"minimum":1},"strict":{"type":"boolean","default":false,"description":"or not"},'
                         '"scenario":{"enum":["FT","ST"],"default":"FT","description":"which"}}}')
        self.assertEqual(policy.schema_of(made()), "")
        below = type("Below", (mine,), {"id": "org.example.below", "more": Parameter(1)})
        self.assertEqual(list(below.parameters), ["alpha", "rounds", "strict", "scenario", "more"])
        self.assertEqual((mine.alpha, mine().alpha, list(mine.parameters)), (0.5, 0.5, ["alpha", "rounds", "strict", "scenario"]))

    def test_what_is_given_is_taken_or_refused_with_a_sentence(self) -> None:
        mine = made(alpha=Parameter(0.5, "the part", 0, 1), rounds=Parameter(3), strict=Parameter(False), scenario=Parameter("FT", words=["FT", "ST"]),
                    many=Parameter(9, least=2.5), few=Parameter(0, "or none", most=1))
        one = policy.made(mine, '{"alpha": 1, "rounds": 9223372036854775807, "strict": true, "scenario": "ST"}')
        self.assertEqual((one.alpha, type(one.alpha), one.rounds, one.strict, one.scenario), (1.0, float, 2**63 - 1, True, "ST"))
        self.assertEqual([policy.made(mine, {"alpha": limit}).alpha for limit in (0, 1)], [0, 1])
        self.assertEqual((policy.made(mine).alpha, policy.made(mine, "{}").rounds, mine.alpha), (0.5, 3, 0.5))
        for given, told in (('{"alpha": 1.5}', "alpha must be from 0 to 1: the part"), ('{"alpha": -0.1}', "alpha must be from 0 to 1: the part"), ('{"alpha": true}', "alpha must be a number"),
                            ('{"alpha": NaN}', "alpha must be a number"), ('{"alpha": [1]}', "alpha must be a number"), ('{"rounds": 1.0}', "rounds must be a whole number"),
                            ('{"many": 2}', "many must be at least 2.5"), ('{"few": 2}', "few must be at most 1: or none"),
                            ('{"rounds": 9223372036854775808}', "rounds must be a whole number"), ('{"strict": 1}', "strict must be true or false"),
                            ('{"scenario": "XT"}', 'scenario must be one of "FT", "ST"'), ('{"scenario": {}}', 'scenario must be one of "FT", "ST"'), ('{"alpa": 1}', "unknown parameter 'alpa'"),
                            ('{"decide": 1}', "unknown parameter 'decide'"), ("[1]", "the parameters must be one JSON object"), ("{", "the parameters are not JSON"), ("", "the parameters are not JSON")):
            with self.subTest(given=given), self.assertRaises(WrongParameter) as refused:
                policy.made(mine, given)
            self.assertTrue(str(refused.exception).startswith(told), refused.exception)
            self.assertEqual(policy.told(refused.exception, "mine.py"), str(refused.exception))
        with self.assertRaisesRegex(WrongParameter, "this policy takes no parameters: leave them out"):
            policy.made(made(), '{"a": 1}')

    def test_parameters_are_there_before_the_policy_is_made(self) -> None:
        def init(self) -> None:
            self.twice = 2 * self.alpha
        self.assertEqual(policy.made(made(alpha=Parameter(0.5), __init__=init), {"alpha": 4}).twice, 8)

    def test_numbers_are_those_of_the_headers(self) -> None:
        abi = (CHECKOUT / "include/ration/plugin/abi.h").read_text()
        for name in ("CPU", "MEMORY", "GPU", "GPU_SM", "CACHE", "BATCH"):
            self.assertEqual(re.search(rf"\bRATION_{name} = (\d+)", abi)[1], str(getattr(policy, name)), name)
        self.assertIn("#define RATION_UNLIMITED INT64_MAX", abi)
        self.assertEqual(policy.UNLIMITED, 2**63 - 1)
        states = re.search(r"enum class job_state : std::uint32_t \{([^}]*)\}", (CHECKOUT / "include/ration/job.hpp").read_text())[1]
        self.assertEqual([getattr(policy, word.split("=")[0].strip().upper()) for word in states.split(",")], list(range(5)))
        for name, size in re.findall(r"^    char (id|version|summary|needs|reasons|parameters)\[(\d+)\]", abi, re.M):
            self.assertEqual(policy._ROOM[name.replace("needs", "inputs")], int(size) - 1, name)

    def test_nothing_but_the_standard_library_is_imported(self) -> None:
        said = subprocess.run([sys.executable, "-S", "-B", "-c", f"import sys; sys.path.insert(0, {sys.path[0]!r}); import ration.policy, ration.policy.trial, ration.policy.__main__; print(*sys.modules)"],
                              capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual({name.split(".")[0] for name in said if not name.startswith("_")} - {"ration"} - sys.stdlib_module_names, set())


class Trials(unittest.TestCase):
    def ask(self, decide, columns=None, **other) -> list:
        return ask(made(decide=lambda self, tick, grant: decide(tick, grant), **other), columns or {"jobs/state": [1, 0], "nodes/free.cpu": [5]})

    def test_an_answer_is_its_grants_in_order(self) -> None:
        self.assertEqual(self.ask(lambda tick, grant: (grant(1, 0, 0, 70), grant(0, 0, 1, policy.UNLIMITED, 1, 2**32 - 1))),
                         [Grant(1, 0, 0, 70, 0, 0), Grant(0, 0, 1, 2**63 - 1, 1, 2**32 - 1)])

    def test_what_is_shown_is_what_a_plugin_sees(self) -> None:
        seen = {}
        self.ask(lambda tick, grant: seen.update(tick, format=tick["nodes/free.cpu"].format, state=list(tick["jobs/state"]), readonly=tick["jobs/state"].readonly))
        self.assertEqual((seen["number"], seen["seed"], seen["now_ns"], seen["format"], seen["state"], seen["readonly"]), (0, 0, 0, "q", [1, 0], True))
        with self.assertRaisesRegex(ValueError, "released memoryview"):
            list(seen["jobs/state"])
        with self.assertRaisesRegex(KeyError, "jobs/tier is not shown: name it in `inputs`, as {'jobs/tier': 'i64'}"):
            self.ask(lambda tick, grant: tick["jobs/tier"])
        with self.assertRaises(TypeError):
            self.ask(lambda tick, grant: tick["jobs/state"].__setitem__(0, 1))

    def test_what_a_host_would_refuse_is_an_error(self) -> None:
        for given, told in (((2, 0, 0, 1), "job is not from 0 to 1"), ((-1, 0, 0, 1), "job is not from 0 to 1"), ((0, 1, 0, 1), "node is not from 0 to 0"), ((0, 0, 6, 1), "resource is not from 0 to 5"),
                            ((0, 0, 0, -1), "amount is not from 0 to"), ((0, 0, 0, 2**63), "amount is not from 0 to"), ((0, 0, 0, 1, 2), "reason is not from 0 to 1"),
                            ((0, 0, 0, 1, 0, -1), "group is not from 0 to"), ((0, 0, 0, 1.5), "amount is not a whole number"),
                            ((0, 0, 0, 9), "amount is below LEAST_CPU; grant 10 or more, or 0 to pause the job")):
            with self.subTest(given=given), self.assertRaisesRegex(ValueError, told):
                self.ask(lambda tick, grant: grant(*given))

    def test_columns_that_do_not_fit_are_an_error(self) -> None:
        good = {"jobs/state": [1], "nodes/free.cpu": [5]}
        for columns, told in (({"jobs/state": [1]}, "nodes/free.cpu is an input, and the test gives no values of it"), ({**good, "jobs/tier": [1]}, "the test gives jobs/tier, which is not among the policy's inputs"),
                              ({**good, "jobs/state": [-1]}, "jobs/state: not all of its values are u32"), ({**good, "jobs/state": [1.5]}, "jobs/state: not all of its values are u32")):
            with self.subTest(told=told), self.assertRaisesRegex(ValueError, told):
                self.ask(lambda tick, grant: None, columns)
        with self.assertRaisesRegex(ValueError, "jobs/tier has 1 rows, and another column of jobs has 2"):
            ask(made(inputs={"jobs/state": "u32", "jobs/tier": "u32"}), {"jobs/state": [1, 1], "jobs/tier": [0]})

    def test_several_values_a_row_are_rows(self) -> None:
        seen, case = {}, self

        def look(self, tick, grant) -> None:
            rows = tick["jobs/speedup"]
            seen.update(rows=rows, width=rows.width, all=[list(row) for row in rows], last=list(rows[-1]), readonly=rows.flat.readonly, format=rows.flat.format, length=len(rows))
            for wrong in (2, -3):
                with case.assertRaises(IndexError):
                    rows[wrong]
        mine = made(decide=look, inputs={"jobs/speedup": "f64[]"})
        ask(mine, {"jobs/speedup": [[0, 1, 1.5], [0, 1, 2]]})
        self.assertEqual((seen["width"], seen["all"], seen["last"], seen["readonly"], seen["format"], seen["length"]), (3, [[0, 1, 1.5], [0, 1, 2]], [0, 1, 2], True, "d", 2))
        with self.assertRaisesRegex(ValueError, "released memoryview"):
            seen["rows"][0]
        self.assertEqual(ask(made(decide=lambda self, tick, grant: list(tick["jobs/speedup"]), inputs={"jobs/speedup": "f64[]"}), {"jobs/speedup": []}), [])
        for rows, told in (([[1], [1, 2]], "its rows have 1, 2 values; a host gives each row as many, and one at least"), ([[]], "its rows have 0 values"), ([1], "not all of its values are f64"),
                           ([["x"]], "not all of its values are f64")):
            with self.subTest(rows=rows), self.assertRaisesRegex(ValueError, f"jobs/speedup: {told}"):
                ask(mine, {"jobs/speedup": rows})

    def test_an_instance_goes_on_from_its_earlier_ticks(self) -> None:
        def count(self, tick, grant) -> None:
            self.ticks = getattr(self, "ticks", 0) + 1
            grant(0, 0, policy.MEMORY, self.ticks)
        counting, columns = made(decide=count)(), {"jobs/state": [1], "nodes/free.cpu": [5]}
        self.assertEqual([ask(counting, columns)[0].amount for _ in range(3)], [1, 2, 3])

    def test_the_examples(self) -> None:
        jobs = {"jobs/state": [1], "jobs/speedup": [[0, 1, 1.5]], "nodes/capacity.gpu": [2]}
        self.assertEqual([[g.amount for g in ask(fastest.Fastest, jobs, parameters={"least": least})] for least in (0.5, 0.51)], [[2], [1]])
        self.assertEqual([g.amount for g in ask(half.Half, {"jobs/state": [1, 1, 4], "nodes/capacity.cpu": [3000]})], [1500, 1500])
        for test in ("half_test.py", "fastest_test.py"):
            done = subprocess.run([sys.executable, "-S", "-B", str(CHECKOUT / "examples/python_policy" / test)], env={"PYTHONPATH": sys.path[0]}, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


class Program(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def call(self, *words) -> tuple:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            return program.main([str(word) for word in words]), said.getvalue()

    def test_what_a_header_says(self) -> None:
        file, header = self.folder / "mine.py", self.folder / "mine.h"
        text = "from ration.policy import Policy\nclass Mine(Policy):\n    id, summary = 'a.b-c', 'says \"ü\\\\\"'\n    inputs = {'held/job': 'u64'}\n    reasons = ['', 'x']\n    def decide(self, tick, grant): ...\n"
        file.write_text(text, encoding="utf-8")
        self.assertEqual(self.call("header", file, header), (0, ""))
        said = header.read_text(encoding="utf-8")
        for line in ('#define POLICY_ID "a.b-c"', '#define POLICY_NAME "b_c"', '#define POLICY_SUMMARY "says \\"ü\\\\\\""', '#define POLICY_NEEDS "held/job u64\\n"', '#define POLICY_REASONS "\\nx\\n"',
                     '#define POLICY_FILE "mine.py"', '    {"held/job", RATION_HELD, RATION_U64, 0},'):
            self.assertIn(line + "\n", said)
        for name, wanted in (("policy_source", text), ("api_source", pathlib.Path(policy.__file__).read_text(encoding="utf-8"))):
            (numbers,) = re.findall(rf"{name}\[\] = {{([\d,]*)}}", said)
            self.assertEqual(bytes(map(int, numbers.split(","))), wanted.encode() + b"\0")

    def test_what_goes_wrong_is_one_sentence(self) -> None:
        for text, told in (("x = 1\n", "mine.py: TypeError: the file has no policy: define a class"), ("\nclass A:\n", "mine.py:2: IndentationError: expected an indented block"),
                           ("import no_such\n", "mine.py:1: ModuleNotFoundError: No module named 'no_such'"),
                           ("from ration.policy import Policy\nclass A(Policy):\n    id = 'a'\n", "mine.py:2: TypeError: A: it has no method `decide(self, tick, grant)`")):
            with self.subTest(text=text):
                (self.folder / "mine.py").write_text(text)
                code, said = self.call("build", self.folder / "mine.py")
                self.assertEqual((code, said.count("\n")), (2, 1), said)
                self.assertIn(f"ration.policy: {told}", said)
        self.assertRegex(self.call("build", self.folder / "gone.py")[1], r"^ration\.policy: .*gone\.py cannot be read \(.*\); name the file that has the policy's class\n$")

    def test_an_exception_is_told_with_its_place(self) -> None:
        names = {}
        exec(compile("def deep():\n    raise ValueError(7)\n", "mine.py", "exec"), names)
        try:
            names["deep"]()
        except ValueError as problem:
            self.assertEqual(policy.told(problem, "mine.py"), "mine.py:2: ValueError: 7")
            self.assertEqual(policy.told(problem, "other.py"), "other.py: ValueError: 7")
        self.assertRaises(KeyError, Tick().__getitem__, "jobs/state")


if __name__ == "__main__":
    unittest.main()
