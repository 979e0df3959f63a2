# SPDX-License-Identifier: BSL-1.0
"""What the tests of `ration measure` share: a launch of the program, and the check that it leaves nothing."""
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run"))

from support import PATIENCE, PYTHON, RATION, RunTest, alive, groups, main  # pylint: disable=unused-import,wrong-import-position


class MeasureTest(RunTest):
    """The jobs of the folder append a line to the file `launches`, whose first word is their pid."""

    command = ""  # of `ration measure`

    def setUp(self) -> None:
        super().setUp()
        (self.folder / "tmp").mkdir()
        self.environment["TMPDIR"] = str(self.folder / "tmp")

    def start_measuring(self, *words: str) -> subprocess.Popen:
        process = subprocess.Popen([RATION, "measure", self.command, "jobs.toml", *words], cwd=self.folder, env=self.environment,
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(self.end, process)
        return process

    def measure(self, *words: str, after=lambda process: None) -> subprocess.CompletedProcess:
        process = self.start_measuring(*words)
        after(process)
        out, err = process.communicate(timeout=PATIENCE)
        self.assert_nothing_left(process)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def launches(self) -> list[list[str]]:
        file = self.folder / "launches"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def assert_nothing_left(self, process: subprocess.Popen) -> None:
        self.assertEqual([launch[0] for launch in self.launches() if alive(int(launch[0]))], [])
        self.assertEqual(groups(process), [])
        self.assertEqual([str(one) for folder in ("tmp", "ration") for one in (self.folder / folder).glob("*")], [])
        self.assertFalse((self.folder / "ration-output").exists())

    def interrupt(self, process: subprocess.Popen) -> None:
        self.wait_for(self.launches)
        process.send_signal(signal.SIGINT)

    def refused(self, *words: str, code: int = 2) -> str:
        """The sentence of a request that cannot be met."""
        done = self.measure(*words)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertEqual(self.launches(), [])
        return done.stderr
