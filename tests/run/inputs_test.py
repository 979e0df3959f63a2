# SPDX-License-Identifier: BSL-1.0
"""Every file that a user can name, replaced by one that never ends, never answers or is too large: one sentence and exit code 2."""
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import tempfile
import unittest

from support import PATIENCE, PYTHON, RATION, RunTest, job, main, of

DATA = pathlib.Path(os.environ["RATION_BENCH_DATA"])
SIM = ["sim", "--cluster", "1x1", "--policy", "fifo", "--quiet"]
GENERATED = ["--generate", "rigid:jobs=5"]
JOBS = 'policy = "none"\n' + job("a", ["true"])

# Command lines, by the input that they read; {} is replaced by the path of the input.
READERS = {
    "jobs file": ["run", "{}", "--dry-run"],
    "jobs file to measure": ["measure", "scaling", "{}"],
    "policy": ["run", "jobs.toml", "--policy", "./{}"],
    "trace": [*SIM, "--trace", "{}"],
    "model file": [*SIM, *GENERATED, "--models", "{}"],
    "models in a folder": [*SIM, *GENERATED, "--models", "models"],
    "log to replay": ["replay", "{}", "--policy", "none"],
    "log to report": ["report", "{}", "--out", "page.html"],
    "plugin to check": ["check", "{}"],
    "plugin to list": ["policies", "./{}"],
}
FOLDERS_TOO = {"model file", "plugin to list"}  # for these a folder is a folder of models, or of plugins


class Inputs(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ration-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "jobs.toml").write_text(JOBS)
        shutil.copytree(DATA / "pollux", self.folder / "models")

    def ration(self, arguments: list[str], path: str) -> subprocess.CompletedProcess:
        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        if "models" in arguments:
            (self.folder / "models" / "step_times.csv").unlink(missing_ok=True)
            (self.folder / "models" / "step_times.csv").symlink_to(os.path.join(self.folder, path))
        words = [word.replace("./{}", path if path.startswith("/") else "./" + path).replace("{}", path) for word in arguments]
        environment = dict(os.environ, XDG_RUNTIME_DIR=str(self.folder))
        return subprocess.run([RATION, *words], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=PATIENCE,
                              preexec_fn=limit, check=False)

    def assert_refused(self, name: str, path: str, *causes: str) -> None:
        with self.subTest(reader=name):
            done = self.ration(READERS[name], path)
            self.assertEqual(done.returncode, 2, done.stderr[-300:])
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr[-300:])
            self.assertTrue(any(cause in done.stderr for cause in causes), done.stderr)
            self.assertIn(";", done.stderr, "the sentence names no remedy")

    def test_an_endless_device(self) -> None:
        for name in READERS:
            self.assert_refused(name, "/dev/zero", "is a device", "it is not a regular file")

    def test_a_pipe_without_a_writer_and_one_that_stays_silent(self) -> None:
        os.mkfifo(self.folder / "fifo")
        for name in READERS:
            self.assert_refused(name, "fifo", "is a pipe", "it is not a regular file")
        with open(os.open(self.folder / "fifo", os.O_RDWR), "wb"):
            for name in READERS:
                self.assert_refused(name, "fifo", "is a pipe", "it is not a regular file")

    def test_a_folder_and_a_socket(self) -> None:
        (self.folder / "folder").mkdir()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.folder / "socket"))
            for name in READERS:
                self.assert_refused(name, "socket", "No such device or address", "it is not a regular file")
                if name not in FOLDERS_TOO:
                    self.assert_refused(name, "folder", "is a folder", "it is not a regular file")

    def test_a_file_of_a_tebibyte(self) -> None:
        with open(self.folder / "large", "wb") as large:
            large.truncate(1 << 40)
        for name in READERS:
            self.assert_refused(name, "large", "is larger than", "a plugin has at most 256 MiB", "the line has more than 64 MiB", "has a line of over 1 MiB")

    def test_a_path_that_leads_nowhere(self) -> None:
        for name in READERS:
            self.assert_refused(name, "absent", "No such file or directory")

    def test_a_log_without_lines_ends_at_the_limit_of_one(self) -> None:
        with open(self.folder / "large", "wb") as large:
            large.truncate(65 << 20)
        for name in ("log to replay", "log to report"):
            self.assert_refused(name, "large", "the line has more than 64 MiB", "has a line of over 1 MiB")


class Redirected(RunTest):
    def test_standard_input_from_a_file_is_a_file(self) -> None:
        self.write(job("a", ["true"]))
        self.assertEqual(self.run_jobs("--log", "log.jsonl", "--quiet").returncode, 0)
        with open(self.folder / "log.jsonl", encoding="utf-8") as log:
            done = subprocess.run([RATION, "report", "/dev/stdin", "--out", "page.html"], cwd=self.folder, stdin=log, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_page_does_not_wait_for_a_reader(self) -> None:
        self.write(job("a", ["true"]))
        self.assertEqual(self.run_jobs("--log", "log.jsonl", "--quiet").returncode, 0)
        os.mkfifo(self.folder / "page")
        done = subprocess.run([RATION, "report", "log.jsonl", "--out", "page"], cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("No such device or address", done.stderr)

    def test_a_page_reaches_a_pipe_whole(self) -> None:
        self.write(job("a", ["true"]))
        self.assertEqual(self.run_jobs("--log", "log.jsonl", "--quiet").returncode, 0)
        slow = "import sys, time; time.sleep(0.5); print(sys.stdin.read().count('</html>'))"
        done = subprocess.run(["/bin/sh", "-c", '"$@" --out /dev/stderr 2>&1 >/dev/null | "$0" -c "' + slow + '"', PYTHON, RATION, "report", "log.jsonl"], cwd=self.folder,
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.stdout.strip(), "1", done.stderr)


class OutputOfJobs(RunTest):
    def test_a_job_that_replaces_its_output_by_a_pipe_holds_nobody_up(self) -> None:
        replace = 'f=$(readlink /proc/$$/fd/1); rm "$f"; mkfifo "$f"; exit 3'
        self.write(job("a", ["/bin/sh", "-c", replace]), job("b", ["true"]))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual({e["job"]: e["how"] for e in of(self.events(), "job_ended")}, {"a": "failed", "b": "finished"})


if __name__ == "__main__":
    main()
