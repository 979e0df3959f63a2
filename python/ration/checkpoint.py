# SPDX-License-Identifier: BSL-1.0
"""Checkpoints that survive a crash at any moment.

    path = checkpoint.save(folder, step, checkpoint.capture(model=model, optimizer=optimizer))
    found = checkpoint.load(folder)
    if found:
        checkpoint.restore(found.state, model=model, optimizer=optimizer)

A file `step-000000001200.0123456789abcdef.pt` is what torch.save wrote; the 16 digits are the beginning of its SHA-256. It gets this name
once its bytes are on the disk, so a file of that name is whole, and one that was damaged later is known by its digits. The newest two are
kept. With torch.distributed at work every rank has to call `save` and `load`: rank 0 writes, and all wait for it and load the same file.

A checkpoint is a pickle: load only what your own jobs have written.
"""
import collections
import hashlib
import os
import random
import re
import sys
import warnings

__all__ = ["Found", "capture", "restore", "save", "load", "add", "newest"]

_NAME = re.compile(r"step-(\d{12,20})\.([0-9a-f]{16})\.pt")

Found = collections.namedtuple("Found", "step state path")


class _Hashed:
    """A file that computes the digest of what was written to it, and keeps a failure to itself: torch.save would end the process."""

    def __init__(self, file):
        self._file = file
        self.digest = hashlib.sha256()
        self.failure = None

    def write(self, data):
        if self.failure is None:
            self.digest.update(data)
            try:
                self._file.write(data)
            except OSError as failure:
                self.failure = failure
        return len(data)

    def flush(self):
        pass  # by the owner of the file, who can bear a failure


def capture(**parts):
    """The state of everything named (whatever has a `state_dict`), and of the random generators of all ranks."""
    state = {name: part.state_dict() for name, part in parts.items()}
    state["random"] = _from_all(_random_state())
    return state


def restore(state, **parts):
    """Puts back what `capture` took. A rank that was not there then gets its own random generators, made from the others'."""
    for name, part in parts.items():
        if name not in state:
            raise KeyError("the checkpoint has no %r: it has %s" % (name, ", ".join(sorted(state))))
        part.load_state_dict(state[name])
    states, rank = state["random"], _rank()
    _set_random_state(states[min(rank, len(states) - 1)])
    if rank >= len(states):
        seed_rank(rank)


def save(folder, step, state):
    """Writes a checkpoint; its path, once it is durable. Raises OSError in every rank when rank 0 could not write it.

    A crash at any moment leaves this checkpoint or the one before it.
    """
    outcome = [None, None]
    if _rank() == 0:
        try:
            outcome[0] = _write(folder, step, state)
        except OSError as failure:
            outcome[1] = "cannot write a checkpoint in %s: %s; the one before it is kept" % (folder, failure)
    from_first(outcome)
    if outcome[1] is not None:
        raise OSError(outcome[1])
    return outcome[0]


def load(folder):
    """The newest whole checkpoint of the folder as Found(step, state, path), or None. A damaged one is passed over with a warning."""
    import torch  # pylint: disable=import-outside-toplevel

    chosen = newest(folder)
    if chosen is None:
        return None
    step, path = chosen
    # Not weights only: a learning rate schedule and an optimizer keep objects of their own.
    extra = {"weights_only": False} if _version(torch) >= (1, 13) else {}
    return Found(step, torch.load(path, map_location="cpu", **extra), path)


def newest(folder):
    """(step, path) of what `load` would load, or None."""
    chosen = [_newest_whole(folder) if _rank() == 0 else None]
    from_first(chosen)
    return chosen[0]


def add(folder, step, path):
    """Makes a checkpoint of a file in the folder that another library has written; its new path, once it is durable. In one rank."""
    with open(path, "rb") as file:
        digest = _digest_of(file)
        os.fsync(file.fileno())
    return _publish(folder, step, path, digest)


def _version(torch):
    return tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])


def _write(folder, step, state):
    import torch  # pylint: disable=import-outside-toplevel

    os.makedirs(folder, mode=0o700, exist_ok=True)
    temporary = os.path.join(folder, "writing.%d.tmp" % os.getpid())
    try:
        with open(temporary, "wb") as file:
            hashed = _Hashed(file)
            torch.save(state, hashed)
            if hashed.failure:
                raise hashed.failure
            file.flush()
            os.fsync(file.fileno())
        return _publish(folder, step, temporary, hashed.digest)
    except BaseException:
        _remove(temporary)
        raise


def _publish(folder, step, temporary, digest):
    """Gives its name to a file whose bytes are on the disk."""
    name = "step-%012d.%s.pt" % (step, digest.hexdigest()[:16])
    os.rename(temporary, os.path.join(folder, name))
    sync(folder)
    _remove_older(folder, name)
    return os.path.join(folder, name)


def _digest_of(file):
    digest = hashlib.sha256()
    for block in iter(lambda: file.read(1 << 20), b""):
        digest.update(block)
    return digest


def sync(path):
    """Makes durable what a file holds, or which files a folder has."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _listed(folder):
    """(step, name) of each file that is named like a checkpoint, newest first."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(((int(match[1]), match[0]) for match in map(_NAME.fullmatch, names) if match), reverse=True)


def _remove_older(folder, newest):
    """Keeps the one just written and the one before it. One of a later step is damaged: otherwise it would have been loaded."""
    step = int(_NAME.fullmatch(newest)[1])
    before = [name for at, name in _listed(folder) if at < step]
    for _, name in _listed(folder):
        if name != newest and name not in before[:1]:
            _remove(os.path.join(folder, name))
    for name in os.listdir(folder):
        if name.startswith("writing.") and name.endswith(".tmp"):  # of one that was killed
            _remove(os.path.join(folder, name))


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def _newest_whole(folder):
    for step, name in _listed(folder):
        path = os.path.join(folder, name)
        try:
            with open(path, "rb") as file:
                digest = _digest_of(file)
        except OSError as failure:
            warnings.warn("the checkpoint %s cannot be read (%s): the one before it is used" % (path, failure))
            continue
        if digest.hexdigest()[:16] == _NAME.fullmatch(name)[2]:
            return step, path
        warnings.warn("the checkpoint %s is damaged: the one before it is used" % path)
    return None


def _random_state():
    import torch  # pylint: disable=import-outside-toplevel

    state = {"python": random.getstate(), "torch": torch.get_rng_state()}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        state["numpy"] = numpy.random.get_state()
    if torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def _set_random_state(state):
    import torch  # pylint: disable=import-outside-toplevel

    random.setstate(state["python"])
    torch.set_rng_state(state["torch"])
    if "numpy" in state and sys.modules.get("numpy") is not None:
        sys.modules["numpy"].random.set_state(state["numpy"])
    if "cuda" in state and torch.cuda.is_initialized():
        torch.cuda.set_rng_state(state["cuda"])


def seed_rank(rank):
    """Gives this rank its own random generators, which the present ones and the rank decide."""
    import torch  # pylint: disable=import-outside-toplevel

    seed = hashlib.sha256(bytes(torch.get_rng_state().tolist()) + b"%d" % rank).digest()
    number = int.from_bytes(seed[:8], "little") >> 1
    random.seed(number)
    torch.manual_seed(number)  # and CUDA's
    if sys.modules.get("numpy") is not None:
        sys.modules["numpy"].random.seed(number % 2**32)


# The rest is collective where torch.distributed is at work, and does nothing otherwise.
def _distributed():
    module = sys.modules.get("torch.distributed")
    return module if module is not None and module.is_available() and module.is_initialized() else None


def _rank():
    distributed = _distributed()
    return distributed.get_rank() if distributed else 0


def from_first(values):
    """Puts rank 0's values into the list of every rank."""
    distributed = _distributed()
    if distributed and distributed.get_world_size() > 1:
        from ration.boundary import side_group  # pylint: disable=import-outside-toplevel

        distributed.broadcast_object_list(values, src=0, group=side_group())


def _from_all(value):
    """The values of all ranks, in their order."""
    distributed = _distributed()
    if not distributed or distributed.get_world_size() == 1:
        return [value]
    from ration.boundary import side_group  # pylint: disable=import-outside-toplevel

    values = [None] * distributed.get_world_size()
    distributed.all_gather_object(values, value, group=side_group())
    return values
