# SPDX-License-Identifier: BSL-1.0
"""The Trainer of Hugging Face under ration:

    trainer = Trainer(..., args=TrainingArguments(output_dir=ration.huggingface.folder("out"), ...),
                      callbacks=[ration.huggingface.RationCallback()])
    trainer.train(resume_from_checkpoint=ration.huggingface.last_checkpoint(trainer.args.output_dir))

Reports the loss, lets the Trainer save when ration asks, and stops, by SystemExit(0) at the end of `train`.
"""
import os
import re
import time

import torch
from transformers import TrainerCallback

from ration import checkpoint
from ration.boundary import Boundary

__all__ = ["RationCallback", "folder", "last_checkpoint"]

_DURABLE = "ration-durable"  # a checkpoint that has this file is whole


def folder(otherwise):
    """For `output_dir`: the folder that ration gives for checkpoints (RATION_CHECKPOINT), or `otherwise` without ration."""
    return os.environ.get("RATION_CHECKPOINT") or otherwise


def last_checkpoint(output_dir):
    """The newest checkpoint that is known to be whole, for `resume_from_checkpoint`; None: begin again."""
    try:
        found = [(int(match[1]), match[0]) for match in map(re.compile(r"checkpoint-(\d+)").fullmatch, os.listdir(output_dir)) if match]
    except FileNotFoundError:
        return None
    whole = [(step, name) for step, name in found if os.path.exists(os.path.join(output_dir, name, _DURABLE))]
    return os.path.join(output_dir, max(whole)[1]) if whole else None


def _make_durable(path):
    """Brings every file below `path` to the disk, then marks it as whole."""
    for at, _, names in os.walk(path):
        for name in names:
            checkpoint.sync(os.path.join(at, name))
        checkpoint.sync(at)
    with open(os.path.join(path, _DURABLE), "wb") as mark:
        os.fsync(mark.fileno())
    checkpoint.sync(path)
    checkpoint.sync(os.path.dirname(path))


class RationCallback(TrainerCallback):
    """One for each Trainer. Checkpoints that the Trainer saves by itself are reported too."""

    def __init__(self):
        self._boundary = self._begin = self._command = None
        self._stopped = False

    def on_train_begin(self, args, state, control, **kwargs):
        if self._boundary is None:
            self._boundary = Boundary(args.process_index, args.world_size, torch.get_num_threads())
        self._boundary.progress.phase("train")

    def on_log(self, args, state, control, logs=None, **kwargs):
        logs = logs or {}
        if self._boundary is None or args.process_index != 0:
            return
        if "loss" in logs:
            self._boundary.report(state.global_step, logs["loss"], state.max_steps)
        for name, value in logs.items():
            if name.startswith("eval_") and isinstance(value, (int, float)):
                self._boundary.progress.eval(state.global_step, name[len("eval_"):], value)

    def on_step_end(self, args, state, control, **kwargs):
        self._begin = time.monotonic()
        self._command = self._boundary.ask()
        if self._command is not None and self._command.kind != "go":
            control.should_save = True  # and then on_save
            self._boundary.progress.phase("save")
        return control

    def on_save(self, args, state, control, **kwargs):
        """All files are written, by all ranks; now they become durable."""
        self._boundary.barrier()
        saved = [True]
        if args.process_index == 0:
            try:
                _make_durable(os.path.join(args.output_dir, "checkpoint-%d" % state.global_step))
            except OSError:
                saved[0] = False
        checkpoint.from_first(saved)
        self._say(args, state, saved[0])
        command, self._command = self._command, None
        while command is not None and command.kind == "save" and command.hold and saved[0]:
            command = self._boundary.hold(command.by)
            if command.kind == "save":
                self._say(args, state, True)
        if command is not None and command.kind == "stop":
            self._stopped = control.should_training_stop = True
        self._boundary.progress.phase("train")
        return control

    def on_train_end(self, args, state, control, **kwargs):
        if self._stopped:
            self._boundary.bye(0, "stop")
            raise SystemExit(0)
        self._boundary.release()

    def _say(self, args, state, saved):
        if args.process_index == 0:
            begin = self._begin if self._begin is not None else time.monotonic()
            self._boundary.progress.checkpoint(state.global_step, ok=saved, seconds=time.monotonic() - begin)
