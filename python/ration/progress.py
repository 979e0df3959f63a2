# SPDX-License-Identifier: BSL-1.0
"""How a Python training script reports its progress to ration, and receives commands: protocol P1 and commands C1, job's side.

Python 3.8 or later and nothing else: this file also works where it is copied to, without the package around it.

    from ration import progress

    with progress.open() as job:
        job.hello(world=1, threads=1)
        job.phase("train")
        for step in range(1, steps + 1):
            job.step(step, float(loss), total=steps)

Outside ration (RATION_PROGRESS not set) every call does nothing, so the calls can stay in. No call blocks (but see close) or raises,
whatever it is given; any thread and any signal handler may call. A process should open one handle; a forked child's copy is silent. What
cannot be delivered now is kept and goes out with a later call: no loss goes uncounted while the process lives.

A job that calls `listen` before its hello is asked to save and to stop, instead of being sent SIGTERM, and has to call `command` at its
step boundaries; one that does not call `listen` is never asked.
"""
import collections
import errno
import math
import os
import re
import select
import socket
import threading
import time

__all__ = ["open", "Command", "Progress"]

_INTERVAL = 0.2  # seconds between messages about steps
_OUTBOX = 8  # messages other than steps kept while the receiver is busy or away
_MESSAGE = 1024  # bytes of a message, at most
_DEVICES = re.compile(r"(?=.{1,768}$)[!-+\--<>-~]{1,64}(,[!-+\--<>-~]{1,64})*", re.ASCII)
_GONE = (errno.ECONNREFUSED, errno.ENOTCONN, errno.ENOENT, errno.ECONNRESET, errno.EPIPE)


def open():  # pylint: disable=redefined-builtin
    """The handle of this process; one that does nothing where ration has set no environment."""
    return Progress(os.environ)


def _word(text):
    """At most 64 characters that P1 allows in a value, '_' for each other one."""
    return re.sub(r"[^!-<>-~]", "_", str(text)[:64]) or "_"


class Command(collections.namedtuple("Command", "kind by hold")):
    """A command of ration: `kind` save, go or stop; `by` seconds that the job has for it, 0: not given; `hold`: after saving, `hold`."""


_PAIRS = {"e": r"\d{1,20}", "k": ".*", "q": r"\d{1,20}", "by": r"\d{1,10}(\.\d{1,20})?", "hold": "[01]"}


def _read_command(data, incarnation, token):
    """(number, Command) of a message to this job in this incarnation, else None. The kind may be one that is not known here."""
    match = re.fullmatch(r"C1 ([a-z][a-z0-9_]{0,15})((?: [a-z][a-z0-9_]{0,15}=[!-<>-~]+)+)\n?", data.decode("ascii"))
    if match is None or len(data) > _MESSAGE:
        return None
    pairs = {}
    for pair in match[2].split():
        key, value = pair.split("=")
        if key in pairs or not re.fullmatch(_PAIRS.get(key, ".*"), value, re.ASCII):
            return None
        if key in _PAIRS:
            pairs[key] = value
    if int(pairs["e"]) != incarnation or pairs["k"] != token or int(pairs["q"]) == 0:
        return None
    return _count(pairs["q"]), Command(match[1], min(float(pairs.get("by", 0)), 1e9), pairs.get("hold") == "1")


def _count(value, bound=2**64):
    number = int(value)
    if not 0 <= number < bound:
        raise ValueError(value)
    return number


def _guarded(method):
    """Runs the message through `method`, in the process that opened the handle only; swallows every error."""

    def call(self, *arguments, **named):
        try:
            if self._owner == os.getpid():
                return method(self, *arguments, **named)
        except Exception:  # pylint: disable=broad-except
            pass
        return None

    call.__doc__ = method.__doc__
    call.__name__ = method.__name__
    return call


class Progress:
    """See the module's own text. All methods but `listen`, `command` and `hold` return None."""

    def __init__(self, environment):
        self._owner = 0
        self._calls = collections.deque()  # what was called and is not yet worked off
        self._turn = threading.Lock()  # only ever tried, never waited for
        self._outbox = collections.deque(maxlen=_OUTBOX)
        self._socket = None
        self._control = None  # where commands come
        self._control_path = ""
        self._batch = 0
        self._sequence = 0
        self._sent_at = self._step_at = None
        self._retry_at = 0.0
        self._said_bye = False
        self._clear()
        try:
            where = environment["RATION_PROGRESS"]
            self._path = where[5:]
            if not where.startswith("unix:/") or len(os.fsencode(self._path)) > 107:
                return
            rank = environment.get("RANK", "0")
            self._rank = int(rank) if re.fullmatch("[0-9]{1,9}", rank) else 0
            self._incarnation = _count(environment["RATION_INCARNATION"], 2**32)
            self._token = _word(environment["RATION_TOKEN"])
            self._envelope = "e=%d k=%s j=%s r=%d" % (self._incarnation, self._token, _word(environment["RATION_JOB"]), self._rank)
            self._owner = os.getpid()
        except Exception:  # pylint: disable=broad-except
            pass

    @_guarded
    def hello(self, world=1, threads=0, devices=None):
        """The job runs: `world` processes in all, `threads` in this one (0: not known).

        `devices`: the names of the devices that this process really sees, GPUs by the UUID that the driver reports; None: not known.
        """
        body = " w=%d t=%d v=py1" % (_count(world, 2**32), _count(threads, 2**32))
        if self._control_path:
            body += " rx=" + self._control_path
        names = ",".join(devices or ())
        if _DEVICES.fullmatch(names) and len(self._envelope) + len(body) + len(names) + 40 <= _MESSAGE:
            body += " g=" + names
        self._post("hello", body)

    @_guarded
    def step(self, step, loss, total=None, batch=None):
        """One training step is done; `step` counts over the whole job. A loss that is not finite is counted, never averaged.

        Sends at most five messages a second and the first one at once; ranks other than 0 send none. `batch`: samples per step over
        all ranks.
        """
        if self._rank == 0:
            self._run(self._take_step, _count(step), float(loss), _count(total or 0), _count(batch or 0, 2**32 + 1))

    @_guarded
    def eval(self, step, metric, value):
        """A value of a metric measured on held-out data."""
        value = float(value)
        said = "v=" + repr(value) if math.isfinite(value) else "nf=1"
        self._post("eval", " s=%d m=%s %s" % (_count(step), _word(metric), said))

    @_guarded
    def phase(self, phase):
        """The activity of the job from now on: init, load, compile, train, eval, save or idle."""
        self._post("phase", " ph=" + _word(phase))

    @_guarded
    def checkpoint(self, step, ok=True, seconds=0):
        """A checkpoint is durable, or has failed; `seconds` is what it took (0: not known)."""
        took = " d=" + repr(float(seconds)) if seconds > 0 and math.isfinite(seconds) else ""
        self._post("ckpt", " s=%d ok=%d%s" % (_count(step), bool(ok), took))

    @_guarded
    def want(self, devices):
        """How many devices the job would like to have now, at most 4096; 0 takes the wish back."""
        self._post("want", " n=%d" % min(_count(devices), 4096))

    @_guarded
    def listen(self):
        """Opens the socket for commands beside that of the messages; True when there is one. Rank 0 only; before the hello."""
        folder = self._path.rpartition("/")[0]
        if self._control is None and self._rank == 0 and re.fullmatch("[!-<>-~]*", folder):
            self._bind(folder)
        return self._control is not None

    @_guarded
    def command(self, wait=0):
        """The command of ration to the job: a Command, answered already, or None. To be called at each step boundary.

        Waits for one, for `wait` seconds at most.
        """
        until = time.monotonic() + wait
        asked = self._take_command()
        while asked is None and self._control is not None and time.monotonic() < until:
            select.select([self._control], [], [], min(max(0, until - time.monotonic()), 3600))
            asked = self._take_command()
        return asked

    def hold(self, seconds):
        """Waits, for `seconds` at most, for what comes after a save with `hold`: the next Command, "go" when none comes in time."""
        return self.command(seconds) or Command("go", 0.0, False)

    @_guarded
    def heartbeat(self):
        """Alive, though no step is done."""
        self._run(self._beat)

    @_guarded
    def bye(self, exit_code=0, why=None):
        """The job ends; `why` is done, stop, diverged or error, chosen by the exit code when left out."""
        exit_code = int(exit_code)
        if not -(2**31) <= exit_code < 2**31:
            exit_code = 1
        self._said_bye = True
        self._post("bye", " rc=%d why=%s" % (exit_code, _word(why or ("error" if exit_code else "done"))))

    @_guarded
    def close(self):
        """Ends the handle. This call may wait, for a tenth of a second at most: what is kept has no later chance."""
        self._run(self._close)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if not self._said_bye:
            code = getattr(value, "code", 1) if isinstance(value, SystemExit) else int(kind is not None)
            self.bye(code if isinstance(code, int) else int(code is not None))
        self.close()
        return False

    # The thread that has the turn handles the requests of all, so that none waits: not a second thread, not a signal handler
    # that interrupts the very thread that has it.
    def _run(self, method, *arguments):
        self._calls.append((method, arguments))
        while self._calls and self._turn.acquire(blocking=False):
            try:
                while self._calls:
                    method, arguments = self._calls.popleft()
                    method(*arguments)
            finally:
                self._turn.release()

    def _bind(self, folder):
        for attempt in range(8):  # the name may be taken by a process of that number in another namespace
            path = "%s/rx.%d.%d" % (folder, os.getpid(), attempt)
            if len(path) > 107:
                return
            control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                control.setblocking(False)
                control.bind(path)
                os.chmod(path, 0o600)  # the directory already keeps all others out
                self._control, self._control_path = control, path
                return
            except OSError:
                control.close()

    def _take_command(self):
        for _ in range(16 if self._control is not None else 0):
            try:
                data = self._control.recv(_MESSAGE + 1)
            except OSError:
                break
            asked = self._answer(data)
            if asked is not None:
                return asked
        return None

    def _answer(self, data):
        """Answers a message; the Command that the job has to obey, or None."""
        try:
            number, asked = _read_command(data, self._incarnation, self._token)
        except (KeyError, TypeError, ValueError):  # not a command to this job in this incarnation
            return None
        known = asked.kind in ("save", "go", "stop")
        self._post("ack", " c=%d ok=%d" % (number, known or asked.kind == "ping"))
        return asked if known else None

    def _clear(self):
        self._finite = self._non_finite = self._intervals = 0
        self._mean = self._busy = 0.0

    def _take_step(self, step, loss, total, batch):
        now = time.monotonic()
        if self._step_at is not None:
            self._busy += now - self._step_at
            self._intervals += 1
        self._step_at, self._step, self._total, self._batch = now, step, total, batch
        if math.isfinite(loss):
            self._finite += 1  # divided first: the mean of finite numbers is finite, their sum need not be
            self._mean += loss / self._finite - self._mean / self._finite
        else:
            self._non_finite += 1
        if now >= self._retry_at:
            self._drain()
            if self._sent_at is None or now - self._sent_at >= _INTERVAL:
                self._flush()

    def _post(self, kind, body):
        self._run(self._post_now, kind, body)

    def _post_now(self, kind, body):
        self._drain()
        self._flush()
        self._outbox.append((kind, body))
        self._drain()
        if kind == "phase":
            self._step_at = None

    def _beat(self):
        self._drain()
        self._flush()
        self._send("hb", "")

    def _close(self):
        until = time.monotonic() + 0.1
        self._drain()
        self._flush()
        while self._socket is not None and (self._outbox or self._finite or self._non_finite):
            left = until - time.monotonic()  # a receiver is there, and its queue is full
            if left <= 0 or not select.select([], [self._socket], [], left)[1]:
                break
            self._drain()
            self._flush()
        self._owner = 0
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._control is not None:
            self._control.close()
            self._control = None
            os.unlink(self._control_path)

    def _drain(self):
        while self._outbox and self._send(*self._outbox[0]):
            self._outbox.popleft()

    def _flush(self):
        """Sends what the steps since the last message add up to; keeps all of it when that fails."""
        if self._finite + self._non_finite == 0:
            return
        body = " s=%d c=%d nf=%d" % (self._step, self._finite, self._non_finite)
        if self._finite:
            body += " l=" + repr(self._mean)
        if self._total:
            body += " x=%d" % self._total
        if self._batch:
            body += " b=%d" % self._batch
        if self._intervals:
            body += " d=" + repr(self._busy / self._intervals)
        if self._send("step", body):
            self._sent_at = time.monotonic()
            self._clear()

    def _send(self, kind, body):
        """True when the kernel took the message. A receiver that went away and came back is found by one more try."""
        if not self._owner:
            return False
        self._sequence += 1
        data = ("P1 %s %s q=%d%s" % (kind, self._envelope, self._sequence, body)).encode("ascii")
        if self._deliver(data):
            return True
        self._sequence -= 1
        return False

    def _deliver(self, data):
        for _ in range(2):
            try:
                if self._socket is None:
                    self._socket = self._connect()
                self._socket.send(data)
                return True
            except OSError as failure:
                if failure.errno not in _GONE:
                    return False
                if self._socket is None:
                    break
                self._socket.close()
                self._socket = None
        self._retry_at = time.monotonic() + _INTERVAL  # no one is there: do not ask again at every step
        return False

    def _connect(self):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            connection.setblocking(False)
            connection.connect(self._path)
        except OSError:
            connection.close()
            raise
        return connection
