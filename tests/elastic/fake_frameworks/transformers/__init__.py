# SPDX-License-Identifier: BSL-1.0
"""As much of transformers as ration.huggingface touches: the order of the Trainer's callbacks, for machines that have no transformers."""
import os
import types

import torch


class TrainerCallback:
    def on_train_begin(self, *_, **__): ...
    def on_train_end(self, *_, **__): ...
    def on_step_end(self, *_, **__): ...
    def on_save(self, *_, **__): ...
    def on_log(self, *_, **__): ...


class TrainingArguments(types.SimpleNamespace):
    process_index = int(os.environ.get("RANK", 0))
    world_size = int(os.environ.get("WORLD_SIZE", 1))


class Trainer:
    def __init__(self, model, args, train_dataset, callbacks):
        self.model, self.args, self._data, self._callbacks = model, args, train_dataset, callbacks
        self.state = types.SimpleNamespace(global_step=0, max_steps=args.max_steps, is_world_process_zero=args.process_index == 0)
        self.control = types.SimpleNamespace(should_save=False, should_training_stop=False)
        self._optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def train(self, resume_from_checkpoint=None):
        if resume_from_checkpoint:
            self.state.global_step = int(resume_from_checkpoint.rpartition("-")[2])
            self.model.load_state_dict(torch.load(os.path.join(resume_from_checkpoint, "model.bin")))
        self._call("on_train_begin")
        while self.state.global_step < self.args.max_steps and not self.control.should_training_stop:
            loss = self.model(**self._data[self.state.global_step % len(self._data)])["loss"]
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
            self.state.global_step += 1
            self._call("on_step_end")
            self._call("on_log", logs={"loss": loss.item()})
            if self.control.should_save:
                self._save()
        self._call("on_train_end")

    def _save(self):
        self.control.should_save = False
        path = os.path.join(self.args.output_dir, f"checkpoint-{self.state.global_step}")
        os.makedirs(path, exist_ok=True)
        if self.args.process_index == 0:
            torch.save(self.model.state_dict(), os.path.join(path, "model.bin"))
        self._call("on_save")

    def _call(self, name, **more):
        for callback in self._callbacks:
            getattr(callback, name)(self.args, self.state, self.control, **more)
