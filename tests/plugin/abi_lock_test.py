# SPDX-License-Identifier: BSL-1.0
"""abi_lock.py can say no: what changes the ABI is refused, and `--write` does not make it right; what grows it asks for `--write` only."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
HEADER, LOCK, SCRIPT = "include/ration/plugin/abi.h", "tests/plugin/abi.lock", "tests/plugin/abi_lock.py"
ROOT = HERE.parents[1]

GROWS = "abi.h has grown"
LOSES = "the ABI only grows"
LOOSE = "the ABI has no padding and fixed-width types only"
LAST = "    const ration_changes *const *changes; /* indexed as `table`; null: any row of any table may have changed */\n"
CHANGES = {
    "a field is inserted": (LAST, "    uint64_t epoch;\n" + LAST, LOSES),
    "a field has another type": ("int64_t now_ns, budget_ns; ", "uint64_t now_ns, budget_ns; ", LOSES),
    "two fields are swapped": ("uint32_t job, node;", "uint32_t node, job;", LOSES),
    "a function takes more": ("(void *self, const void *buffer, uint64_t size)", "(void *self, const void *buffer, uint64_t size, uint32_t of)", LOSES),
    "a frozen struct grows": ("    int64_t t_ns, a, b;\n", "    int64_t t_ns, a, b, c;\n", LOSES),
    "a constant has another value": ("RATION_E_ARG = -2,", "RATION_E_ARG = -9,", LOSES),
    "a constant is gone": ("    RATION_EV_NODE_DOWN = 17,\n", "", LOSES),
    "the magic word changes": ('"RATION1"', '"RATION2"', LOSES),
    "the symbol changes": ('"ration_policy_v1"', '"ration_policy_v2"', LOSES),
    "an extension gets another name": ('"ration.changed-rows/1"', '"ration.changed-rows/2"', LOSES),
    "the layout is counted otherwise": ("sizeof(ration_event) << 16", "sizeof(ration_event) << 15", LOSES),
    "a struct ends in a hole": (LAST, LAST + "    uint32_t epoch;\n", LOOSE),
    "a struct has a hole": (LAST, LAST + "    uint32_t epoch;\n    uint64_t seed_of_epoch;\n", LOOSE),
    "a field is a float": (LAST, LAST + "    double load;\n", LOOSE),
    "a field is appended": (LAST, LAST + "    uint64_t epoch;\n", GROWS),
    "a function is appended": ("may be NULL */\n} ration_policy;", "may be NULL */\n    int32_t (*idle)(void *self);\n} ration_policy;", GROWS),
    "a constant is added": ("RATION_EV_STATE_LOST = 48 ", "RATION_EV_STATE_LOST = 48, RATION_EV_IDLE ", GROWS),
}


class Lock(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in (HEADER, LOCK, SCRIPT):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text((ROOT / name).read_text())

    def look(self, *words: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, self.root / SCRIPT, *words], capture_output=True, text=True)
        return done.returncode, done.stderr

    def change(self, old: str, new: str) -> None:
        declared, begin, asserts = (ROOT / HEADER).read_text().partition("/* tests/plugin/abi_lock.py writes the rest")
        self.assertIn(old, declared)
        (self.root / HEADER).write_text(declared.replace(old, new) + begin + asserts)

    def test_as_it_is_it_passes(self) -> None:
        self.assertEqual(self.look(), (0, ""))

    def test_each_change_is_told_for_what_it_is(self) -> None:
        for what, (old, new, said) in CHANGES.items():
            with self.subTest(what):
                self.setUp()
                self.change(old, new)
                before = (self.root / LOCK).read_text()
                code, told = self.look()
                self.assertEqual(code, 1)
                self.assertTrue(told.startswith(said), told)
                self.assertEqual(self.look("--write")[0], 0 if said == GROWS else 1)
                after = (self.root / LOCK).read_text()
                self.assertEqual(set(before.splitlines()) - set(after.splitlines()), set())
                self.assertEqual(after != before, said == GROWS)
                self.assertEqual(self.look()[0], 0 if said == GROWS else 1)


if __name__ == "__main__":
    unittest.main()
