# SPDX-License-Identifier: BSL-1.0
"""A job of Lightning for tests. usage: lightning_job.py STEPS"""
import os
import sys
import time

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

import ration.lightning


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 2)

    def training_step(self, batch, _):
        time.sleep(0.01)
        return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


torch.manual_seed(1)
loader = DataLoader(TensorDataset(torch.randn(64, 8), torch.arange(64) % 2), batch_size=4)
trainer = lightning.Trainer(max_steps=int(sys.argv[1]), callbacks=[ration.lightning.Ration()], accelerator="cpu", devices=1, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
found = ration.lightning.last_checkpoint()
print(f"from={found and os.path.basename(found)}", flush=True)
trainer.fit(Model(), loader, ckpt_path=found)
print(f"done at {trainer.global_step}", flush=True)
