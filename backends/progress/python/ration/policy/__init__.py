# SPDX-License-Identifier: BSL-1.0
"""Policies: a class that is shown tables of jobs and nodes and says who holds how much from now on.

    from ration.policy import CPU, RUNNING, Policy

    class Half(Policy):
        id, version, summary = "org.example.half", "1.0.0", "half of the CPU for every job"
        reasons = ["", "half of the machine"]
        inputs = {"jobs/state": "u32", "nodes/capacity.cpu": "i64"}

        def decide(self, tick, grant):
            for job, state in enumerate(tick["jobs/state"]):
                if state == RUNNING:
                    grant(job, 0, CPU, tick["nodes/capacity.cpu"][0] // 2, 1)

`python3 -m ration.policy build half.py` makes half.so of it, which `ration check`, `sim` and `run` take. `ration.policy.trial` asks a policy
in a test. The text of this module becomes part of the .so beside the policy's own, so that nothing has to be installed where it runs.
"""

QUEUED, RUNNING, RESTARTING, DONE, FAILED = range(5)  # of jobs/state
CPU, MEMORY, GPU, GPU_SM, CACHE, BATCH = range(6)  # millicores, bytes, devices, per-mille of a device, bytes, samples per step
UNLIMITED = 2**63 - 1  # the amount that means no limit, of what does not come in whole units

KINDS = {"u32": "I", "i64": "q", "u64": "Q", "f32": "f", "f64": "d"}  # of columns, with the format of their memoryview
TABLES = ("jobs", "nodes", "resources", "held")
# What the manifest of a plugin has room for, in bytes.
_ROOM = {"id": 63, "version": 31, "summary": 127, "inputs": 1023, "reasons": 1023}


class Tick(dict):
    """What a policy is shown: a read-only memoryview for each of its inputs, and `number`, `seed` and `now_ns`. Views end with the call."""

    __slots__ = ()

    def __missing__(self, name):
        raise KeyError(f"{name} is not shown: name it in `inputs`, as {{'{name}': 'i64'}}")


class Policy:
    """What all policies have. A class with an `id` is a policy, and is looked at when it is defined: a TypeError says what is wrong with it."""

    id = ""  # like "org.example.mine": whoever owns the domain makes sure that it is one only
    version = "0.1.0"
    summary = ""  # one line
    reasons = [""]  # reason k of a grant, in words
    inputs = {}  # columns that `decide` reads, as {"table/column": "u32", "i64", "u64", "f32" or "f64"}

    def __init_subclass__(cls, **rest):
        super().__init_subclass__(**rest)
        if cls.id:
            trouble = trouble_with(cls)
            if trouble:
                raise TypeError(f"{cls.__name__}: {trouble}")

    def decide(self, tick, grant):
        """Answers one tick. No clock, no dice but `tick["seed"]`, no files.

        `grant(job, node, resource, amount, reason=0, group=0)` takes rows of the tables; 0 releases, and what is not mentioned stays as it
        is. Grants of one group other than 0 are applied all or none.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `decide(self, tick, grant)`")


def trouble_with(policy):
    """What is wrong with what a policy says of itself, as a sentence; empty when nothing is."""
    for name in ("id", "version", "summary"):
        text = getattr(policy, name)
        if not isinstance(text, str) or not text.isprintable():
            return f"`{name}` is {text!r}; write one line of text"
    if not all(part and all(c.isalnum() or c in "-_" for c in part) for part in policy.id.split(".")) or not policy.id.isascii():
        return f"`id` is {policy.id!r}; write letters, digits and '-' with dots between, like 'org.example.mine'"
    if policy.decide is Policy.decide:
        return "it has no method `decide(self, tick, grant)`"
    return _trouble_with_inputs(policy.inputs) or _trouble_with_reasons(policy.reasons) or _trouble_with_room(policy)


def _trouble_with_inputs(inputs):
    if not isinstance(inputs, dict) or not inputs:
        return "`inputs` names no column; write those that `decide` reads, as {'jobs/state': 'u32'}"
    for name, kind in inputs.items():
        table, _, column = name.partition("/") if isinstance(name, str) else ("", "", "")
        if table not in TABLES or not column or not name.isprintable() or " " in name:
            return f"`inputs` has {name!r}; a column is called 'table/column', and the tables are {', '.join(TABLES)}"
        if kind not in KINDS:
            return f"`inputs` says that {name} is {kind!r}; write one of {', '.join(KINDS)}"
    return ""


def _trouble_with_reasons(reasons):
    if not isinstance(reasons, (list, tuple)) or not all(isinstance(one, str) and "\n" not in one for one in reasons):
        return "`reasons` is no list of lines; write ['', 'what reason 1 of a grant means']"
    return ""


def _trouble_with_room(policy):
    texts = {"id": policy.id, "version": policy.version, "summary": policy.summary, "inputs": needs_of(policy), "reasons": reasons_of(policy)}
    for name, text in texts.items():
        if len(text.encode()) > _ROOM[name]:
            return f"`{name}` takes {len(text.encode())} bytes, and there is room for {_ROOM[name]}"
    return ""


def needs_of(policy):
    """The columns as the manifest of a plugin names them."""
    return "".join(f"{name} {kind}\n" for name, kind in policy.inputs.items())


def reasons_of(policy):
    """The reasons as the manifest of a plugin names them."""
    return "".join(reason + "\n" for reason in policy.reasons)


def policy_in(names):
    """The one policy among the names of a module. A TypeError says why there is not one."""
    found = []
    for value in names.values():
        if isinstance(value, type) and issubclass(value, Policy) and value.id and value not in found:
            found.append(value)
    if not found:
        raise TypeError("there is no policy in the file: define a class that derives from ration.policy.Policy and has an `id`")
    if len(found) > 1:
        raise TypeError(f"there are several policies in the file, and a plugin is one: {', '.join(one.__name__ for one in found)}")
    return found[0]


def told(problem, file):
    """An exception in one line, with the place in the policy's file that it came from."""
    line, at, text = 0, problem.__traceback__, str(problem)
    while at is not None:
        if at.tb_frame.f_code.co_filename == file:
            line = at.tb_lineno
        at = at.tb_next
    if isinstance(problem, SyntaxError) and problem.filename == file:
        line, text = problem.lineno, problem.msg
    return f"{file}{f':{line}' if line else ''}: {type(problem).__name__}: {text}"
