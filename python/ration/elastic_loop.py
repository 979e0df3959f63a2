# SPDX-License-Identifier: BSL-1.0
"""A plain PyTorch training loop on as many devices as ration gives it, by five lines.

    run = ration.elastic(batch=512, seed=1)
    loader = DataLoader(dataset, batch_sampler=run.batches(len(dataset)))
    for images, labels in run.steps(loader, total=2000, model=model, optimizer=optimizer):
        optimizer.zero_grad()
        run.backward(loss_of(model(images), labels))
        optimizer.step()

The samples of each step are the same, and the update is that of the whole batch, on however many devices it is computed. The loop continues
where its checkpoint ends, saves and stops when ration asks, and leaves by SystemExit(0) when it is to stop.
"""
import os
import time
import warnings

from ration import checkpoint
from ration.boundary import Boundary, side_group

__all__ = ["elastic", "share"]

_BUCKET = 1 << 24  # elements that are reduced in one go


def elastic(batch=None, seed=0, folder=None, batch_per_rank=None):
    """Joins the ranks of this job (RANK, WORLD_SIZE; one process without them) and reports to ration that it runs.

    `batch`: samples per step over all ranks; what ration gives the job (RATION_BATCH) counts instead. `batch_per_rank`, instead of `batch`:
    samples per step of each rank, so that the whole batch follows the number of devices. `seed`: of the order of the
    samples. `folder`: for checkpoints where ration names none (RATION_CHECKPOINT); without either there are none.
    """
    if (batch is None) == (batch_per_rank is None):
        raise ValueError("the batch is given once: write batch=512 for all ranks together, or batch_per_rank=128 for each")
    return Elastic(batch or batch_per_rank * int(os.environ.get("WORLD_SIZE", 1)), seed, folder)


def share(batch, rank, world):
    """(first, count): which of a step's `batch` samples are this rank's. The first `batch % world` ranks have one more."""
    if not 0 <= rank < world:
        raise ValueError("rank %r is not one of %r" % (rank, world))
    count, more = divmod(batch, world)
    return rank * count + min(rank, more), count + (rank < more)


class _Batches:
    """The indices of this rank's samples, step by step without end: a batch sampler for torch.utils.data.DataLoader.

    Every pass over the data is shuffled again by the seed. A batch may reach over the end of a pass, so that all have the same size.
    """

    def __init__(self, run, samples):
        if samples < 1:
            raise ValueError("there are no samples")
        self._run, self._samples = run, samples

    def __iter__(self):
        at = self._run.position
        first, count = share(self._run.batch, self._run.rank, self._run.world)
        while True:
            yield [self._sample(at + first + offset) for offset in range(count)]
            at += self._run.batch

    def _sample(self, position):
        turn, place = divmod(position, self._samples)
        return self._order(turn)[place]

    def _order(self, turn):
        if turn != getattr(self, "_turn", None):
            import torch  # pylint: disable=import-outside-toplevel

            generator = torch.Generator().manual_seed((self._run.seed * 1000003 + turn) % 2**63)
            self._turn, self._shuffled = turn, torch.randperm(self._samples, generator=generator).tolist()
        return self._shuffled


class Elastic:
    """What `elastic` returns. `device`: this rank's; `rank`, `world`; `step`: how many are done; `position`: samples they have used;
    `epoch`: how many epochs are done, in a loop over `epochs`."""

    def __init__(self, batch, seed, folder):
        import torch  # pylint: disable=import-outside-toplevel

        self.rank, self.world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        self.batch = int(os.environ.get("RATION_BATCH") or batch)
        if self.batch < self.world:
            raise ValueError("a batch of %d has no sample for each of %d ranks: give the job fewer devices" % (self.batch, self.world))
        self.seed, self.step, self.position, self.epoch = seed, 0, 0, 0
        self.device = _device(torch)
        self._folder = os.environ.get("RATION_CHECKPOINT") or folder
        self._parts, self._loss, self._saved_at = {}, None, None
        self._is_finished = False
        if self.world > 1:
            _join(torch, self.device)
        self._boundary = Boundary(self.rank, self.world, torch.get_num_threads())
        self._progress = self._boundary.progress
        self._progress.phase("init")

    def want(self, devices):
        """Requests a number of devices for the job; 0 withdraws the request."""
        if self.rank == 0:
            self._progress.want(devices)

    def batches(self, samples):
        """A batch sampler over a data set of that many samples; without a DataLoader its lists of indices do for `steps` as well."""
        return _Batches(self, samples)

    def steps(self, batches, total, save_every=None, **parts):
        """Hands out this rank's batches until `total` steps are done, over all launches of the job.

        `parts`: what makes up the training's state, each with `state_dict` and `load_state_dict`: the model, the optimizer, a learning
        rate schedule. `save_every`: steps between checkpoints; without it one is written when ration asks.
        """
        taken = self._start(batches, parts)
        while self.step < total and not self._is_finished:
            mine = self._next_batch(taken)
            if mine is None:
                break
            yield mine
            self._end_step(total, save_every)
        self._boundary.release()

    def epochs(self, batches, samples, count, save_every=None, **parts):
        """Hands out (epoch, this rank's batches of that epoch) until `count` passes over `samples` are done, over all launches of the job.

            for epoch, loader in run.epochs(train_loader, len(train_set), 14, model=model, optimizer=optimizer):
                for images, labels in loader: ...
                run.evaluate("accuracy", correct, len(mine))

        Epochs count from 0, and a launch continues within the epoch where its checkpoint ends. `save_every` and `parts` are those of `steps`.
        Code behind the inner loop runs at the end of each epoch, also where a checkpoint of the epoch's last step is loaded. To leave the inner
        loop early, call `finish`.
        """
        taken = self._start(batches, parts)
        while self.epoch < count and not self._is_finished:
            end = (self.epoch + 1) * samples
            yield self.epoch, self._epoch(taken, end, count * samples, save_every)
            if self.position < end and not self._is_finished:
                raise RuntimeError("epoch %d: its batches are not used up; run through them, or call finish()" % self.epoch)
            self.epoch += 1
        self._boundary.release()

    def part(self, samples):
        """The indices of this rank's part of `samples` samples: all ranks together have each once. For an evaluation."""
        return range(self.rank, samples, self.world)

    def evaluate(self, metric, total, count):
        """The mean of a metric over the samples of all ranks, which is also reported to ration. In every rank.

        `total`: the sum over this rank's samples (see `part`), a number or a tensor; `count`: their number.
        """
        import torch  # pylint: disable=import-outside-toplevel

        both = torch.tensor([float(total), float(count)], dtype=torch.float64)
        if self.world > 1:
            torch.distributed.all_reduce(both, group=side_group())
        mean = float(both[0] / both[1])
        if self.rank == 0:
            self._progress.eval(self.step, metric, mean)
        return mean

    def _start(self, batches, parts):
        if {"random", "elastic"} & parts.keys():
            raise ValueError("ration's own parts of a checkpoint are called random and elastic: choose another name")
        if self._parts:
            raise RuntimeError("steps() and epochs() are the whole training: call one of them once, and evaluate inside its loop")
        self._parts = parts
        taken = self._begin(batches)
        self._progress.phase("train")
        return taken

    def _next_batch(self, taken):
        """The next batch, or None at the end of the data. Saves and leaves where ration has asked for it."""
        if self._boundary.obey(self.save, lambda: self._saved_at == self.step):
            self._boundary.bye(0, "stop")
            raise SystemExit(0)
        return next(taken, None)

    def _end_step(self, total, save_every):
        self.step += 1
        self.position += self.batch
        if self._loss is not None:
            self._boundary.report(self.step, self._loss, total, self.batch)
            self._loss = None
        if save_every and self.step % save_every == 0:
            self.save()

    def _epoch(self, taken, end, last, save_every):
        """The batches up to the position `end`; training ends at the position `last`."""
        while self.position < end and not self._is_finished:
            mine = self._next_batch(taken)
            if mine is None:
                raise RuntimeError("the loader ended within an epoch: make it with batch_sampler=run.batches(samples)")
            yield mine
            self._end_step(self.step + -(-(last - self.position) // self.batch), save_every)

    def finish(self):
        """This step is the last one, as at a loss that is low enough. In every rank at the same step: `backward` returns the same loss to all."""
        self._is_finished = True

    def backward(self, loss):
        """Adds the gradient of the whole batch's mean loss to the parameters of all models among the parts; that loss.

        `loss`: the mean over this rank's samples. Instead of `loss.backward()`, in every rank, as often as there are losses.
        """
        import torch  # pylint: disable=import-outside-toplevel

        weight = share(self.batch, self.rank, self.world)[1] / self.batch
        if self.world == 1:
            loss.backward()
            mean = loss.detach()
        elif any(_averages(part) for part in self._parts.values()):
            (loss * (weight * self.world)).backward()  # DistributedDataParallel takes the mean over the ranks
            mean = loss.detach() * weight
            torch.distributed.all_reduce(mean)
        else:
            mean = self._backward_and_sum(torch, loss * weight)
        self._loss = mean if self._loss is None else self._loss + mean
        return mean

    def save(self):
        """Writes a checkpoint, unless this step has one, and reports it to ration; True when it is durable. In every rank."""
        begin = time.monotonic()
        if self._saved_at != self.step:
            self._progress.phase("save")
            try:
                if not self._folder:
                    raise OSError("no folder for checkpoints: start the job by ration, or pass a folder to elastic()")
                place = {"step": self.step, "position": self.position, "epoch": self.epoch}
                checkpoint.save(self._folder, self.step, {**checkpoint.capture(**_inner(self._parts)), "elastic": place})
                self._saved_at = self.step
            except OSError as failure:
                if self.rank == 0:
                    warnings.warn(str(failure))
        done = self._saved_at == self.step
        if self.rank == 0:
            self._progress.checkpoint(self.step, ok=done, seconds=time.monotonic() - begin)
        self._progress.phase("train")
        return done

    def _begin(self, batches):
        """Where the last checkpoint ends, or the same beginning in all ranks."""
        self._progress.phase("load")
        found = checkpoint.load(self._folder) if self._folder else None
        if found:
            place = found.state["elastic"]
            self.step, self.position, self.epoch = place["step"], place["position"], place["epoch"]
            self._saved_at = self.step
        taken = iter(batches)  # draws a random number, so before the generators are put back
        if found:
            checkpoint.restore(found.state, **_inner(self._parts))
        elif self.world > 1:
            self._spread()
        return taken

    def _spread(self):
        import torch  # pylint: disable=import-outside-toplevel

        for model in self._models(torch):
            for tensor in [*model.parameters(), *model.buffers()]:
                torch.distributed.broadcast(tensor.data, src=0)
        if self.rank != 0:
            checkpoint.seed_rank(self.rank)

    def _models(self, torch):
        return [part for part in self._parts.values() if isinstance(part, torch.nn.Module)]

    def _backward_and_sum(self, torch, loss):
        """Sums the gradients of `loss` over the ranks, beside what earlier calls have left in the parameters."""
        parameters = [p for model in self._models(torch) for p in model.parameters() if p.requires_grad]
        before = [p.grad for p in parameters]
        for p in parameters:
            p.grad = None
        loss.backward()
        used = torch.tensor([float(p.grad is not None) for p in parameters])
        torch.distributed.all_reduce(used, group=side_group())  # on the side: no one waits for a GPU
        touched = [p for p, ranks in zip(parameters, used.tolist()) if ranks]
        for p in touched:
            if p.grad is None:  # the other ranks' samples have used it
                p.grad = torch.zeros_like(p)
        for bucket in _buckets(touched):
            flat = torch.cat([p.grad.reshape(-1) for p in bucket])
            torch.distributed.all_reduce(flat)
            for p, part in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad.copy_(part.view_as(p.grad))
        for p, old in zip(parameters, before):
            if old is not None:
                p.grad = old if p.grad is None else old.add_(p.grad)
        mean = loss.detach().clone()
        torch.distributed.all_reduce(mean)
        return mean


def _device(torch):
    given = [name for name in os.environ.get("RATION_DEVICES", "").split(",") if name]
    wanted = any(not name.startswith("cpu-") for name in given)
    if wanted and not torch.cuda.is_available():
        raise RuntimeError("ration has given this job %s, and PyTorch finds no CUDA: install a PyTorch for this driver" % ",".join(given))
    if not wanted and (given or not torch.cuda.is_available()):
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.set_device(device)
    return device


def _join(torch, device):
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    side_group()


def _averages(part):
    return type(part).__name__ == "DistributedDataParallel"


def _inner(parts):
    """A wrapped model is saved without its wrapper: a checkpoint does not depend on how it was trained."""
    return {name: part.module if _averages(part) else part for name, part in parts.items()}


def _buckets(parameters):
    """Groups of parameters of one type, each small enough to be copied."""
    groups, sizes = {}, {}
    for parameter in parameters:
        key = (parameter.dtype, parameter.device)
        if key in groups and sizes[key] + parameter.numel() > _BUCKET:
            yield groups.pop(key)
        if key not in groups:
            groups[key], sizes[key] = [], 0
        groups[key].append(parameter)
        sizes[key] += parameter.numel()
    yield from groups.values()
