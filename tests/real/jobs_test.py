# SPDX-License-Identifier: BSL-1.0
"""The jobs files of examples/real: `ration run` accepts each, and its patterns read the output of the scripts.

logs/ has output of one run of each script, shortened, without lines that name a folder of a machine: pytorch/examples 77f55b9 on Fashion-MNIST, nanoGPT
3adf61e, run_clm.py of transformers 3a275d3 with Transformers 5.23.0, ended by SIGTERM.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import tomllib
import unittest

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
LOGS = pathlib.Path(__file__).resolve().parent / "logs"
FILES = sorted((pathlib.Path(__file__).resolve().parents[2] / "examples" / "real").glob("*.toml"))
JOBS = {job["name"]: job for file in FILES for job in tomllib.loads(file.read_text())["job"]}


def records(log: str, job: dict) -> list[dict]:
    """The metrics of each record that the job's `log` reads, and the one of its target is named."""
    log_key = job["log"]
    patterns = ["--preset", log_key["preset"]] if isinstance(log_key, dict) else [word for pattern in log_key for word in ("--pattern", pattern)]
    done = subprocess.run([RATION, "try-log", str(LOGS / log), *patterns, "--metric", next(iter(job["target"])), "--json"],
                          capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and lines[-1]["unreadable"] == 0, done.stdout + done.stderr
    return [line["metrics"] for line in lines[:-1]]


def losses(*values: float) -> list[dict]:
    return [{"loss": value} for value in values]


class Output(unittest.TestCase):
    def test_mnist(self) -> None:
        self.assertEqual(records("mnist.log", JOBS["mnist"]), [*losses(2.330319, 1.438321, 1.115445, 0.909804, 0.300774, 0.22535, 0.394086, 0.371541),
                                                               {"accuracy": 88}, *losses(0.257376, 0.491147)])

    def test_mnist_rnn(self) -> None:
        self.assertEqual(records("mnist_rnn.log", JOBS["mnist_rnn"]), [*losses(2.395043, 2.240398, 2.278217), {"accuracy": 68}, *losses(1.045375, 0.745087)])

    def test_vae(self) -> None:
        self.assertEqual(records("vae.log", JOBS["vae"]), [*losses(549.665466, 431.651978, 376.457428, 349.089844), {"test_loss": 262.4168},
                                                           *losses(258.874695, 272.773132)])

    def test_nanogpt(self) -> None:
        for name in ("two_layers", "four_layers"):
            self.assertEqual(records("nanogpt.log", JOBS[name]), [{"val_loss": 4.218}, *losses(4.227, 3.8591, 3.6482), {"val_loss": 2.6137}, *losses(2.5759)])

    def test_run_clm(self) -> None:
        for name in ("narrow", "wide"):
            self.assertEqual(records("run_clm.log", JOBS[name]), losses(6.58, 6.202, 5.933, 5.807, 4.449, 4.41, 4.503, 4.427, 4.429, 4.435, 4.415))


class Files(unittest.TestCase):
    def test_ration_accepts_each(self) -> None:
        self.assertEqual(len(FILES), 4)
        for file in FILES:
            with self.subTest(file.name), tempfile.TemporaryDirectory() as folder:
                for job in tomllib.loads(file.read_text())["job"]:
                    pathlib.Path(folder, job.get("directory", ".")).mkdir(parents=True, exist_ok=True)
                done = subprocess.run([RATION, "run", str(file), "--dry-run"], cwd=folder, env={**os.environ, "XDG_RUNTIME_DIR": folder}, capture_output=True,
                                      text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
