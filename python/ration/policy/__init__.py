# SPDX-License-Identifier: BSL-1.0
"""Policies: a class that receives tables of jobs and nodes and grants amounts of resources to jobs.

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
import json

QUEUED, RUNNING, RESTARTING, DONE, FAILED = range(5)  # of jobs/state
CPU, MEMORY, GPU, GPU_SM, CACHE, BATCH = range(6)  # millicores, bytes, devices, per-mille of a device, bytes, samples per step
LEAST_CPU = 10  # the smallest positive grant of CPU, the kernel's smallest limit; 0 pauses a job
UNLIMITED = 2**63 - 1  # the amount that means no limit, of what does not come in whole units

KINDS = {"u32": "I", "i64": "q", "u64": "Q", "f32": "f", "f64": "d"}  # of columns, with the format of their memoryview; with "[]" behind: several values a row
TABLES = ("jobs", "nodes", "held", "tenants")
# The space in the manifest of a plugin, in bytes.
_ROOM = {"id": 63, "version": 31, "summary": 127, "inputs": 1023, "reasons": 1023, "parameters": 3071}


class WrongParameter(ValueError):
    """The parameters from the user of a policy are invalid. The text is shown unchanged."""


class Parameter:
    """A number, a truth value or one of some words that the user of a policy may choose: `share = Parameter(0.5, "of the first job", 0, 1)`.

    The type is that of the default; a number may have a closed range. In the policy it is an attribute, `self.share`, also in `__init__`.
    """

    __slots__ = ("default", "meaning", "least", "most", "words")

    def __init__(self, default, meaning="", least=None, most=None, words=None):
        self.default, self.meaning, self.least, self.most, self.words = default, meaning, least, most, words

    def trouble(self):
        """The error in its description of itself, as the rest of a sentence; empty if there is none."""
        if not isinstance(self.meaning, str) or not self.meaning.isprintable() or '"' in self.meaning or "\\" in self.meaning:
            return f"means {self.meaning!r}; write one line of text without quotes"
        if self.words is not None and not (self.words and all(isinstance(word, str) and word.isprintable() for word in self.words)):
            return f"has the words {self.words!r}; write a list of texts"
        if self.words is None and not isinstance(self.default, (bool, int, float)):
            return f"has the default {self.default!r}; write a number, True, False, or a word and words=[...]"
        for limit in (self.least, self.most):
            if limit is not None and (self.words is not None or isinstance(self.default, bool) or _is_no_number(limit)):
                return f"has the limit {limit!r}; only numbers have limits, and these are numbers"
        try:
            self.taken("its default", self.default)
        except WrongParameter as problem:
            return f"cannot be {self.default!r}: {problem}"
        return ""

    def taken(self, name, value):
        """The value as the policy sees it. A WrongParameter has the reason if it cannot be one."""
        if self.words is not None:
            if value not in self.words:
                raise WrongParameter(f"{name} must be one of " + ", ".join(f'"{word}"' for word in self.words))
            return value
        if isinstance(self.default, bool):
            if not isinstance(value, bool):
                raise WrongParameter(f"{name} must be true or false")
            return value
        whole = isinstance(self.default, int)
        if _is_no_number(value) or (whole and not (isinstance(value, int) and -2**63 <= value < 2**63)):
            raise WrongParameter(f"{name} must be a {'whole ' if whole else ''}number")
        if (self.least is not None and value < self.least) or (self.most is not None and value > self.most):
            raise WrongParameter(f"{name} must be {self.range()}" + (f": {self.meaning}" if self.meaning else ""))
        return value if whole else float(value)

    def range(self):
        """As people say it."""
        if self.least is not None and self.most is not None:
            return f"from {self.least} to {self.most}"
        return f"at least {self.least}" if self.most is None else f"at most {self.most}"

    def schema(self):
        """Its part of the JSON schema."""
        if self.words is not None:
            out = {"enum": list(self.words)}
        else:
            out = {"type": "boolean" if isinstance(self.default, bool) else "integer" if isinstance(self.default, int) else "number"}
        out["default"] = self.default
        out.update((key, value) for key, value in (("description", self.meaning), ("minimum", self.least), ("maximum", self.most)) if value not in ("", None))
        return out


def _is_no_number(value):
    return isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < float("inf")


class Rows:
    """A column of several values a row: `rows[job]` is a memoryview of that row, `rows[job][k]` one value; `flat` has all of them, `width` to a row."""

    __slots__ = ("flat", "width")

    def __init__(self, flat, width):
        self.flat, self.width = flat, width

    def __len__(self):
        return len(self.flat) // self.width

    def __getitem__(self, row):
        rows = len(self)
        if not -rows <= row < rows:
            raise IndexError(f"row {row}, and there are {rows}")
        begin = row % rows * self.width
        return self.flat[begin:begin + self.width]

    def release(self):
        self.flat.release()


class Tick(dict):
    """The input of a policy: a read-only memoryview, or `Rows` of them, for each of its inputs, and `number`, `seed` and `now_ns`. Views end with the call."""

    __slots__ = ()

    def __missing__(self, name):
        raise KeyError(f"{name} is not shown: name it in `inputs`, as {{'{name}': 'i64'}}")


class Policy:
    """The base of all policies. A class with an `id` is a policy, and is checked when it is defined: a TypeError has the error."""

    id = ""  # like "org.example.mine": the owner of the domain keeps it unique
    version = "0.1.0"
    summary = ""  # one line
    reasons = [""]  # reason k of a grant, in words
    inputs = {}  # columns that `decide` reads, as {"table/column": "u32", "i64", "u64", "f32" or "f64"}; "f64[]" has several values a row
    parameters = {}  # collected from the attributes of the class: name -> Parameter

    def __init_subclass__(cls, **rest):
        super().__init_subclass__(**rest)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Parameter)}
        for name, parameter in own.items():
            if hasattr(Policy, name):
                raise TypeError(f"{cls.__name__}: the parameter `{name}` has a name that every policy has; choose another")
            setattr(cls, name, parameter.default)
        cls.parameters = {**cls.parameters, **own}
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
    """The error in a policy's description of itself, as a sentence; empty if there is none."""
    for name in ("id", "version", "summary"):
        text = getattr(policy, name)
        if not isinstance(text, str) or not text.isprintable():
            return f"`{name}` is {text!r}; write one line of text"
    if not all(part and all(c.isalnum() or c in "-_" for c in part) for part in policy.id.split(".")) or not policy.id.isascii():
        return f"`id` is {policy.id!r}; write letters, digits and '-' with dots between, like 'org.example.mine'"
    if policy.decide is Policy.decide:
        return "it has no method `decide(self, tick, grant)`"
    return (_trouble_with_inputs(policy.inputs) or _trouble_with_reasons(policy.reasons) or _trouble_with_parameters(policy.parameters)
            or _trouble_with_room(policy))


def _trouble_with_inputs(inputs):
    if not isinstance(inputs, dict) or not inputs:
        return "`inputs` names no column; write those that `decide` reads, as {'jobs/state': 'u32'}"
    for name, kind in inputs.items():
        table, _, column = name.partition("/") if isinstance(name, str) else ("", "", "")
        if table not in TABLES or not column or not name.isprintable() or " " in name:
            return f"`inputs` has {name!r}; a column is called 'table/column', and the tables are {', '.join(TABLES)}"
        if not isinstance(kind, str) or kind.removesuffix("[]") not in KINDS:
            return f"`inputs` declares {name} as {kind!r}; write one of {', '.join(KINDS)}, with [] behind it for several values a row"
    return ""


def _trouble_with_reasons(reasons):
    if not isinstance(reasons, (list, tuple)) or not all(isinstance(one, str) and "\n" not in one for one in reasons):
        return "`reasons` is not a list of lines; write ['', 'what reason 1 of a grant means']"
    return ""


def _trouble_with_parameters(parameters):
    for name, parameter in parameters.items():
        trouble = parameter.trouble() if name.isascii() else "has another name than its users can write; take letters of ASCII"
        if trouble:
            return f"the parameter `{name}` {trouble}"
    return ""


def _trouble_with_room(policy):
    texts = {"id": policy.id, "version": policy.version, "summary": policy.summary, "inputs": needs_of(policy), "reasons": reasons_of(policy),
             "parameters": schema_of(policy)}
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


def schema_of(policy):
    """The JSON schema of the parameters as the manifest of a plugin has it; empty when the policy takes none."""
    if not policy.parameters:
        return ""
    properties = {name: parameter.schema() for name, parameter in policy.parameters.items()}
    return json.dumps({"type": "object", "additionalProperties": False, "properties": properties}, separators=(",", ":"), ensure_ascii=False)


def made(policy, given=None):
    """An instance of a policy with these parameters: a dictionary, or the text of a JSON object. A WrongParameter has the reason if they are wrong."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError as problem:
            raise WrongParameter(f"the parameters are not JSON ({problem})") from problem
        if not isinstance(given, dict):
            raise WrongParameter('the parameters must be one JSON object: {"name": value, ...}')
    one = policy.__new__(policy)
    for name, value in (given or {}).items():
        if not policy.parameters:
            raise WrongParameter("this policy takes no parameters: leave them out")
        if name not in policy.parameters:
            raise WrongParameter(f"unknown parameter '{name}'")
        setattr(one, name, policy.parameters[name].taken(name, value))
    one.__init__()
    return one


def policy_in(names):
    """The one policy among the names of a module. A TypeError has the reason if the module has none, or several."""
    found = []
    for value in names.values():
        if isinstance(value, type) and issubclass(value, Policy) and value.id and value not in found:
            found.append(value)
    if not found:
        raise TypeError("the file has no policy: define a class that derives from ration.policy.Policy and has an `id`")
    if len(found) > 1:
        raise TypeError(f"there are several policies in the file, and a plugin is one: {', '.join(one.__name__ for one in found)}")
    return found[0]


def told(problem, file):
    """An exception in one line, with the place in the policy's file that it came from."""
    if isinstance(problem, WrongParameter):
        return str(problem)
    line, at, text = 0, problem.__traceback__, str(problem)
    while at is not None:
        if at.tb_frame.f_code.co_filename == file:
            line = at.tb_lineno
        at = at.tb_next
    if isinstance(problem, SyntaxError) and problem.filename == file:
        line, text = problem.lineno, problem.msg
    return f"{file}{f':{line}' if line else ''}: {type(problem).__name__}: {text}"
