# SPDX-License-Identifier: BSL-1.0
"""A job of the Hugging Face Trainer for tests. usage: huggingface_job.py STEPS"""
import sys
import time

import torch
from transformers import Trainer, TrainingArguments

import ration.huggingface


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 2)

    def forward(self, x, labels):
        time.sleep(0.01)
        logits = self.layer(x)
        return {"loss": torch.nn.functional.cross_entropy(logits.view(-1, 2), labels.view(-1)), "logits": logits}


torch.manual_seed(1)
data = [{"x": torch.randn(8), "labels": torch.tensor(at % 2)} for at in range(64)]
args = TrainingArguments(output_dir=ration.huggingface.folder("out"), max_steps=int(sys.argv[1]), per_device_train_batch_size=4, logging_steps=1,
                         save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True)
trainer = Trainer(model=Model(), args=args, train_dataset=data, callbacks=[ration.huggingface.RationCallback()])
found = ration.huggingface.last_checkpoint(args.output_dir)
print(f"from={found}", flush=True)
trainer.train(resume_from_checkpoint=found)
print(f"done at {trainer.state.global_step}", flush=True)
