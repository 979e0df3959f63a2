# SPDX-License-Identifier: BSL-1.0
"""`ration check` goes red on each plugin that breaks one rule, with the probe that is named here and no other, and says why."""
import concurrent.futures
import json
import os
import platform
import subprocess
import unittest
from typing import NamedTuple

PROGRAM, FOLDER = os.environ["RATION_PROGRAM"], os.environ["RATION_MISBEHAVING"]
AT_ONCE = 2


class Expected(NamedTuple):
    probe: str
    result: str
    why: str  # is part of the sentence


# By the number of the misbehaviour; misbehaving/*.cpp do them. Hosts are held to the first forty as well.
TABLE = {
    1: Expected("load/open", "crashed", "killed by SIGSEGV"),
    2: Expected("file/exports", "failed", "one_export_too_many"),
    3: Expected("life/unload", "failed", "still loaded after dlclose"),
    4: Expected("life/create", "failed", "an exception came out of create: misbehaving: not today"),
    5: Expected("life/process", "failed", "replaced the handler of signal 10"),
    6: Expected("life/process", "failed", "changed the working directory"),
    7: Expected("life/err", "crashed", "wrote past the end of err"),
    8: Expected("life/threads", "failed", "1 of its threads still run after destroy"),
    9: Expected("life/heap", "failed", "12 instances left 12 allocations behind"),
    10: Expected("bind/stride", "crashed", "killed by SIG"),  # which one depends on what the address happens to be
    11: Expected("bind/missing", "failed", "RATION_OK to a host without columns"),
    12: Expected("events/unknown", "crashed", "killed by SIGABRT"),
    13: Expected("decide/answer", "failed", "an exception came out of decide: misbehaving: not today"),
    14: Expected("decide/answer", "crashed", "killed by SIGABRT"),
    15: Expected("decide/answer", "crashed", "ended with status 0 before the probe was through"),
    16: Expected("decide/answer", "timed out", "before the deadline and was killed"),
    17: Expected("decide/inputs", "crashed", "jobs/state, which is locked"),
    18: Expected("decide/heap", "failed", "decide allocated 1 times"),
    19: Expected("decide/float_mode", "failed", "decide changed the rounding"),
    20: Expected("decide/stack", "crashed", "before the beginning of its stack"),
    21: Expected("decide/scratch", "crashed", "past the end of the scratch"),
    22: Expected("answer/capacity", "crashed", "past the end of the output"),
    23: Expected("answer/grants", "failed", "job 6, and the jobs table has 6 rows"),
    24: Expected("answer/grants", "failed", "node 2, and the nodes table has 2 rows"),
    25: Expected("answer/grants", "failed", "the amount -1 is negative"),
    26: Expected("answer/grants", "failed", "above RATION_MAX_AMOUNT"),
    27: Expected("answer/grants", "failed", "node 0 has 16000 of cpu and would promise"),
    28: Expected("answer/grants", "failed", "a second time in one tick"),
    29: Expected("answer/repeat", "failed", "two instances that were asked the same differ"),
    30: Expected("answer/output", "failed", "count is 217, and there was space for 216 rows"),
    31: Expected("answer/afterwards", "crashed", "the output, which is locked"),
    32: Expected("answer/output", "failed", "changed out->grant"),
    33: Expected("state/buffer", "crashed", "past the end of the buffer of save"),
    34: Expected("state/same", "failed", "two saves of one state differ at byte 16 of 24"),
    35: Expected("state/refusal", "failed", "RATION_OK to the first 0 bytes of a state of 24"),
    36: Expected("file/abi", "failed", "another word than RATION1"),
    37: Expected("file/minor", "failed", "needs minor version 999"),
    38: Expected("file/layout", "failed", "laid out otherwise"),
    39: Expected("load/table", "failed", "says that it has 2147483647 bytes"),
    40: Expected("load/table", "failed", "bind is null"),
    41: Expected("fuzz/clusters", "failed", "node 3, and the nodes table has 3 rows"),
    42: Expected("state/return", "failed", "what is loaded and saved again is not what was saved"),
    43: Expected("life/process", "failed", "changed the environment"),
    44: Expected("bind/missing", "failed", "RATION_OK to a host where jobs/state has another type"),
    45: Expected("answer/capacity", "failed", "out->needed is 0 where 2 rows were too few"),
    46: Expected("decide/answer", "crashed", "past the end of jobs/state"),
    47: Expected("decide/answer", "failed", "decide said 17, which is no code of the ABI"),
    48: Expected("life/err", "failed", "left no zero byte in an err of 8 bytes"),
    49: Expected("file/manifest", "failed", "each line is a column and its type"),
    50: Expected("answer/grants", "failed", "of cpu on all nodes together: more than it accepts, "),
    51: Expected("answer/grants", "failed", "of cpu on all nodes together: neither 0 nor as much as it accepts, 333"),
    52: Expected("answer/grants", "failed", "are in different groups"),
    53: Expected("file/manifest", "failed", "its parameters are no JSON schema"),
    54: Expected("life/threads", "failed", "does not say RATION_F_OWN_THREADS"),
    55: Expected("answer/rebind", "failed", "bound a second time it answers otherwise"),
    56: Expected("decide/pointers", "crashed", "it read nodes/capacity.cpu, which is locked"),
    57: Expected("state/refusal", "failed", "load said 17, which is no code of the ABI"),
    58: Expected("bind/needs", "failed", "shows the columns of `needs` and no others"),
    59: Expected("decide/io", "failed", "tick 1: decide called write"),
    60: Expected("decide/io", "failed", "tick 1: decide called openat"),
    61: Expected("decide/io", "failed", "tick 1: decide called clock_nanosleep"),
    62: Expected("decide/io", "failed", "tick 1: decide called write"),
    63: Expected("life/files", "failed", "12 instances left 12 open file descriptors behind"),
    64: Expected("life/process", "failed", "changed which signals its thread blocks"),
    65: Expected("life/process", "failed", "changed the CPUs that its thread may use"),
    66: Expected("life/process", "failed", "changed the umask"),
    67: Expected("life/process", "failed", "changed the locale"),
    68: Expected("file/manifest", "failed", "its version 'banana' is no semantic version: write three numbers, as in 1.0.0"),
    69: Expected("file/manifest", "failed", "extension org.example.dreams/1: this host does not offer it"),
    70: Expected("answer/again", "failed", "tick 1: asked again about the same tick it answers otherwise: row 0: amount "),
}


def checked(k: int) -> tuple[int, dict]:
    done = subprocess.run([PROGRAM, "check", "--json", os.path.join(FOLDER, f"misbehaving_{k}.so")], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


class Misbehaving(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            cls.found = dict(enumerate(pool.map(checked, range(len(TABLE) + 1))))

    def test_the_correct_one_passes_every_probe(self) -> None:
        code, said = self.found[0]
        self.assertEqual([p for p in said["probes"] if p["result"] != "passed"], [])
        self.assertTrue(said["passed"])
        self.assertEqual(code, 0)

    def test_each_goes_red_with_its_own_probe_and_no_other(self) -> None:
        for k, expected in TABLE.items():
            if k == 19 and platform.machine() != "x86_64" or k == 65 and len(os.sched_getaffinity(0)) == 1:
                continue  # there it does nothing
            with self.subTest(misbehaviour=k):
                code, said = self.found[k]
                red = [p for p in said["probes"] if p["result"] not in ("passed", "skipped")]
                self.assertEqual([(p["probe"], p["result"]) for p in red], [(expected.probe, expected.result)], red)
                self.assertIn(expected.why, red[0]["why"])
                self.assertTrue(red[0]["remedy"])
                self.assertFalse(said["passed"])
                self.assertEqual(code, 1)


if __name__ == "__main__":
    unittest.main()
