# SPDX-License-Identifier: BSL-1.0
"""The boundary between two steps, where all ranks learn together what ration asks, so that all of them do it at the same step."""
import atexit
import datetime
import os
import signal
import sys
import threading
import time

from ration import progress as progress_protocol

__all__ = ["Boundary", "side_group", "visible_devices"]

_groups = {}


def _distributed():
    module = sys.modules.get("torch.distributed")
    return module if module is not None and module.is_available() and module.is_initialized() else None


def side_group():
    """A gloo group of all ranks for small words on the side: it never waits for a GPU. Collective at the first call."""
    distributed = _distributed()
    world = distributed.group.WORLD
    if world not in _groups:
        _groups.clear()  # of a process group that was destroyed
        _groups[world] = distributed.new_group(backend="gloo", timeout=datetime.timedelta(days=7))
    return _groups[world]


@atexit.register  # before those of the boundaries, so that it is called after them
def _leave_groups():
    """Ends the threads of all process groups while the interpreter is whole: one of gloo's that lets go of a tensor later aborts the process.

    Not after an error: other ranks may wait, and NCCL would wait for them.
    """
    distributed = _distributed()
    if not _groups or getattr(sys, "last_value", None) is not None:
        return
    groups = [group for pair in _groups.items() for group in pair]
    _groups.clear()
    # PyTorch 2 before pytorch#154976 ends a group with the interpreter locked, and waits for threads that may wait for the lock; it ends a
    # backend that another object still holds without the lock.
    backends = [_cpu_backend(group) for group in groups]
    groups.clear()
    if distributed is not None:
        distributed.destroy_process_group()
    del backends


def _cpu_backend(group):
    """The part that computes on CPU tensors in a group, or None: PyTorch 1 has no such part, and NCCL's groups do not."""
    try:
        import torch  # pylint: disable=import-outside-toplevel

        return group._get_backend(torch.device("cpu"))  # pylint: disable=protected-access
    except (AttributeError, RuntimeError):
        return None


def visible_devices():
    """The names of the devices that this process sees, as ration names them; None: not known."""
    given = [name for name in os.environ.get("RATION_DEVICES", "").split(",") if name]
    if given and all(name.startswith("cpu-") for name in given):
        return given  # a share of a processor has no other name
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    uuids = [getattr(torch.cuda.get_device_properties(at), "uuid", None) for at in range(torch.cuda.device_count())]
    return None if None in uuids else ["GPU-%s" % uuid for uuid in uuids]


class Boundary:
    """One process's end of it. SIGTERM counts as a `stop`, so that a job can be stopped without ration too."""

    def __init__(self, rank, world, threads):
        self.progress = progress_protocol.open()
        self._rank, self._world = rank, world
        self._told = threading.Event()
        self._previous = None
        self._losses, self._reported_at = [], 0.0
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGTERM, lambda *_: self._told.set())
        atexit.register(self._at_exit)
        self.progress.listen()
        self.progress.hello(world=world, threads=threads, devices=visible_devices())

    def ask(self):
        """The same Command in every rank, or None. Collective."""
        return self._agree(self._own())

    def hold(self, seconds):
        """Waits for what comes after a save with `hold`; the same Command in every rank. Collective."""
        until = time.monotonic() + seconds
        command = self._own()
        while command is None and self._rank == 0 and time.monotonic() < until:
            command = self.progress.command(wait=min(0.2, seconds)) or self._own()  # a signal is looked for five times a second
        return self._agree(command or progress_protocol.Command("go", 0.0, False))

    def obey(self, save, saved):
        """Does what ration asks between two steps; True when all ranks are to stop. Collective.

        `save()`: makes this step's checkpoint durable, if it is not, and reports it; False when that failed. `saved()`: is it durable?
        """
        command = self.ask()
        while command is not None and command.kind != "go":
            durable = (command.kind == "save" or not saved()) and save()
            if command.kind == "stop":
                return True
            command = self.hold(command.by) if durable and command.hold else self.ask()
        return False

    def barrier(self):
        if self._world > 1:
            _distributed().barrier(group=side_group())

    def report(self, step, loss, total=None, batch=None):
        """Reports the loss of a step, a tensor perhaps. Reading one from a GPU waits for it: that is done as often as messages go out."""
        if self._rank != 0:
            return
        self._losses.append((step, loss, total, batch))
        now = time.monotonic()
        if getattr(getattr(loss, "device", None), "type", "cpu") == "cpu" or now - self._reported_at >= 0.2:
            self._report_all()
            self._reported_at = now

    def _report_all(self):
        for step, loss, total, batch in self._losses:
            self.progress.step(step, float(loss), total=total, batch=batch)
        self._losses.clear()

    def bye(self, exit_code=0, why=None):
        """The job ends; once, and for all ranks in the name of rank 0."""
        atexit.unregister(self._at_exit)
        if self._rank == 0:
            self._report_all()
            self.progress.bye(exit_code, why)
        self.close()

    def _at_exit(self):
        failed = getattr(sys, "last_value", None) is not None
        self.bye(int(failed), "error" if failed else "done")

    def release(self):
        """SIGTERM is again what it was before."""
        if self._previous is not None:
            signal.signal(signal.SIGTERM, self._previous)
            self._previous = None

    def close(self):
        self.release()
        self.progress.close()

    def _own(self):
        if self._rank != 0:
            return None
        if self._told.is_set():
            return progress_protocol.Command("stop", 0.0, False)
        return self.progress.command()

    def _agree(self, command):
        if self._world == 1:
            return command
        import torch  # pylint: disable=import-outside-toplevel

        kinds = (None, "save", "go", "stop")
        word = torch.zeros(3, dtype=torch.float64)
        if command is not None:
            word[0], word[1], word[2] = kinds.index(command.kind), command.by, command.hold
        _distributed().broadcast(word, src=0, group=side_group())
        kind = kinds[int(word[0])]
        return kind and progress_protocol.Command(kind, float(word[1]), bool(word[2]))
