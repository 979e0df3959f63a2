# SPDX-License-Identifier: BSL-1.0
"""As much of Lightning as ration.lightning touches: the order of the callbacks' hooks, for machines that have no Lightning."""
import torch


class LightningModule(torch.nn.Module):
    pass


class Trainer:
    global_rank, world_size, is_global_zero = 0, 1, True

    def __init__(self, max_steps, callbacks, **_):
        self.max_steps, self.global_step, self._callbacks, self._model = max_steps, 0, callbacks, None

    def fit(self, model, loader, ckpt_path=None):
        self._model = model
        optimizer = model.configure_optimizers()
        if ckpt_path:
            kept = torch.load(ckpt_path)
            self.global_step = kept["global_step"]
            model.load_state_dict(kept["state_dict"])
        self._call("on_train_start")
        while self.global_step < self.max_steps:
            for index, batch in enumerate(loader):
                loss = model.training_step(batch, index)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                self.global_step += 1
                self._call("on_train_batch_end", {"loss": loss.detach()}, batch, index)
                if self.global_step == self.max_steps:
                    break
        self._call("on_train_end")

    def save_checkpoint(self, path):
        torch.save({"global_step": self.global_step, "state_dict": self._model.state_dict()}, path)

    def _call(self, name, *more):
        for callback in self._callbacks:
            getattr(callback, name)(self, self._model, *more)
