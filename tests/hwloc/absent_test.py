# SPDX-License-Identifier: BSL-1.0
"""This tree without hwloc: nothing that is built then reads its headers or links it, and a part that is left out reports this.

usage: absent_test.py FOLDER COMPILER GENERATOR    FOLDER is where that tree is configured
"""
import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "house"))
import layers  # noqa: E402

FOLDER, COMPILER, GENERATOR = sys.argv[1:]
TOPOLOGY = "tools/ration/CMakeFiles/ration_program_topology.dir/topology/without_hwloc.cpp.o"


def called(*command: str) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


def reads_hwloc(files: list[pathlib.Path]) -> list[str]:
    """Those of the files that include hwloc's own headers, by themselves or by a header of this tree."""
    known: dict[pathlib.Path, bool] = {}

    def reads(file: pathlib.Path, folders: tuple[pathlib.Path, ...]) -> bool:
        if file not in known:
            known[file] = False  # for a header that comes to itself
            names = [name for _, name, _ in layers.includes(file.read_text())]
            beside = [next((folder / name for folder in (file.parent, *folders) if (folder / name).is_file()), None) for name in names]
            known[file] = any(name.startswith("hwloc") and found is None for name, found in zip(names, beside)) or any(
                [reads(found.resolve(), folders) for found in beside if found])
        return known[file]

    folders = (ROOT / "include", ROOT / "tools" / "ration", ROOT / "tests", *ROOT.glob("backends/*/include"))
    return [str(file.relative_to(ROOT)) for file in files if reads(file, folders)]


class Absent(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        called("cmake", "-S", str(ROOT), "-B", FOLDER, "-G", GENERATOR, f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
               "-DCMAKE_DISABLE_FIND_PACKAGE_hwloc=ON", "-DRATION_BUILD_BENCH=OFF")
        commands = json.loads(pathlib.Path(FOLDER, "compile_commands.json").read_text())
        files = {pathlib.Path(one["file"]) for one in commands}
        cls.sources = sorted(file for file in files if file.is_relative_to(ROOT) and not file.is_relative_to(FOLDER))

    def test_nothing_reads_its_headers(self) -> None:
        self.assertEqual(reads_hwloc([ROOT / "tools/ration/topology/with_hwloc.cpp"]), ["tools/ration/topology/with_hwloc.cpp"], "the search is blind")
        self.assertEqual(reads_hwloc(self.sources), [])

    def test_nothing_links_it(self) -> None:
        rules = pathlib.Path(FOLDER, "build.ninja").read_text()
        self.assertEqual([line for line in rules.splitlines() if "libhwloc" in line or "-lhwloc" in line], [])

    def test_the_program_says_so_instead(self) -> None:
        self.assertIn(ROOT / "tools/ration/topology/without_hwloc.cpp", self.sources)
        called("cmake", "--build", FOLDER, "--target", TOPOLOGY)

    def test_what_is_left_out_says_so(self) -> None:
        tests = {one["name"]: one for one in json.loads(called("ctest", "--test-dir", FOLDER, "--show-only=json-v1"))["tests"]}
        self.assertIn("hwloc.placement", tests)
        self.assertFalse({"hwloc.cases", "hwloc.own_xml_parser", "consumer.hwloc"} & set(tests))
        skipped = subprocess.run(tests["hwloc.reader"]["command"], capture_output=True, text=True)
        self.assertEqual((skipped.returncode, skipped.stdout),
                         (77, "skipped: this tree was configured without hwloc; install libhwloc-dev and configure again\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
