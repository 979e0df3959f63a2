# SPDX-License-Identifier: BSL-1.0
"""A PyTorch training loop under `ration run` delivers its model at Acceptable: the kept checkpoint loads, and is as good as it has to be."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
try:
    import torch
except ImportError:
    print("no PyTorch")
    sys.exit(77)
sys.path.insert(0, str(PACKAGE))
from ration import checkpoint  # noqa: E402

ACCEPTABLE, OBJECTIVE = 0.5, 0.05
# Linear regression: the loss falls from about 4 to 0 within some hundred steps.
TRAINER = """
import time, torch, ration
torch.manual_seed(1)
inputs = torch.randn(256, 4)
wanted = inputs @ torch.tensor([[1.0], [-1.0], [1.0], [-1.0]])
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
run = ration.elastic(batch=64, seed=1)
for indices in run.steps(run.batches(256), total=4000, model=model, optimizer=optimizer):
    optimizer.zero_grad()
    run.backward(((model(inputs[indices]) - wanted[indices]) ** 2).mean())
    optimizer.step()
    time.sleep(0.01)
"""
JOBS = """policy = "tradl"
cpus = 1
tick = "200ms"
[[job]]
name = "fit"
command = [{python}, "train.py"]
environment = {{ PYTHONPATH = {package} }}
on_acceptable = "save"
target = {{ loss = {{ acceptable = {acceptable}, objective = {objective}, mean_of = 5 }} }}
"""


class Delivery(unittest.TestCase):
    def test_the_kept_model_is_acceptable_and_the_job_goes_on_to_its_objective(self) -> None:
        with tempfile.TemporaryDirectory(prefix="ration-test-") as place:
            folder = pathlib.Path(place)
            (folder / "train.py").write_text(TRAINER)
            (folder / "jobs.toml").write_text(JOBS.format(python=json.dumps(sys.executable), package=json.dumps(str(PACKAGE)), acceptable=ACCEPTABLE, objective=OBJECTIVE))
            done = subprocess.run([os.environ["RATION_PROGRAM"], "run", "jobs.toml", "--log", "log.jsonl"], cwd=folder, capture_output=True, text=True,
                                  env=dict(os.environ, XDG_RUNTIME_DIR=place), timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
            (delivered,) = [e for e in events if e["event"] == "delivered"]
            acceptable, objective = [e["step"] for e in events if e["event"] == "tier_reached"]
            self.assertLessEqual(acceptable, delivered["step"])
            self.assertLess(delivered["step"], objective)
            found = checkpoint.load(delivered["folder"])
            self.assertEqual(found.step, delivered["step"])
            model = torch.nn.Linear(4, 1)
            model.load_state_dict(found.state["model"])
            torch.manual_seed(1)
            inputs = torch.randn(256, 4)
            loss = ((model(inputs) - inputs @ torch.tensor([[1.0], [-1.0], [1.0], [-1.0]])) ** 2).mean().item()
            self.assertLess(loss, 1.5 * ACCEPTABLE)  # over all samples; the tier is on the mean of five steps
            self.assertGreater(loss, OBJECTIVE)
            self.assertGreater(checkpoint.load(folder / "ration-output" / "latest" / "fit.checkpoint").step, delivered["step"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
