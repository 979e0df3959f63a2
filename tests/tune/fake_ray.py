# SPDX-License-Identifier: BSL-1.0
"""The part of Ray that ration.tune uses, without processes and with a simulated clock. cluster.sh runs the same scheduler with the real Ray.

`install()` puts the modules in place before ration.tune is imported. `Tune` has three properties of Ray 2.60's TuneController: it starts pending
trials without its scheduler, it fails if a staged trial changes, and it waits without a limit for resources that do not fit.
"""
import sys
import types

START, STOP = 0.5, 0.1  # seconds from resources to the first step, and from a pause to free resources
GPU_NODE = {"CPU": 4.0, "GPU": 2.0}


class PlacementGroupFactory:
    def __init__(self, bundles: list, bundle_label_selector: list | None = None) -> None:
        self.bundles, self.selector = bundles, bundle_label_selector


class FunctionTrainable:
    """A trainable that is a function."""


class Trial:
    PENDING, RUNNING, PAUSED, TERMINATED, ERROR = "PENDING", "RUNNING", "PAUSED", "TERMINATED", "ERROR"

    def __init__(self, trial_id: str, steps: int, bundle: dict, saves: bool = True, loss: object = lambda step: 1 / step) -> None:
        self.trial_id, self.steps, self.saves, self.loss = trial_id, steps, saves, loss
        self.placement_group_factory: PlacementGroupFactory | None = PlacementGroupFactory([bundle])
        self.status, self.step, self.saved, self.executed = self.PENDING, 0, 0, 0
        self.is_staged, self.node, self.ready_at, self.next_step, self.waited = False, "", 0.0, 0.0, 0.0
        self.sizes: list[float] = []  # of each start

    def set_status(self, status: str) -> None:
        self.status = status

    def update_resources(self, resources: PlacementGroupFactory) -> None:
        if self.status == self.RUNNING:
            raise ValueError("Cannot update resources while Trial is running.")
        if self.is_staged:
            raise IndexError("a staged trial has changed")  # as the object cache of Tune does
        self.placement_group_factory = resources

    def get_trainable_cls(self) -> type:
        return FunctionTrainable

    @property
    def bundle(self) -> dict:
        return self.placement_group_factory.bundles[0]


class TrialScheduler:
    CONTINUE, PAUSE, STOP = "CONTINUE", "PAUSE", "STOP"
    _metric = None

    def set_search_properties(self, metric: str, mode: str, **_: object) -> bool:
        self._metric = metric
        return bool(mode)


class Tune:
    """The controller, its cluster, and its clock."""

    def __init__(self, scheduler: object, nodes: dict, clock: "Clock") -> None:
        self.scheduler, self.nodes, self.clock = scheduler, nodes, clock
        self.trials: list[Trial] = []
        self.leaving: list = []  # (time, node, bundle) of stopped actors
        self.longest_wait = 0.0  # seconds for resources that Tune had asked for
        scheduler.set_search_properties("loss", "min")
        sys.modules["ray"].nodes = lambda: [{"NodeID": name, "Alive": True, "Resources": resources} for name, resources in self.nodes.items()]

    def add(self, *trials: Trial) -> None:
        for trial in trials:
            self.trials.append(trial)
            self.scheduler.on_trial_add(self, trial)

    def pause_trial(self, trial: Trial, should_checkpoint: bool = True) -> None:
        assert not should_checkpoint
        trial.status = Trial.PAUSED

    def stop_trial(self, trial: Trial) -> None:
        self.scheduler.on_trial_remove(self, trial)
        trial.status = Trial.TERMINATED

    def _set_trial_status(self, trial: Trial, status: str) -> None:
        trial.status = status

    def _unstage_trial_with_resources(self, trial: Trial) -> None:
        assert trial.is_staged
        trial.is_staged = False

    def lose(self, node: str) -> None:
        """The node is gone; Tune starts its trials again from their checkpoints (max_failures)."""
        del self.nodes[node]
        for trial in list(self.trials):
            if trial.status == Trial.RUNNING and trial.node == node:
                self.scheduler.on_trial_error(self, trial)
                trial.status = Trial.PENDING
                trial.step = trial.saved
                self.scheduler.on_trial_add(self, trial)

    def run(self, seconds: float) -> None:
        end = self.clock.now + seconds
        while self.clock.now < end and any(trial.status not in (Trial.TERMINATED, Trial.ERROR) for trial in self.trials):
            self._turn()
            self.clock.now += 0.05

    def _turn(self) -> None:
        chosen = self.scheduler.choose_trial_to_run(self)
        if chosen is not None:
            assert chosen.status == Trial.PAUSED, chosen.status
            chosen.status = Trial.PENDING
        for trial in self.trials:
            if trial.status == Trial.PENDING:
                self._start(trial)
        self.leaving = [entry for entry in self.leaving if entry[0] > self.clock.now]
        for trial in self.trials:
            if trial.status == Trial.RUNNING and trial.next_step <= self.clock.now:
                self._step(trial)

    def _free(self, node: str) -> dict:
        free = dict(self.nodes[node])
        taken = [trial.bundle for trial in self.trials if trial.node == node and (trial.status == Trial.RUNNING or trial.ready_at)]
        for bundle in taken + [bundle for _, at, bundle in self.leaving if at == node]:
            for name, amount in bundle.items():
                free[name] -= amount
        assert min(free.values()) > -1e-6, f"{node} has more than it has: {free}"
        return free

    def _start(self, trial: Trial) -> None:
        trial.is_staged = True
        if trial.ready_at == 0:
            selector = trial.placement_group_factory.selector
            allowed = [selector[0]["ray.io/node-id"]] if selector else list(self.nodes)
            fits = [node for node in allowed if node in self.nodes and all(self._free(node)[name] >= a - 1e-6 for name, a in trial.bundle.items())]
            if not fits:
                trial.waited += 0.05
                self.longest_wait = max(self.longest_wait, trial.waited)
                return
            trial.waited = 0.0
            trial.node, trial.ready_at = fits[-1], self.clock.now + START  # Ray may choose any of them
        if trial.ready_at <= self.clock.now:
            trial.status, trial.is_staged, trial.ready_at, trial.step = Trial.RUNNING, False, 0.0, trial.saved
            trial.sizes.append(trial.bundle.get("GPU") or trial.bundle["CPU"])
            trial.next_step = self.clock.now + 1 / trial.sizes[-1]

    def _step(self, trial: Trial) -> None:
        trial.step += 1
        trial.executed += 1
        trial.next_step = self.clock.now + 1 / trial.sizes[-1]
        if trial.saves:
            trial.saved = trial.step
        if trial.step == trial.steps:
            self.scheduler.on_trial_complete(self, trial, {})
            self._end(trial, Trial.TERMINATED)
            return
        result = {"training_iteration": trial.step, "loss": trial.loss(trial.step), "should_checkpoint": trial.saves}
        decision = self.scheduler.on_trial_result(self, trial, result)
        if decision == TrialScheduler.PAUSE:
            self._end(trial, Trial.PAUSED)
        elif decision == TrialScheduler.STOP:
            self.scheduler.on_trial_complete(self, trial, result)
            self._end(trial, Trial.TERMINATED)

    def _end(self, trial: Trial, status: str) -> None:
        trial.status = status
        self.leaving.append((self.clock.now + STOP, trial.node, trial.bundle))


class Clock:
    """Takes the place of the module `time`."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


def install() -> None:
    contents = {"ray": {"nodes": list}, "ray.tune": {"PlacementGroupFactory": PlacementGroupFactory}, "ray.tune.experiment": {"Trial": Trial},
                "ray.tune.result": {"SHOULD_CHECKPOINT": "should_checkpoint"}, "ray.tune.schedulers": {"TrialScheduler": TrialScheduler},
                "ray.tune.trainable": {"FunctionTrainable": FunctionTrainable}}
    for name, values in contents.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(values)
