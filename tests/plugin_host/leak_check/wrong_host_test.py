# SPDX-License-Identifier: BSL-1.0
"""A host that keeps the rules gives the leak check nothing to say; one that breaks a single rule is named by that rule's number and no other."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

HOST, LEAK_CHECK = os.environ["RATION_WRONG_HOST"], os.environ["RATION_LEAK_CHECK"]

# What `--wrong NAME` makes the host do, as a part of the sentence that the leak check has for it.
TABLE = {
    "H1": "save of an instance that does not exist",
    "H1-after": "decide of an instance that does not exist, or not any more",
    "H2": "decide before bind",
    "H3": "on_event while another call on this instance runs",
    "H4": "jobs/min.cpu begins at",
    "H5": "jobs/id: byte 0 behind its 2 rows is not zero",
    "H6": "table 0 has 10 rows, and bind said 8 at most",
    "H7": "jobs/state is bound, and its slot is null at 2 rows",
    "H8": "the clock says 7 after",
    "H9": "scratch of 500 bytes",
    "H10": "event 2 of job 3, which has ended",
    "H10-applied": "APPLIED for job 1, 211, which its last answer did not grant",
    "H10-arrived": "event 1 of job 4, which is there already",
    "H10-ended": "event 32 of job 3, which has ended",
    "H10-time": "event 16 of time",
    "H11": "the grant to job 1 was applied, that to job 2 was not",
    "H11-rejected": "the grant to job 1 was applied, that to job 2 was not",
    "H12": "another call writes into the same output",
    "H13": "table 0 has 5 slots after 4",
    "H14": "the process ends, and an instance was never destroyed",
    "H14-thread": "destroy while another call on this instance runs",
    "H15-host": "ration_host has struct_size 0",
    "H15-out": "ration_out has struct_size 0",
    "H15-reserved": "jobs/held.cpu has flags 0 and reserved 0x7",
    "H15-table": "table 0 has struct_size 0",
    "H15-tick": "ration_tick has struct_size 1515870810",
    "H16": "decide after RATION_E_STATE",
    "H17": "the code is unloaded, and an instance was never destroyed",
    "H18": "space for 1 rows after RATION_E_CAPACITY, which needed 2",
}
# No instance is left that could log these, or whose state could be saved.
ONLY_RECORDED = {"H1-after", "H14", "H17"}
# The instance has no log, because the size of what would name it is the fault; and none that is alive.
NOT_LOGGED, NOT_SAVED = ONLY_RECORDED | {"H15-host"}, ONLY_RECORDED | {"H14-thread"}


def numbers(lines: list) -> set:
    return {int(line.split(":")[0][1:]) for line in lines}


class Lived:
    """One run of the host: the lines of the record, of the log and of the saved state."""

    def __init__(self, *words: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            record = pathlib.Path(folder) / "record"
            done = subprocess.run([HOST, LEAK_CHECK, str(record), *words], capture_output=True, text=True, timeout=50)
            self.code, self.output = done.returncode, done.stdout + done.stderr
            self.record = record.read_text().splitlines()
        self.log = re.findall(r"^log (H.*)$", self.output, re.M)
        self.state = re.findall(r"^state (H.*)$", self.output, re.M)


class LeakCheck(unittest.TestCase):
    def test_the_table_has_every_misbehaviour(self) -> None:
        self.assertEqual({int(re.match(r"H(\d+)", name).group(1)) for name in TABLE}, set(range(1, 19)))

    def test_a_correct_host_gives_it_nothing_to_say(self) -> None:
        for words in ((), ("--wrong", "threads")):
            with self.subTest(words):
                lived = Lived(*words)
                self.assertEqual(lived.code, 0, lived.output)
                self.assertEqual(lived.record + lived.log + lived.state, [])

    def test_each_wrong_host_is_named_and_nothing_else(self) -> None:
        for name, sentence in TABLE.items():
            with self.subTest(name):
                lived, number = Lived("--wrong", name), {int(re.match(r"H(\d+)", name).group(1))}
                self.assertEqual(lived.code, 0, lived.output)
                self.assertEqual(numbers(lived.record), number, lived.record)
                self.assertIn(sentence, lived.record[0])
                self.assertEqual(numbers(lived.log), set() if name in NOT_LOGGED else number, lived.output)
                self.assertEqual(numbers(lived.state), set() if name in NOT_SAVED else number, lived.output)

    def test_a_strict_one_ends_the_process_of_a_wrong_host_only(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            words = [HOST, LEAK_CHECK, f"{folder}/record strict"]
            for name in (None, "H1", "H16"):
                with self.subTest(name):
                    done = subprocess.run([*words, *(["--wrong", name] if name else [])], capture_output=True, text=True, timeout=50, check=False)
                    self.assertEqual(done.returncode, -signal.SIGABRT if name else 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
