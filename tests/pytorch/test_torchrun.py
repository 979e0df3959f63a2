# SPDX-License-Identifier: BSL-1.0
"""torchrun starts the ranks of a job on two nodes: it grows from one node to two and shrinks back, and its losses are those of one process.

RATION_PROGRAM and RATION_BREATHER name the program and a policy that resizes the job.
"""
import json
import os
import subprocess
import sys

import support

sys.path.insert(0, str(support.ROOT / "tests" / "nodes"))
from nodes_case import Nodes  # noqa: E402

STEPS = 70
SCRIPT = """import os, time
import torch
import ration

torch.manual_seed(1)
inputs = torch.randn(256, 4, dtype=torch.double)
targets = inputs @ torch.tensor([1.0, -2.0, 3.0, 0.5], dtype=torch.double)
model = torch.nn.Linear(4, 1, bias=False).double()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
run = ration.elastic(batch=48, seed=1, folder="alone")
samples = torch.utils.data.TensorDataset(inputs, targets)
loader = torch.utils.data.DataLoader(samples, batch_sampler=run.batches(len(samples)))
for given, wanted in run.steps(loader, total={steps}, model=model, optimizer=optimizer):
    loss = torch.nn.functional.mse_loss(model(given).squeeze(1), wanted)
    optimizer.zero_grad()
    mean = run.backward(loss)
    optimizer.step()
    if os.environ.get("RANK", "0") == "0":
        with open("losses", "a") as out:
            print(float(mean), file=out)
    time.sleep(0.03)
"""
# PyTorch 1.13 on Python 3.11, as in Debian 12, needs another value of redirects and tee than the default 0
COMMAND = [sys.executable, "-m", "torch.distributed.run", "--nnodes={nodes}", "--node_rank={node_rank}", "--nproc_per_node={devices}",
           "--rdzv_endpoint={master}", "--redirects=1", "--tee=1", "train.py"]
PYTHON_PATH = str(support.ROOT / "python")
JOB = f"""
[[job]]
name = "a"
command = {json.dumps(COMMAND)}
nodes = 2
checkpoint = "saved"
environment = {{ PYTHONPATH = "{PYTHON_PATH}", OMP_NUM_THREADS = "1" }}
target = {{ loss = {{ objective = 1e-9 }} }}
bounds = {{ gpu = {{ min = 1, max = 4 }} }}
deadlines = {{ save = "60s", stop = "60s", start = "120s" }}
"""


class TorchrunTest(Nodes):
    def losses(self) -> list[float]:
        return [float(line) for line in (self.folder / "work" / "losses").read_text().splitlines()]

    def test_the_loss_is_continuous_over_a_resize_from_one_node_to_two(self) -> None:
        work = self.folder / "work"
        (work / "train.py").write_text(SCRIPT.format(steps=STEPS))
        self.start(JOB, "--policy", os.environ["RATION_BREATHER"])
        self.finish()
        starts = [(event["incarnation"], event["devices"].split(",")) for event in self.events("job_started")]
        self.assertEqual(sorted((number, len(devices)) for number, devices in starts), [(1, 2), (2, 2), (2, 2), (3, 2)], starts)
        self.assertEqual(len({devices[0].split(":")[0] for number, devices in starts if number == 2}), 2, "incarnation 2 is on both nodes")
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["finished"])
        self.assertEqual(self.events("warning"), [])
        resized = self.losses()
        (work / "losses").unlink()
        subprocess.run([sys.executable, "train.py"], cwd=work, env={**os.environ, "PYTHONPATH": PYTHON_PATH}, check=True)
        self.assertEqual(len(resized), STEPS, "each step once")
        for step, (loss, expected) in enumerate(zip(resized, self.losses(), strict=True), 1):
            self.assertAlmostEqual(loss, expected, 5, f"step {step}")


if __name__ == "__main__":
    support.run_tests()
