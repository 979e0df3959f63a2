# SPDX-License-Identifier: BSL-1.0
"""Ray Tune trials whose GPUs, or CPUs, a policy of ration divides: they start, grow, shrink and wait as the policy decides.

    scheduler = RationScheduler("elastic_batch_dp", bounds=(1, 4), speedup=[0, 1, 1.9, 2.7, 3.4])
    tune.Tuner(tune.with_resources(train, {"cpu": 1, "gpu": 1}), tune_config=tune.TuneConfig(metric="loss", mode="min", scheduler=scheduler))

A trial changes its size at a report with a checkpoint: Tune pauses it, and starts it from that checkpoint on other devices. Needs Ray 2.60 or
later (`ray[tune]`) and the program `ration`. docs/cluster.md describes the use.
"""
import logging
import math
import time
from typing import NamedTuple

import ray
from ray.tune import PlacementGroupFactory
from ray.tune.experiment import Trial
from ray.tune.result import SHOULD_CHECKPOINT
from ray.tune.schedulers import TrialScheduler
from ray.tune.trainable import FunctionTrainable

from ration.decide import Decide, DecideError, amount_of, largest_parts

__all__ = ["RationScheduler"]

_log = logging.getLogger(__name__)
_NODE_LABEL = "ray.io/node-id"
_RESOURCES = {"GPU": ("gpu", 1), "CPU": ("cpu", 1000)}  # Ray's name: ration's name, and its units in one of Ray's
_OBJECTIVE = 2  # the tier of the last target
_NODES_AGE = 0.5  # seconds for which the list of nodes is used
_USUAL_RESTART = 5.0  # seconds that a restart is expected to cost until one was measured
_WORTHWHILE = 1.25  # a share without a limit grows only by this factor or more, because growth restarts the trial


class Placement(NamedTuple):
    """An amount in units of ration on one node; the amount can be infinite: no limit."""

    node: str
    amount: float


class _Member:
    """One trial: its reports, the grant of the policy, and the placement in which it runs or last ran."""

    def __init__(self, trial, now):
        self.trial = trial
        self.bundle = trial.placement_group_factory.bundles[0]
        self.arrived, self.started, self.seen = now, None, None
        self.paused = None  # the time of a pause that no report has followed
        self.granted = self.want = self.placement = None
        self.step = self.tier = self.restarts = 0
        self.attained = self.steps_per_second = 0.0

    @property
    def has_placement(self):
        return self.trial.status in (Trial.RUNNING, Trial.PENDING) and self.placement is not None

    @property
    def is_released(self):
        """The policy has taken everything from a trial at its last target."""
        return self.tier == _OBJECTIVE and self.want is None

    def report(self, step, now):
        """Takes one report. Returns the seconds that a restart has cost, if this is the first report after one."""
        cost = None
        if self.paused is not None:
            step_time = 1 / self.steps_per_second if self.steps_per_second else 0.0
            cost = max(0.0, now - self.paused - step_time)
            self.paused = None
        elif self.seen is not None and now > self.seen:
            self.steps_per_second = max(0, step - self.step) / (now - self.seen)
        since = self.started if cost is not None or self.seen is None else self.seen
        self.attained += self.placement.amount * (now - since)
        self.step, self.seen = step, now
        return cost


class RationScheduler(TrialScheduler):
    """A scheduler of Tune that asks `ration decide`.

    `policy`: the name of a policy, or the path of a plugin; `parameters`: {"POLICY.NAME": value}. `resource`: "GPU" or "CPU", of which a trial
    has from `bounds[0]` to `bounds[1]`, on one node. `speedup`: speed on 0, 1, ... GPUs relative to one. `targets`: the values of the metric at
    which a trial is acceptable, and at which it has reached its objective; a policy that releases a trial at its objective ends it. `tick`:
    seconds between two requests. `ration`: the program.

    A first request without an answer raises DecideError. After later ones the trials keep their sizes.
    """

    def __init__(self, policy, bounds=(1, math.inf), resource="GPU", speedup=None, targets=None, parameters=None, tick=2.0, ration="ration"):
        super().__init__()
        if resource not in _RESOURCES:
            raise ValueError(f"resource: Ray's {resource!r} is not divided by a policy; write 'GPU' or 'CPU'")
        if not 0 < bounds[0] <= bounds[1]:
            raise ValueError(f"bounds: {bounds!r} are not a least and a most amount; write for example bounds=(1, 4)")
        if targets is not None and len(targets) != _OBJECTIVE:
            raise ValueError(f"targets: {targets!r} are not two values; write for example targets=(0.1, 0.02)")
        self._resource, (self._name, self._units) = resource, _RESOURCES[resource]
        self._least, self._most = (bound * self._units for bound in bounds)
        self._speedup, self._targets, self._tick = speedup, targets, tick
        self._decide = Decide(policy, parameters, ration)
        self._policy = policy
        self._mode = "min"
        self._members = {}  # by trial id, in the order of arrival
        self._failed = set()
        self._start = time.monotonic()
        self._nodes, self._nodes_at = {}, -math.inf
        self._due, self._has_answer, self._problem = self._start, False, None
        self._restart_cost = _USUAL_RESTART

    def set_search_properties(self, metric, mode, **spec):
        self._mode = mode or self._mode
        return super().set_search_properties(metric, mode, **spec)

    def on_trial_add(self, tune_controller, trial):
        """Pauses the trial before Tune starts it: Tune starts pending trials without asking its scheduler."""
        if trial.status != Trial.PENDING and trial.status != Trial.PAUSED:
            return
        if len(trial.placement_group_factory.bundles) != 1:
            raise ValueError(f"trial {trial.trial_id}: has several bundles of resources; give it one by tune.with_resources")
        if trial.trial_id in self._failed:  # Tune has listed it as pending
            self._failed.discard(trial.trial_id)
            tune_controller._set_trial_status(trial, Trial.PAUSED)  # pylint: disable=protected-access
        else:
            trial.set_status(Trial.PAUSED)
        self._members[trial.trial_id] = _Member(trial, time.monotonic())
        self._due = time.monotonic()

    def on_trial_error(self, tune_controller, trial):
        self._failed.add(trial.trial_id)
        self._drop(trial)

    def on_trial_complete(self, tune_controller, trial, result):
        self._drop(trial)

    def on_trial_remove(self, tune_controller, trial):
        self._drop(trial)

    def _drop(self, trial):
        self._members.pop(trial.trial_id, None)
        self._due = time.monotonic()

    def on_trial_result(self, tune_controller, trial, result):
        member, now = self._members[trial.trial_id], time.monotonic()
        cost = member.report(result["training_iteration"], now)
        if cost is not None:
            self._restart_cost += (cost - self._restart_cost) / 4
        self._raise_tier(member, result)
        self._ask_when_due()
        if member.is_released:
            return TrialScheduler.STOP
        if member.want == member.placement or not _is_saved(trial, result) or not self._has_room(member):
            return TrialScheduler.CONTINUE
        member.paused = now
        member.restarts += 1
        return TrialScheduler.PAUSE

    def choose_trial_to_run(self, tune_controller):
        """The first paused trial whose devices are free. Only paused trials change: Tune cannot change one that it has staged."""
        self._ask_when_due()
        for member in list(self._members.values()):
            trial = member.trial
            if trial.status == Trial.PENDING and member.placement.node not in self._alive():
                self._withdraw(tune_controller, trial)
            if trial.status != Trial.PAUSED:
                continue
            if member.is_released:
                tune_controller.stop_trial(trial)
            elif member.want is not None and self._has_room(member):
                self._put(member)
                return trial
        return None

    def debug_string(self):
        placed = [member for member in self._members.values() if member.has_placement]
        amount = sum(member.placement.amount for member in placed) / self._units
        return f"ration, {self._policy}: {len(placed)} of {len(self._members)} trials have {amount:g} {self._resource}"

    def save(self, checkpoint_path):
        """Saves nothing: `Tuner.restore` adds the trials again, and the scheduler asks the policy again."""

    def restore(self, checkpoint_path):
        """Restores nothing, as `save` has saved nothing."""

    def _raise_tier(self, member, result):
        if self._targets is None or self._metric not in result:
            return
        sign = 1 if self._mode == "min" else -1
        reached = sum(sign * result[self._metric] <= sign * target for target in self._targets)
        if reached > member.tier:
            member.tier = reached
            self._due = time.monotonic()

    def _ask_when_due(self):
        now = time.monotonic()
        if now < self._due or not self._members:
            return
        self._due = now + self._tick
        nodes = {node: int(resources.get(self._resource, 0) * self._units) for node, resources in self._alive().items()}
        for member in self._members.values():  # a node that has gone holds nothing
            if member.want is not None and member.want.node not in nodes:
                member.granted = member.want = None
        try:
            answer = self._decide.ask(**self._request(nodes, now))
        except DecideError as problem:
            if not self._has_answer:
                raise
            self._warn(str(problem))
            return
        self._has_answer = True
        self._take(answer["grants"], nodes)

    def _warn(self, problem):
        if problem != self._problem:
            _log.warning("%s. The trials keep their sizes.", problem)
        self._problem = problem

    def _alive(self):
        """The resources of each node that is alive, in Ray's names and units."""
        if time.monotonic() > self._nodes_at + _NODES_AGE:
            self._nodes = {node["NodeID"]: node["Resources"] for node in ray.nodes() if node["Alive"]}
            self._nodes_at = time.monotonic()
        return self._nodes

    def _request(self, nodes, now):
        members = self._members.values()
        held = [{"job": m.trial.trial_id, "node": m.granted.node, "resource": self._name,
                 "amount": "unlimited" if math.isinf(m.granted.amount) else m.granted.amount} for m in members if m.granted is not None]
        return {"t": self._nanoseconds(now), "nodes": [{"id": node, f"capacity.{self._name}": amount} for node, amount in nodes.items()],
                "jobs": [self._row(member, max(nodes.values(), default=0)) for member in members], "held": held}

    def _row(self, member, largest_node):
        is_running = member.granted is not None or self._resource == "CPU"  # policies of CPU divide it among running jobs
        row = {"id": member.trial.trial_id, "state": "running" if is_running else "queued",
               "submitted": self._nanoseconds(member.arrived), "started": -1 if member.started is None else self._nanoseconds(member.started),
               "step": member.step, "tier": member.tier, "tiers": len(self._targets or ()), "restarts": member.restarts,
               f"min.{self._name}": int(self._least), f"max.{self._name}": int(min(self._most, largest_node)),
               f"request.{self._name}": int(member.bundle.get(self._resource, 0) * self._units),
               f"used.{self._name}": member.placement.amount if member.has_placement else 0,
               "attained": member.attained / self._units, "restart_cost": self._restart_cost, "measured_steps_per_second": member.steps_per_second}
        if self._speedup is not None:
            row.update(speedup=list(self._speedup), batch=[1] * len(self._speedup))  # without "max.batch", it stays the trial's own
        return row

    def _nanoseconds(self, moment):
        return int((moment - self._start) * 1e9)

    def _take(self, grants, nodes):
        """Sets the wanted placement of each trial. A grant on several nodes counts with its largest part, if that is enough: a trial runs on one."""
        for trial_id, grant in largest_parts(grants, self._name).items():
            placement = Placement(grant["node"], amount_of(grant))
            self._members[trial_id].granted = placement if placement.amount >= self._least else None
        for node, capacity in nodes.items():
            self._share(capacity, [m for m in self._members.values() if m.granted is not None and m.granted.node == node])
        for member in self._members.values():
            if member.granted is None:
                member.want = None

    def _share(self, capacity, members):
        """Trials without a limit divide the rest of their node; Ray needs an amount of each."""
        free = [member for member in members if math.isinf(member.granted.amount)]
        rest = capacity - sum(member.granted.amount for member in members if member not in free)
        for member in members:
            if member not in free:
                member.want = member.granted
                continue
            amount = int(min(max(rest // len(free), self._least), self._most, capacity))
            want, old = Placement(member.granted.node, amount), member.want
            if old is None or old.node != want.node or not old.amount <= want.amount < old.amount * _WORTHWHILE:
                member.want = want

    def _bundle(self, member, placement):
        return {**member.bundle, self._resource: placement.amount / self._units}

    def _has_room(self, member):
        """Whether the wanted resources are free on the node; those of the trial itself count as free. Otherwise Ray waits without a limit."""
        if member.want is None:
            return True
        if member.want.node not in self._alive():
            return False
        free = dict(self._alive()[member.want.node])
        for other in self._members.values():
            if other is not member and other.has_placement and other.placement.node == member.want.node:
                for name, amount in self._bundle(other, other.placement).items():
                    free[name] = free.get(name, 0) - amount
        return all(free.get(name, 0) + 1e-6 >= amount for name, amount in self._bundle(member, member.want).items())

    def _put(self, member):
        """Gives a paused trial the resources of its next start, on the node that the policy has named."""
        member.placement = member.want
        member.started = time.monotonic()
        member.trial.placement_group_factory = None
        member.trial.update_resources(PlacementGroupFactory([self._bundle(member, member.placement)],
                                                            bundle_label_selector=[{_NODE_LABEL: member.placement.node}]))

    @staticmethod
    def _withdraw(tune_controller, trial):
        """Takes back the start of a trial whose node has gone before it ran. Otherwise Ray waits for that node without a limit."""
        tune_controller.pause_trial(trial, should_checkpoint=False)
        tune_controller._unstage_trial_with_resources(trial)  # pylint: disable=protected-access


def _is_saved(trial, result):
    """Whether a pause after this report loses no step. A function saves when it reports a checkpoint, a class whenever Tune asks."""
    return bool(result.get(SHOULD_CHECKPOINT)) or not issubclass(trial.get_trainable_cls(), FunctionTrainable)
