# SPDX-License-Identifier: BSL-1.0
"""examples/real/packages.toml with Lightning and transformers themselves, in the environment that packages.sh makes."""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "real"


class InAFolder(unittest.TestCase):
    """A copy of the examples in a folder, as their README has it."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        shutil.copytree(EXAMPLES, self.folder, dirs_exist_ok=True)
        scripts = str(pathlib.Path(sys.executable).parent)  # so that `python3` is the one of the environment
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": holder.name, "PATH": f"{scripts}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1"}

    def run_here(self, *command: str) -> None:
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Packages(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.run_here(RATION, "run", "packages.toml", "--log", "log.jsonl", "--quiet")
        self.events = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]

    def of(self, kind: str, name: str) -> list[dict]:
        return [event for event in self.events if event["event"] == kind and event.get("job") == name]

    def test_both_reach_their_objective_and_save_when_they_are_stopped(self) -> None:
        warnings = [event["message"] for event in self.events if event["event"] == "warning"]
        self.assertEqual([text for text in warnings if not text.startswith("so far, ")], [])  # a busy machine may take long to the first value
        for name in ("classifier", "language_model"):
            with self.subTest(name):
                self.assertEqual([event["tier"] for event in self.of("tier_reached", name)], [1, 2])
                (ended,) = self.of("job_ended", name)
                self.assertEqual((ended["how"], ended["why"]), ("finished", "objective reached"))
        with (self.folder / "lightning_logs" / "classifier" / "version_0" / "metrics.csv").open() as file:
            written = [float(row["val_accuracy"]) for row in csv.DictReader(file) if row["val_accuracy"]]
        read = [event["value"] for event in self.of("progress", "classifier") if event["metric"] == "val_accuracy"]
        self.assertEqual([round(value, 4) for value in read], [round(value, 4) for value in written][:len(read)])
        self.assertGreaterEqual(read[-1], 0.81)
        checkpoints = self.folder / "lightning_logs" / "classifier" / "version_0" / "checkpoints"
        newest = max(int(file.stem.split("step=")[1]) for file in checkpoints.glob("*step=*.ckpt"))
        self.assertGreaterEqual(newest, self.of("tier_reached", "classifier")[-1]["step"])
        self.assertIn("Received SIGTERM", (self.folder / "ration-output" / "latest" / "classifier.log").read_text())
        self.assertTrue((self.folder / "language_model" / "model.safetensors").exists())


class Tokenizer(InAFolder):
    def test_run_clm_can_load_it(self) -> None:
        (self.folder / "text.txt").write_text("to be or not to be\n" * 50)
        self.run_here("python3", "train_tokenizer.py", "text.txt", "tokenizer")
        check = ("import transformers; t = transformers.AutoTokenizer.from_pretrained('tokenizer'); "
                 "assert t.decode(t('not to be')['input_ids']) == 'not to be' and len(t) <= 1000")
        self.run_here("python3", "-c", check)


if __name__ == "__main__":
    unittest.main(verbosity=2)
