# SPDX-License-Identifier: BSL-1.0
"""`ration new`: its words, and that what it writes builds, keeps the rules of the ABI, and has tests that can fail."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from installed import CHECKOUT, Installed

TEMPLATES = CHECKOUT / "tools/ration/new"
LANGUAGES = sorted(p.name for p in TEMPLATES.iterdir() if p.is_dir() and p.name != "common")


def embeddable_python():
    """One with headers and a shared library, or None."""
    said = "import sysconfig as s, os; print(s.get_config_var('Py_ENABLE_SHARED'), os.path.exists(s.get_path('include') + '/Python.h'))"
    for python in ("/usr/bin/python3", sys.executable):
        if os.path.exists(python) and subprocess.run([python, "-c", said], text=True, capture_output=True).stdout == "1 True\n":
            return python
    return None


PYTHON = embeddable_python()


def new(folder, *words) -> subprocess.CompletedProcess:
    return subprocess.run([os.environ["RATION_PROGRAM"], "new", *words], cwd=folder, text=True, capture_output=True)


def files_below(folder) -> dict:
    left_behind = {"__pycache__", "target", "build"}
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(pathlib.Path(folder).rglob("*"))
            if p.is_file() and not left_behind.intersection(p.relative_to(folder).parts)}


class Words(Installed):
    def refused(self, *words) -> str:
        done = new(self.folder, *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        return done.stderr

    def test_a_wrong_word_is_one_sentence(self) -> None:
        rule = "take up to 40 letters, digits, '-' and '_', with a letter in front\n"
        for name in ("", "1st", "a b", "../up", "a/b", ".hidden", "_a", "ä", "a.b", "a" * 41):
            with self.subTest(name=name):
                self.assertTrue(self.refused(name).endswith(" is not a name for a policy: " + rule))
        self.assertEqual(self.refused("a b"), "ration: NAME: 'a b' is not a name for a policy: " + rule)
        self.assertEqual(self.refused("one", "--lang", "rusty"), "ration: --lang: unknown language 'rusty'; did you mean 'rust'?\n")
        self.assertRegex(self.refused("one", "--lang", "cobol"), r"^ration: --lang: unknown language 'cobol'; use one of: c\+\+, c, python, rust\n$")
        self.assertEqual(self.refused(), "ration: NAME is required; see 'ration new --help'\n")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_is_there_stays_as_it_is(self) -> None:
        (self.folder / "file").write_text("mine")
        (self.folder / "folder").mkdir()
        (self.folder / "link").symlink_to("nowhere")
        for name in ("file", "folder", "link"):
            self.assertEqual(self.refused(name), f"ration: '{name}' is there already: choose another name, or move it away\n")
        self.assertEqual(((self.folder / "file").read_text(), list((self.folder / "folder").iterdir())), ("mine", []))

    def test_a_folder_that_cannot_be_made(self) -> None:
        (self.folder / "gone").mkdir()
        done = subprocess.run(["sh", "-c", 'rmdir ../gone && exec "$0" new one', os.environ["RATION_PROGRAM"]], cwd=self.folder / "gone",
                              text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (2, "ration: cannot make the folder 'one': No such file or directory; "
                                                             "go to a folder that you may write in\n"))

    def test_no_half_project_stays_when_the_disk_is_full(self) -> None:
        limited = subprocess.run(["bash", "-c", 'ulimit -f 1; exec "$0" new one', os.environ["RATION_PROGRAM"]], cwd=self.folder, text=True,
                                 capture_output=True)
        self.assertEqual((limited.returncode, limited.stderr), (2, "ration: cannot write the files of 'one': is the disk full?\n"))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_help_has_an_example_and_the_languages(self) -> None:
        said = new(self.folder, "--help")
        self.assertEqual(said.returncode, 0)
        for words in ("ration new my-policy && cd my-policy\n  cmake -B build && cmake --build build && ctest --test-dir build\n",
                      "c++ when left out", "Exit codes: 0 the folder is there; 2 "):
            self.assertIn(words, said.stdout)
        self.assertEqual(set(LANGUAGES) - set(re.split(r"[\s,;]+", said.stdout)), set())


class Files(Installed):
    def test_they_are_the_templates_with_the_name_filled_in(self) -> None:
        for language in LANGUAGES:
            with self.subTest(language=language):
                self.assertEqual(new(self.folder, "Mine-2", "--lang", language).returncode, 0)
                expected = {**files_below(TEMPLATES / "common"), **files_below(TEMPLATES / language)}
                expected = {p: t.replace("my-policy", "Mine-2").replace("my_policy", "Mine_2_policy") for p, t in expected.items()}
                self.assertEqual(files_below(self.folder / "Mine-2"), expected)
                shutil.rmtree(self.folder / "Mine-2")

    def test_cpp_is_what_is_written_without_a_word(self) -> None:
        self.assertEqual((new(self.folder, "one").returncode, new(self.folder, "two", "--lang", "c++").returncode), (0, 0))
        self.assertEqual(set(files_below(self.folder / "one")), set(files_below(self.folder / "two")))


class Projects(Installed):
    """Names that are words of the languages, or targets that CMake has for itself."""

    def build(self, name: str, language: str, *settings) -> pathlib.Path:
        said = self.succeed(self.folder, "ration", "new", name, "--lang", language)
        commands = re.findall(r"^  (.*)$", said, re.M)
        self.assertEqual(commands[0], f"cd {name}")
        steps = commands[1].split(" && ")
        self.assertEqual(len(steps), 3)
        for step in steps[:2]:
            self.succeed(self.folder / name, *step.split(), *(settings if step == steps[0] else ()))
        return self.folder / name

    def keeps_the_rules(self, project: pathlib.Path) -> None:
        identifier = re.search(r"build/(\w+)\.so", (project / "jobs.toml").read_text())[1]
        said = self.succeed(project, "ration", "check", f"build/{identifier}.so")
        self.assertRegex(said, rf"org\.example\.{project.name} keeps the rules of the plugin ABI 1\.0")
        said = self.succeed(project, "ctest", "--test-dir", "build", "--output-on-failure")
        self.assertIn("100% tests passed, 0 tests failed out of 2", said)
        self.assertRegex(said, rf"plugin\.{identifier} \.+ +Passed")
        self.assertRegex(said, r"unit_test \.+ +Passed")
        self.assertRegex(self.succeed(project, "ration", "run", "jobs.toml", "--dry-run"), r"second +python3 trainer\.py 2\n")

    def breaks(self, project: pathlib.Path, file: str, old: str, wrong: str) -> None:
        """The project's own tests see a wrong rule."""
        text = (project / file).read_text()
        self.assertIn(old, text)
        (project / file).write_text(text.replace(old, wrong))
        self.succeed(project, "cmake", "--build", "build")
        done = self.run_in(project, "ctest", "--test-dir", "build", "--output-on-failure", "-R", "unit_test")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"expected 1000|\(750, 2250\)|\{0: 750, 1: 2250\}")

    def test_cpp(self) -> None:
        project = self.build("namespace", "c++")
        self.keeps_the_rules(project)
        self.breaks(project, "policy.hpp", "? 2 : 1", "? 3 : 1")

    def test_c(self) -> None:
        project = self.build("test", "c")
        self.keeps_the_rules(project)
        self.breaks(project, "policy.c", "? 2 : 1", "? 3 : 1")

    @unittest.skipUnless(shutil.which("cargo"), "there is no cargo here, so the template in Rust was not built")
    def test_rust(self) -> None:
        project = self.build("crate", "rust")
        self.keeps_the_rules(project)
        self.breaks(project, "src/lib.rs", "        2\n", "        3\n")

    @unittest.skipUnless(PYTHON, "no Python here has headers and a shared library, so the template in Python was not built")
    def test_python(self) -> None:
        project = self.build("import", "python", f"-DPython3_EXECUTABLE={PYTHON}")
        self.keeps_the_rules(project)
        self.runs_in_a_worker(project)
        self.breaks(project, "policy.py", "return 2 if", "return 3 if")

    def runs_in_a_worker(self, project: pathlib.Path) -> None:
        """In its sandbox, with modules that come from files; the program reports errors of the Python code."""
        source = (project / "policy.py").read_text()
        quick = (project / "jobs.toml").read_text().replace('"4"', '"1"').replace('"2"', '"1"').replace('at = "2s"\n', "")
        (project / "quick.toml").write_text(quick)
        keep, before = "self.kept = getattr(self, 'kept', tick['jobs/tier']); self.kept[0]", "        state, tier ="
        at = source.count("\n", 0, source.index(before)) + 1 + 3  # three imports
        for wrong, told in (("", ""), ("raise ValueError(7)", f"policy.py:{at}: ValueError: 7"), (keep, "operation forbidden on released memoryview object"),
                            ("tick['jobs/loss']", "jobs/loss is not shown: name it in `inputs`"), ("grant(0, -1, 0, 5)", "ValueError: grant: node is -1, and not from 0 to 4294967295"),
                            ("grant(0, 0, 70000, 5)", "ValueError: grant: resource is 70000, and not from 0 to 65535")):
            with self.subTest(wrong=wrong):
                marked = source.replace(before, f"        {wrong or 'pass'}\n{before}")
                (project / "policy.py").write_text(marked.replace("\nfrom ration", "\nimport array\nimport json\nimport math\nfrom ration"))
                self.succeed(project, "cmake", "--build", "build")
                self.assertIn(told, self.run_in(project, "ration", "check", f"build/{project.name}_policy.so").stdout)
                if wrong.startswith(("tick", "grant")):
                    continue
                said = self.succeed(project, "ration", "run", "quick.toml")
                self.assertIn("threw an exception; the last good limits stay" if wrong else "on its way to the first tier", said)
                self.assertEqual("warning" in said, bool(wrong), said)
        (project / "policy.py").write_text(source)

    def test_cpp_in_a_checkout_of_ration(self) -> None:
        self.keeps_the_rules(self.build("all", "c++", f"-DRATION_SOURCE={CHECKOUT}"))

    def test_where_no_ration_is_installed_the_way_out_is_said(self) -> None:
        self.succeed(self.folder, "ration", "new", "lonely")
        done = self.run_in(self.folder / "lonely", "cmake", "-B", "build", CMAKE_PREFIX_PATH="", PATH=os.environ["PATH"])
        self.assertNotEqual(done.returncode, 0)
        said = re.sub(r"\s+", " ", done.stdout)
        self.assertIn("Say where: -D CMAKE_PREFIX_PATH=FOLDER, the prefix of its `cmake --install`, or -D RATION_SOURCE=FOLDER", said)


def lacks(python: str | None, *modules: str) -> str:
    """What keeps this Python from making a wheel and a plugin; empty when nothing does."""
    if python is None:
        return "no Python here has headers and a shared library"
    missing = [one for one in modules if subprocess.run([python, "-c", f"import {one}"], capture_output=True).returncode != 0]
    return f"{python} has no {' and no '.join(missing)}" if missing else ""


class Wheel(Installed):
    """The package as pip installs it, and nothing of the checkout."""

    @unittest.skipIf(lacks(PYTHON, "pip", "setuptools", "wheel"), f"{lacks(PYTHON, 'pip', 'setuptools', 'wheel')}, so no wheel was made")
    def test_a_class_and_the_wheel_are_a_plugin(self) -> None:
        copy = self.folder / "copy"  # pip would leave its build beside the source
        for part in ("python", "include/ration/plugin"):
            shutil.copytree(CHECKOUT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        package = self.folder / "package"
        self.succeed(self.folder, PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", package, copy / "python")
        shutil.rmtree(copy)
        project = self.folder / "project"
        shutil.copytree(CHECKOUT / "examples/python_policy", project)
        self.succeed(project, PYTHON, "-B", "half_test.py", PYTHONPATH=str(package))
        self.succeed(project, PYTHON, "-m", "ration.policy", "build", "half.py", PYTHONPATH=str(package), CMAKE_PREFIX_PATH="")
        self.succeed(project, PYTHON, "-B", "fastest_test.py", PYTHONPATH=str(package))
        self.succeed(project, PYTHON, "-m", "ration.policy", "build", "fastest.py", PYTHONPATH=str(package), CMAKE_PREFIX_PATH="")
        shutil.rmtree(package)  # the machine that runs it has no such package
        self.assertIn("org.example.half keeps the rules of the plugin ABI 1.0", self.succeed(project, "ration", "check", "half.so"))
        said = self.succeed(project, "ration", "sim", "--generate", "cpu:jobs=9", "--models", CHECKOUT / "bench/data/loss/fits.csv", "--cluster", "1x8cores", "--policy", "./half.so", "--quiet")
        self.assertIn("half.so", said)
        self.with_parameters_and_rows(project)

    def with_parameters_and_rows(self, project: pathlib.Path) -> None:
        """fastest.so reads jobs/speedup, which has several values a row, and takes a parameter."""
        self.assertIn("org.example.fastest keeps the rules of the plugin ABI 1.0", self.succeed(project, "ration", "check", "fastest.so"))
        shown = self.succeed(project, "ration", "policies", "--show", "fastest", "fastest.so")
        self.assertIn("  least            = 0.05           a device that adds less speed than this is left free [0, 1]\n", shown)
        job = '[[job]]\nname = "{}"\ncommand = ["sleep", "1"]\ntarget = {{ loss = {{ objective = 1 }} }}\nbounds = {{ gpu = {{ min = 1, max = 4 }} }}\nspeedup = {}\n'
        jobs = job.format("steep", [0, 1, 1.9, 2.7, 3.4]) + job.format("flat", [0, 1, 1.1, 1.2, 1.3])
        for least, code, told in (("0.3", 0, ("steep: devices from 0 to 3", "flat: devices from 0 to 1")), ("0.75", 0, ("steep: devices from 0 to 3", "flat: devices from 0 to 1")),
                                  ("0.85", 0, ("steep: devices from 0 to 2", "flat: devices from 0 to 1")), ("7", 2, ("least must be from 0 to 1: a device that adds less speed than this is left free",)),
                                  ('"a"', 2, ("least must be a number",))):
            with self.subTest(least=least):
                (project / "jobs.toml").write_text(f'policy = "fastest.so"\nfastest = {{ least = {least} }}\ncpus = 1\ndevices = {{ count = 4, cpu = 0.1 }}\n{jobs}')
                done = self.run_in(project, "ration", "run", "jobs.toml")
                self.assertEqual(done.returncode, code, done.stdout)
                for sentence in told:
                    self.assertIn(sentence, done.stdout)


class PlainC(Installed):
    def test_it_needs_nothing_but_abi_h(self) -> None:
        """The command of its README, with a folder that holds the one header."""
        self.succeed(self.folder, "ration", "new", "lean", "--lang", "c")
        header = self.folder / "INCLUDE/ration/plugin/abi.h"
        header.parent.mkdir(parents=True)
        shutil.copy(CHECKOUT / "include/ration/plugin/abi.h", header)
        readme = (self.folder / "lean/README.md").read_text()
        words = re.search(r"^cc .*-I INCLUDE .*$", readme, re.M)[0].split()
        for flag in ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"):
            self.assertIn(flag, words)
        for compiler in filter(shutil.which, ("gcc", "clang-19")):
            with self.subTest(compiler=compiler):
                self.succeed(self.folder / "lean", compiler, *[str(header.parents[2]) if w == "INCLUDE" else w for w in words[1:]])
                self.succeed(self.folder / "lean", "ration", "check", "lean_policy.so")


if __name__ == "__main__":
    result = unittest.main(verbosity=2, exit=False).result
    for _, reason in result.skipped:
        print(f"skipped: {reason}")
    sys.exit(not result.wasSuccessful())
