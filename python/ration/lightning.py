# SPDX-License-Identifier: BSL-1.0
"""Lightning under ration:

    trainer = lightning.Trainer(callbacks=[ration.lightning.Ration()], ...)
    trainer.fit(model, loader, ckpt_path=ration.lightning.last_checkpoint())

Reports the loss, saves when ration asks and stops, by SystemExit(0). Checkpoints are in the folder that ration gives (RATION_CHECKPOINT).
"""
import os
import time
import warnings

import torch

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:  # its name before 2.0
    from pytorch_lightning.callbacks import Callback

from ration import checkpoint
from ration.boundary import Boundary

__all__ = ["Ration", "last_checkpoint"]


def last_checkpoint(folder=None):
    """The path of the newest whole checkpoint, for `ckpt_path`; None when there is none, or not under ration."""
    folder = os.environ.get("RATION_CHECKPOINT") or folder
    found = checkpoint.newest(folder) if folder else None
    return found and found[1]


class Ration(Callback):
    """`folder`: for checkpoints where ration names none."""

    def __init__(self, folder=None):
        self._folder = os.environ.get("RATION_CHECKPOINT") or folder
        self._boundary = self._saved_at = None

    def on_train_start(self, trainer, pl_module):
        if self._boundary is None:
            self._boundary = Boundary(trainer.global_rank, trainer.world_size, torch.get_num_threads())
        self._boundary.progress.phase("train")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None:
            total = trainer.max_steps if trainer.max_steps > 0 else None
            self._boundary.report(trainer.global_step, loss.detach(), total)
        if self._boundary.obey(lambda: self._save(trainer), lambda: self._saved_at == trainer.global_step):
            self._boundary.bye(0, "stop")
            raise SystemExit(0)

    def on_validation_start(self, trainer, pl_module):
        if self._boundary is not None:
            self._boundary.progress.phase("eval")

    def on_validation_end(self, trainer, pl_module):
        if self._boundary is not None:
            self._boundary.progress.phase("train")

    def on_train_end(self, trainer, pl_module):
        self._boundary.release()

    def _save(self, trainer):
        begin, step, progress = time.monotonic(), trainer.global_step, self._boundary.progress
        if self._saved_at != step:
            progress.phase("save")
            self._write(trainer, step)
            progress.phase("train")
        if trainer.is_global_zero:
            progress.checkpoint(step, ok=self._saved_at == step, seconds=time.monotonic() - begin)
        return self._saved_at == step

    def _write(self, trainer, step):
        """In every rank, for a strategy may write a part in each; on_save_checkpoint runs before the file is durable."""
        outcome = [None]
        try:
            if not self._folder:
                raise OSError("no folder for checkpoints: start the job by ration, or pass a folder to Ration()")
            path = os.path.join(self._folder, "writing.lightning.tmp")
            trainer.save_checkpoint(path)
            self._boundary.barrier()
            if trainer.is_global_zero:
                if not os.path.isfile(path):
                    raise OSError("%s is not a file: use a strategy that writes a checkpoint in one piece" % path)
                checkpoint.add(self._folder, step, path)
        except OSError as failure:
            outcome[0] = str(failure)
            warnings.warn("cannot write a checkpoint: %s" % failure)
        checkpoint.from_first(outcome)
        if outcome[0] is None:
            self._saved_at = step
