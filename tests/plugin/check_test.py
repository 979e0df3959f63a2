# SPDX-License-Identifier: BSL-1.0
"""`ration check` from the outside: its words, its exit codes, and what it does with files that are no plugins."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

PROGRAM, FOLDER = os.environ["RATION_PROGRAM"], pathlib.Path(os.environ["RATION_MISBEHAVING"])
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/check.md"


def check(*words) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, "check", *map(str, words)], capture_output=True, text=True)


class Words(unittest.TestCase):
    def test_a_correct_plugin(self) -> None:
        done = check(FOLDER / "misbehaving_none.so", "--seed", 7)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"\n\d+ passed, 0 red, 0 skipped; seed 7\n"
                                      r"org\.example\.misbehaving keeps the rules of the plugin ABI 1\.0, as far as these probes see\.\n$")
        self.assertEqual(done.stderr, "")

    def test_a_wrong_plugin_says_what_to_do(self) -> None:
        done = check(FOLDER / "misbehaving_overruns_scratch.so")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"decide/scratch +CRASHED +killed by SIGSEGV \(Segmentation fault\): it wrote past the end of the scratch\n")
        self.assertRegex(done.stdout, r"fuzz/clusters +skipped +mend what is red first\n")
        self.assertTrue(done.stdout.endswith("What to do:\n  decide/scratch: ask in bind for as much scratch as decide uses\n"), done.stdout)

    def test_json_is_one_object(self) -> None:
        said = json.loads(check(FOLDER / "misbehaving_grants_negative_amount.so", "--json", "--seed", 3).stdout)
        self.assertEqual([said[k] for k in ("id", "version", "seed", "passed")], ["org.example.misbehaving", "1.0.0", 3, False])
        self.assertEqual(set(said["probes"][0]), {"probe", "result"})
        red = [p for p in said["probes"] if p["result"] == "failed"]
        self.assertEqual([set(p) for p in red], [{"probe", "result", "why", "remedy"}])

    def test_the_same_seed_says_the_same(self) -> None:
        self.assertEqual(check(FOLDER / "misbehaving_none.so", "--seed", 5).stdout, check(FOLDER / "misbehaving_none.so", "--seed", 5).stdout)

    def test_help(self) -> None:
        said = check("--help").stdout
        for part in ("--seed N", "--config TEXT", "--json", "ration check ./mine.so", "Exit codes: 0 every probe passed or does not apply;\n1 a probe is red; 2 wrong "
                     "command line, or the file cannot be read; 3 this kernel cannot contain the plugin, and no code of it ran."):
            self.assertIn(part, said)

    def test_the_document_describes_every_probe(self) -> None:
        probes = [p["probe"] for p in json.loads(check(FOLDER / "misbehaving_none.so", "--json").stdout)["probes"]]
        described = re.findall(r"^\| `(\w+/\w+)` \|", DOCUMENT.read_text(), flags=re.M)
        self.assertEqual(described, probes)


class NoPlugins(unittest.TestCase):
    def refused(self, *words) -> str:
        done = check(*words)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_what_cannot_be_read(self) -> None:
        self.assertIn("No such file or directory; name the .so of a policy", self.refused("/nowhere/mine.so"))
        self.assertIn("/: is a folder; name the .so of a policy", self.refused("/"))
        self.assertIn("FILE is required", self.refused())

    def test_what_is_no_plugin_fails_without_being_loaded(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in {"empty": b"", "text": b"no ELF file", "zeros": bytes(4096), "cut": (FOLDER / "misbehaving_none.so").read_bytes()[:9000]}.items():
                with self.subTest(name):
                    file = pathlib.Path(folder) / name
                    file.write_bytes(content)
                    done = check(file)
                    self.assertEqual(done.returncode, 1)
                    self.assertRegex(done.stdout, r"^file/elf +FAILED")
                    self.assertRegex(done.stdout, r"load/open +skipped +mend file/elf first\n")
                    self.assertIn("0 passed, 1 red, ", done.stdout)

    def test_a_file_that_fails_when_it_is_read_is_no_error_of_ration(self) -> None:
        said = self.refused("/proc/self/mem")  # a regular file without a size, at whose beginning nothing can be read
        self.assertRegex(said, r"^ration: /proc/self/mem: cannot be read \(Input/output error\); name the .so of a policy\n$")

    def test_a_name_cannot_steer_the_terminal(self) -> None:
        self.assertNotIn("\x1b", self.refused("/nowhere/\x1b[2J.so"))


def command_of(process: pathlib.Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


class Deadline(unittest.TestCase):
    def test_nothing_outlives_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            endless = shutil.copy(FOLDER / "misbehaving_loops_in_decide.so", folder)
            self.assertIn("TIMED OUT", check(endless).stdout)
            self.assertEqual([p for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and endless.encode() in command_of(p)], [])



if __name__ == "__main__":
    unittest.main()
