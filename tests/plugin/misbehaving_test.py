# SPDX-License-Identifier: BSL-1.0
"""`ration check` rejects each plugin that breaks one rule, by the probe that is named here and no other, and prints why."""
import concurrent.futures
import json
import os
import pathlib
import platform
import re
import subprocess
import unittest
from typing import NamedTuple

PROGRAM, FOLDER = os.environ["RATION_PROGRAM"], os.environ["RATION_MISBEHAVING"]
AT_ONCE = 2


class Expected(NamedTuple):
    probe: str
    result: str
    why: str  # is part of the sentence


# By the name of the misbehaviour; misbehaving/*.cpp do them.
TABLE = {
    "crashes_while_loading": Expected("load/open", "crashed", "killed by SIGSEGV"),
    "exports_too_much": Expected("file/exports", "failed", "one_export_too_many"),
    "stays_loaded": Expected("life/unload", "failed", "still loaded after dlclose"),
    "throws_in_create": Expected("life/create", "failed", "an exception came out of create: misbehaving: not today"),
    "replaces_signal_handler": Expected("life/process", "failed", "replaced the handler of signal 10"),
    "changes_directory": Expected("life/process", "failed", "changed the working directory"),
    "overruns_err": Expected("life/err", "crashed", "wrote past the end of err"),
    "leaves_thread": Expected("life/threads", "failed", "1 of its threads still run after destroy"),
    "leaks_instance": Expected("life/heap", "failed", "12 instances left 12 allocations behind"),
    "ignores_column_stride": Expected("bind/stride", "crashed", "killed by SIG"),  # which one depends on what the address happens to be
    "binds_without_columns": Expected("bind/missing", "failed", "RATION_OK to a host without columns"),
    "aborts_on_unknown_event": Expected("events/unknown", "crashed", "killed by SIGABRT"),
    "throws_in_decide": Expected("decide/answer", "failed", "an exception came out of decide: misbehaving: not today"),
    "aborts_in_decide": Expected("decide/answer", "crashed", "killed by SIGABRT"),
    "exits_in_decide": Expected("decide/answer", "crashed", "ended with status 0 before the probe was through"),
    "loops_in_decide": Expected("decide/answer", "timed out", "before the deadline and was killed"),
    "writes_to_inputs": Expected("decide/inputs", "crashed", "jobs/state, which is locked"),
    "allocates_in_decide": Expected("decide/heap", "failed", "decide allocated 1 times"),
    "changes_float_mode": Expected("decide/float_mode", "failed", "decide changed the rounding"),
    "overflows_stack": Expected("decide/stack", "crashed", "before the beginning of its stack"),
    "overruns_scratch": Expected("decide/scratch", "crashed", "past the end of the scratch"),
    "overruns_output": Expected("answer/capacity", "crashed", "past the end of the output"),
    "grants_to_unknown_job": Expected("answer/grants", "failed", "job 6, and the jobs table has 6 rows"),
    "grants_on_unknown_node": Expected("answer/grants", "failed", "node 2, and the nodes table has 2 rows"),
    "grants_negative_amount": Expected("answer/grants", "failed", "the amount -1 is negative"),
    "grants_huge_amount": Expected("answer/grants", "failed", "above RATION_MAX_AMOUNT"),
    "grants_above_capacity": Expected("answer/grants", "failed", "node 0 has 16000 of cpu and would promise"),
    "grants_twice": Expected("answer/grants", "failed", "a second time in one tick"),
    "shares_state_of_instances": Expected("answer/repeat", "failed", "two instances that were asked the same differ"),
    "counts_too_many_grants": Expected("answer/output", "failed", "count is 253, and there was space for 252 rows"),
    "writes_to_former_output": Expected("answer/afterwards", "crashed", "the output, which is locked"),
    "replaces_output": Expected("answer/output", "failed", "changed out->grant"),
    "overruns_save_buffer": Expected("state/buffer", "crashed", "past the end of the buffer of save"),
    "changes_state_in_save": Expected("state/same", "failed", "two saves of one state differ at byte 16 of 24"),
    "loads_damaged_state": Expected("state/refusal", "failed", "RATION_OK to the first 0 bytes of a state of 24"),
    "has_another_abi": Expected("file/abi", "failed", "another word than RATION1"),
    "needs_later_minor": Expected("file/minor", "failed", "needs minor version 999"),
    "has_another_layout": Expected("file/layout", "failed", "laid out otherwise"),
    "has_absurd_table_size": Expected("load/table", "failed", "states a size of 2147483647 bytes"),
    "lacks_bind": Expected("load/table", "failed", "bind is null"),
    "grants_on_fourth_of_three_nodes": Expected("fuzz/clusters", "failed", "node 3, and the nodes table has 3 rows"),
    "ignores_loaded_state": Expected("state/return", "failed", "what is loaded and saved again is not what was saved"),
    "sets_environment_variable": Expected("life/process", "failed", "changed the environment"),
    "ignores_column_type": Expected("bind/missing", "failed", "RATION_OK to a host where jobs/state has another type"),
    "reports_no_needed_rows": Expected("answer/capacity", "failed", "out->needed is 0 where 2 rows were too few"),
    "reads_past_column": Expected("decide/answer", "crashed", "past the end of jobs/state"),
    "returns_unknown_code_in_decide": Expected("decide/answer", "failed", "decide returned 17, which is not a code of the ABI"),
    "leaves_err_without_end": Expected("life/err", "failed", "left no zero byte in an err of 8 bytes"),
    "has_malformed_needs": Expected("file/manifest", "failed", "each line is a column and its type"),
    "exceeds_maximum_over_nodes": Expected("answer/grants", "failed", "of cpu on all nodes together: more than it accepts, "),
    "misses_minimum_over_nodes": Expected("answer/grants", "failed", "of cpu on all nodes together: neither 0 nor as much as it accepts, 333"),
    "splits_job_over_groups": Expected("answer/grants", "failed", "are in different groups"),
    "has_malformed_schema": Expected("file/manifest", "failed", "its parameters are not a JSON schema"),
    "hides_own_thread": Expected("life/threads", "failed", "does not say RATION_F_OWN_THREADS"),
    "ignores_second_bind": Expected("answer/rebind", "failed", "bound a second time it answers otherwise"),
    "reads_former_capacity": Expected("decide/pointers", "crashed", "it read nodes/capacity.cpu, which is locked"),
    "returns_unknown_code_in_load": Expected("state/refusal", "failed", "load returned 17, which is not a code of the ABI"),
    "omits_needed_column": Expected("bind/needs", "failed", "shows the columns of `needs` and no others"),
    "writes_to_stdout_in_decide": Expected("decide/io", "failed", "tick 1: decide called write"),
    "reads_file_in_decide": Expected("decide/io", "failed", "tick 1: decide called openat"),
    "sleeps_in_decide": Expected("decide/io", "failed", "tick 1: decide called clock_nanosleep"),
    "prints_through_buffer": Expected("decide/io", "failed", "tick 1: decide called write"),
    "leaks_descriptor": Expected("life/files", "failed", "12 instances left 12 open file descriptors behind"),
    "blocks_signal": Expected("life/process", "failed", "changed which signals its thread blocks"),
    "pins_thread": Expected("life/process", "failed", "changed the CPUs that its thread may use"),
    "changes_umask": Expected("life/process", "failed", "changed the umask"),
    "changes_locale": Expected("life/process", "failed", "changed the locale"),
    "has_malformed_version": Expected("file/manifest", "failed", "its version 'banana' is not a semantic version: write three numbers, as in 1.0.0"),
    "needs_unknown_extension": Expected("file/manifest", "failed", "extension org.example.dreams/1: this host does not offer it"),
    "ignores_repeated_tick": Expected("answer/again", "failed", "tick 1: asked again about the same tick it answers otherwise: row 0: amount "),
    "ignores_changed_state": Expected("answer/changes", "failed", "with the list of changes it answers otherwise than from all rows: "),
    "ignores_moved_rows": Expected("answer/changes", "failed", "with the list of changes it answers otherwise than from all rows: "),
    "ignores_changed_capacity": Expected("fuzz/demands", "failed", "of cpu and would promise"),
}

BUILT = re.findall(r"^    (\w+),$", pathlib.Path(__file__).with_name("misbehaving").joinpath("misbehaviour.hpp").read_text(), re.M)
HARMLESS_HERE = {name for name, is_harmless in (("changes_float_mode", platform.machine() != "x86_64"),
                                                ("pins_thread", len(os.sched_getaffinity(0)) == 1)) if is_harmless}


def checked(name: str) -> tuple[int, dict]:
    done = subprocess.run([PROGRAM, "check", "--json", os.path.join(FOLDER, f"misbehaving_{name}.so")], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


class Misbehaving(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            cls.found = dict(zip(BUILT, pool.map(checked, BUILT)))

    def test_the_table_has_every_plugin_but_the_correct_one(self) -> None:
        self.assertEqual(["none", *TABLE], BUILT)

    def test_the_correct_one_passes_every_probe(self) -> None:
        code, said = self.found["none"]
        self.assertEqual([p for p in said["probes"] if p["result"] != "passed"], [])
        self.assertTrue(said["passed"])
        self.assertEqual(code, 0)

    def test_each_goes_red_with_its_own_probe_and_no_other(self) -> None:
        for name, expected in TABLE.items():
            if name in HARMLESS_HERE:
                continue
            with self.subTest(misbehaviour=name):
                code, said = self.found[name]
                red = [p for p in said["probes"] if p["result"] not in ("passed", "skipped")]
                self.assertEqual([(p["probe"], p["result"]) for p in red], [(expected.probe, expected.result)], red)
                self.assertIn(expected.why, red[0]["why"])
                self.assertTrue(red[0]["remedy"])
                self.assertFalse(said["passed"])
                self.assertEqual(code, 1)


if __name__ == "__main__":
    unittest.main()
