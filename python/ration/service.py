# SPDX-License-Identifier: BSL-1.0
"""A client of `ration serve`: jobs are submitted, awaited and cancelled from Python.

    job = ration.submit(["python3", "train.py"], name="vae", retries=2)
    code = job.wait()          # or, in a coroutine: code = await job

The requests are HTTP over the Unix socket of the service, as docs/service-api.json describes them. `Service` has a method for each
operation of that document, under its operationId. `state` is the state folder of the service, as for `ration serve --state`. Every function
raises `ServiceError` with the message of the service.
"""
import asyncio
import contextlib
import http.client
import json
import math
import os
import secrets
import select
import shlex
import socket
import struct
import time

from ration.service_answers import LARGEST_ANSWER, MOST_BYTES, PATIENCE, ServiceError, ServiceUnavailable, content_of, event_of, invalid, job_of, read

_ATTEMPTS = 5  # to submit, if an answer was lost
_SHORTEST_DELAY, _LONGEST_DELAY = 0.05, 1.0  # seconds between two requests of a wait
_FINAL = ("COMPLETED", "FAILED", "HALTED")
_FOR_ALL = "/var/lib/ration-serve"  # of the service of root


def default_state():
    """The state folder that `ration serve` uses without --state."""
    state = os.environ.get("XDG_STATE_HOME", "")
    return os.path.join(state if state.startswith("/") else os.path.join(os.environ.get("HOME", "/root"), ".local/state"), "ration")


def _find_state():
    """The default folder, or that of the service for all users if only that has a socket."""
    own = default_state()
    used = any(os.path.exists(os.path.join(own, name)) for name in ("socket", "jobs.db"))
    return _FOR_ALL if not used and os.path.exists(os.path.join(_FOR_ALL, "socket")) else own


class _Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self._path = path

    def connect(self):
        """Waits in the queue of the socket while that is full. A socket of Python with a timeout would fail at once (EAGAIN)."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(PATIENCE), 0))
        self.sock.connect(self._path)
        self.sock.settimeout(self.timeout)


class Service:
    """The operations of the API. Each call is one connection, so that an object may serve several threads."""

    def __init__(self, state=None):
        self.state = os.path.abspath(state or _find_state())
        self.socket = os.path.join(self.state, "socket")

    def describe_service(self):
        return self._ask("GET", "/v1/service")

    def drain(self):
        return self._ask("POST", "/v1/service/drain")

    def end_drain(self):
        return self._ask("DELETE", "/v1/service/drain")

    def set_policy(self, policy):
        """`policy`: as in the document."""
        return self._ask("POST", "/v1/service/policy", policy)

    def list_running(self):
        return self._ask("GET", "/v1/running")

    def watch_events(self, last=None):
        """Yields (id, name, content) of each event until the service ends. `id` is None for limits; `last` resumes after an id."""
        for event in self.poll_events(PATIENCE, last):
            if event is None:
                raise ServiceError(f"the service at {self.socket} sends nothing; read its messages, and repeat the call")
            yield event

    def poll_events(self, delay, last=None):
        """As `watch_events`, and yields None whenever the service has sent nothing for `delay` seconds."""
        with self._open("GET", "/v1/events", None, {} if last is None else {"Last-Event-ID": str(last)}) as answer:
            if answer.status != 200:
                content_of(answer.status, read(answer))
                raise invalid(answer.status)
            bytes_there = select.poll()
            bytes_there.register(answer.fileno(), select.POLLIN)
            text = b""
            # The first ones may be in the buffer already, behind the head
            while some := answer.read1(MOST_BYTES):
                *events, text = (text + some).split(b"\n\n")
                if len(text) > LARGEST_ANSWER:
                    raise invalid(answer.status)
                for event in filter(None, map(event_of, events)):
                    yield event
                while not bytes_there.poll(delay * 1000):
                    yield None

    def list_jobs(self):
        """All pages of the list, one after the other."""
        jobs, after = [], 0
        while after is not None:
            page = self._ask("GET", f"/v1/jobs?after={after}")
            if not isinstance(page.get("jobs"), list):
                raise invalid(200)
            jobs += map(job_of, page["jobs"])
            before, after = after, page.get("next")
            if after is not None and not (isinstance(after, int) and after > before):  # a false service could lead in a circle
                raise invalid(200)
        return jobs

    def submit_job(self, submission):
        """`submission`: as in the document. After a lost answer it is repeated, also while the service restarts: its key makes that the same job."""
        for attempt in range(_ATTEMPTS):
            try:
                return job_of(self._ask("POST", "/v1/jobs", submission))
            except ServiceError as error:
                never_arrived = attempt == 0 and isinstance(error, ServiceUnavailable)
                if never_arrived or error.status is not None or attempt + 1 == _ATTEMPTS:
                    raise
            time.sleep(1)

    def show_job(self, id):
        return job_of(self._ask("GET", f"/v1/jobs/{int(id)}"))

    def cancel_job(self, id):
        return job_of(self._ask("DELETE", f"/v1/jobs/{int(id)}"))

    def pause_job(self, id):
        return job_of(self._ask("POST", f"/v1/jobs/{int(id)}/pause"))

    def resume_job(self, id):
        return job_of(self._ask("POST", f"/v1/jobs/{int(id)}/resume"))

    def _ask(self, method, path, body=None):
        with self._open(method, path, body) as answer:
            return content_of(answer.status, read(answer))

    def _check_owner(self):
        """Root may use the services of all users."""
        for path in (self.state, self.socket):
            try:
                owner = os.stat(path).st_uid
            except PermissionError as error:
                raise ServiceError(f"another user owns the folder of {path}; name your own state folder", 403) from error
            except OSError:
                continue  # the connection reports it
            if owner not in (0, os.geteuid()) and os.geteuid() != 0:
                raise ServiceError(f"another user owns {path}; name your own state folder", 403)

    @contextlib.contextmanager
    def _open(self, method, path, body=None, headers=None):
        self._check_owner()
        connection = _Connection(self.socket)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers or {})
            yield connection.getresponse()
        except (FileNotFoundError, ConnectionRefusedError) as error:
            option = "" if self.state == default_state() else f" --state {shlex.quote(self.state)}"
            raise ServiceUnavailable(f"no service listens at {self.socket}; start it: ration serve{option}") from error
        except (OSError, http.client.HTTPException) as error:
            raise ServiceError(f"the service at {self.socket} gave no answer ({error}); read its messages, and repeat the call") from error
        finally:
            connection.close()


class Job:
    """A submitted job. `await job` is its exit code."""

    def __init__(self, service, shown):
        self._service = service
        self.id, self.name, self.label, self.log = (shown[key] for key in ("id", "name", "label", "log"))

    def __repr__(self):
        return f"<ration job {self.label}>"

    def status(self):
        """The job with its stage and history, as a dictionary with the members of `Job` in the document."""
        return self._service.show_job(self.id)

    def cancel(self):
        """Stops the job. Returns its status, which may be that of a job that stops."""
        return self._service.cancel_job(self.id)

    def pause(self):
        """Stops the job, which keeps its checkpoint and its place in the queue. Returns its status, as `cancel` does."""
        return self._service.pause_job(self.id)

    def resume(self):
        """Lets a paused job start again."""
        return self._service.resume_job(self.id)

    def wait(self, timeout=None):
        """Waits for the end, also while the service restarts. Returns the exit code of the program: 128 + number for a signal, 4 for a
        cancelled job, 1 for one that failed without either. Raises TimeoutError after `timeout` seconds."""
        for delay in self._delays(timeout):
            code = self._code()
            if code is not None:
                return code
            time.sleep(delay)

    async def status_async(self):
        return await _in_thread(self.status)

    async def cancel_async(self):
        return await _in_thread(self.cancel)

    async def pause_async(self):
        return await _in_thread(self.pause)

    async def resume_async(self):
        return await _in_thread(self.resume)

    async def wait_async(self, timeout=None):
        for delay in self._delays(timeout):
            code = await _in_thread(self._code)
            if code is not None:
                return code
            await asyncio.sleep(delay)

    def __await__(self):
        return self.wait_async().__await__()

    def _delays(self, timeout):
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        delay = _SHORTEST_DELAY
        while True:
            yield max(0.0, min(delay, deadline - time.monotonic()))
            if time.monotonic() >= deadline:
                raise TimeoutError(f"{self.label} has not ended after {timeout} s")
            delay = min(_LONGEST_DELAY, delay * 1.25)

    def _code(self):
        try:
            return exit_code(self.status())
        except ServiceError as error:
            if error.is_temporary:
                return None
            raise


def exit_code(status):
    """The exit code that a status means, as that of `ration wait`; None before the end."""
    if status["stage"] not in _FINAL:
        return None
    if status["stage"] == "COMPLETED":
        return 0
    if status["exit_code"]:
        return status["exit_code"]
    if status["stage"] == "HALTED":
        return 4
    return 1 if status["signal"] is None else 128 + status["signal"]


def submit(command, *, name=None, tenant=None, priority=0, retries=0, time_limit=None, after=(), on_end=None, key=None, directory=None, environment=None, state=None):
    """Submits a command, which is a list of words, or a jobs file, whose path ends in .toml. `time_limit` is in seconds, `after` has jobs or
    their numbers. `on_end` is a list of words too: a command that the service runs once the job has ended. `name`, `tenant`, `priority` and
    `on_end` are those of a command; a file has its own. The job gets `environment`, or that of this process, and runs in `directory`, or in
    the folder of this process. Returns a `Job` once the job is durable."""
    service = Service(state)
    is_file = isinstance(command, (str, os.PathLike))
    words = [] if is_file else [os.fsencode(word) for word in command]
    submission = {
        "key": key or secrets.token_hex(16),
        "definition": _definition(command if is_file else words, name, tenant, priority, on_end),
        "directory": _member(os.path.abspath(directory or os.getcwd())),
        "environment": [_member(f"{variable}={value}") for variable, value in (_own_environment() if environment is None else environment).items()],
        "umask": _umask(),
        "retries": retries,
        "time_limit_ms": round((time_limit or 0) * 1000),
        "after": [one.id if isinstance(one, Job) else int(one) for one in after],
    }
    if not all(_is_utf8(word) for word in words):
        submission["command"] = [_member(word) for word in words]
    return Job(service, service.submit_job(submission))


def jobs(state=None):
    """The jobs of this user, for root all jobs, in the order of their submission."""
    service = Service(state)
    return [Job(service, shown) for shown in service.list_jobs()]


async def submit_async(command, **options):
    return await _in_thread(lambda: submit(command, **options))


async def jobs_async(state=None):
    return await _in_thread(lambda: jobs(state))


async def _in_thread(function):
    return await asyncio.get_running_loop().run_in_executor(None, function)


def _own_environment():
    """Without the number of this job in its array, which is not that of the submitted one."""
    return {variable: value for variable, value in os.environ.items() if variable != "RATION_ARRAY_INDEX"}


def _umask():
    """Read, since os.umask would change that of all threads for a moment."""
    with open("/proc/self/status", "rb") as file:
        return next(int(line.split()[1], 8) for line in file if line.startswith(b"Umask:"))


def _is_utf8(content):
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _member(text):
    """A string of a submission. JSON carries UTF-8 alone, so other bytes are in hexadecimal."""
    content = os.fsencode(text)
    return content.decode() if _is_utf8(content) else {"hex": content.hex()}


def _definition(command, name, tenant, priority, on_end):
    if isinstance(command, (str, os.PathLike)):
        path = os.fspath(command)
        if not path.endswith(".toml"):
            raise ValueError(f"'{path}' is neither a list of words nor a jobs file; give [\"python3\", \"train.py\"] or a path that ends in .toml")
        if name is not None or tenant is not None or priority or on_end is not None:
            raise ValueError(f"'{path}' has its own name, tenant, priority and on_end; write them into the file")
        with open(path, encoding="utf-8") as file:
            return file.read()
    if not command:
        raise ValueError("the command is empty; give the program and its arguments")
    words = [word.decode(errors="replace") for word in command]  # the submission also has their bytes
    lines = ["[[job]]", f"name = {_quoted(name or _name_of(words[0]))}", f"command = {_array(words)}", f"priority = {int(priority)}"]
    if tenant is not None:
        lines.append(f"tenant = {_quoted(tenant)}")
    if on_end is not None:
        hook = [os.fsencode(word) for word in on_end]
        if not all(map(_is_utf8, hook)):
            raise ValueError("on_end is not UTF-8; write its other bytes as printf '\\377' does")
        lines.append(f"on_end = {_array(word.decode() for word in hook)}")
    # A job without a target trains to its end.
    return "\n".join([*lines, ""])


def _array(words):
    return f"[{', '.join(map(_quoted, words))}]"


def _quoted(text):
    """A string of TOML. JSON escapes the same characters, except DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _name_of(program):
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in os.path.basename(program))
    return (kept if kept[:1].isalnum() else f"_{kept}")[:36]
