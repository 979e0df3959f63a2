# SPDX-License-Identifier: BSL-1.0
"""Imports modules once, and forks each launch of a job from there: the key `preload` of a jobs file. Linux only.

`ration run` starts `python3 -m ration.fork_server MODULE...` with a socket as standard input. The server imports the modules, reports that
it is ready, and forks a process for each request. That process becomes a child of ration, waits until ration has limited it, and runs the
script as Python would. In turn `ration.ranks` forks its ranks instead of executing Python again. The server ends with its socket.

The other side is ration/process/fork_server.hpp. The words of the child are those of ration/process/spawn.hpp.
"""
import array
import atexit
import ctypes
import gc
import importlib
import os
import runpy
import signal
import socket
import struct
import sys
import threading
import time

_SESSION, _STREAMS, _DIRECTORY, _GATE, _JOURNAL = 0, 1, 3, 4, 5  # spawn_stage
_MARK = b"RATION_TOKEN="
_is_forked = False


def is_forked():
    """Whether this process was forked by a server, so that its children can be forked with the modules too."""
    return _is_forked


def run(arguments):
    """Runs the script or the module (-m NAME) of a command of Python, and ends this process as Python would.

    The modules of the server are not taken apart as at the end of Python, since that would copy nearly all of their memory. `multiprocessing`
    ends its processes in the same way.
    """
    status = 1
    try:
        _seed()
        _run_as_main(arguments)
        status = 0
    except SystemExit as end:
        status = _status_of(end)
    except BaseException:  # pylint: disable=broad-except
        sys.excepthook(*sys.exc_info())
    try:
        threading._shutdown()  # waits for threads that are no daemons
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(status)


def _status_of(end):
    if end.code is None or isinstance(end.code, int):
        return (end.code or 0) & 0xFF
    print(end.code, file=sys.stderr)
    return 1


def _run_as_main(arguments):
    if arguments[:2] != ["-m", "ration.ranks"]:  # the launcher forks again, so it may not start threads
        _set_threads(os.environ.get("OMP_NUM_THREADS", ""))
    if arguments[0] == "-m":
        sys.path[0], sys.argv = os.getcwd(), arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[0], sys.argv = os.path.dirname(os.path.abspath(arguments[0])), list(arguments)
        runpy.run_path(arguments[0], run_name="__main__")


def _set_threads(count):
    """The libraries read the number of threads at their import, in the server, where it is 1."""
    count = count.split(",")[0]
    if not count.isdigit() or int(count) == 0:
        return
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(int(count))
    for library in _loaded("openblas"):
        for prefix in ("", "scipy_"):  # those of NumPy's wheels
            for suffix in ("", "64_", "_64"):  # of the interface with integers of 64 bits
                change = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
                if change is not None:
                    change(int(count))


def _loaded(word):
    """The libraries of this process whose path has the word, except those that have been replaced on the disk."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        fields = [line.rstrip("\n").split(None, 5) for line in maps if word in line]
    for path in {line[5] for line in fields if len(line) == 6}:
        try:
            yield ctypes.CDLL(path)
        except OSError:
            pass  # replaced, or no library


def _seed():
    """Python seeds its own generator after a fork. NumPy would draw the same numbers in each launch, and in each of its ranks."""
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def _why_not_forked():
    """Why the modules cannot be used in a forked process; None if they can."""
    if len(os.listdir("/proc/self/task")) > 1:
        return "the modules start threads, which a fork would lose; preload fewer modules"
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return "the modules initialize CUDA, which a forked process cannot use; preload fewer modules"
    return None


def _receive(channel):
    """The descriptors of the next request; none at the end of the socket."""
    numbers = array.array("i")
    data, ancillary, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(6 * numbers.itemsize))
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            numbers.frombytes(content[: len(content) - len(content) % numbers.itemsize])
    return list(numbers) if data else []


class _Request:
    """One launch: the descriptors that ration has sent, and its command and environment."""

    def __init__(self, descriptors):
        gate, self.directory, self.input, self.output, self.journal, text = descriptors
        self.gate = socket.socket(fileno=gate)
        with open(text, "rb") as file:
            entry, count, *words = file.read().split(b"\0")[:-1]
        self.entry, self.arguments = entry, [os.fsdecode(word) for word in words[: int(count)]]
        self.environment = dict(word.split(b"=", 1) for word in words[int(count):])

    def close(self):
        self.gate.close()
        for descriptor in {self.directory, self.input, self.output, self.journal}:
            os.close(descriptor)

    def report(self, stage, failure=0):
        """A spawn_word."""
        self.gate.send(struct.pack("=B3xi", stage, failure))

    def attempt(self, stage, call, *arguments):
        """Ends this process with a report if the call fails."""
        try:
            call(*arguments)
        except OSError as failure:
            self.report(stage, failure.errno)
            os._exit(127)

    def become(self):
        """What `become` of spawn.hpp does between fork and exec."""
        self.attempt(_SESSION, os.setsid)
        self.report(_SESSION)
        for number, descriptor in enumerate((self.input, self.output, self.output)):
            self.attempt(_STREAMS, os.dup2, descriptor, number)
        self.attempt(_DIRECTORY, os.fchdir, self.directory)
        self.report(_GATE)
        if self.gate.recv(1) != b"\1":
            os._exit(127)
        if self.entry:
            self.attempt(_JOURNAL, os.write, self.journal, self.entry)
        os.environb.clear()
        os.environb.update(self.environment)
        _write_mark(self.environment.get(_MARK[:-1], b""))
        self.close()


def _write_mark(token):
    """The token into the environment that /proc/PID/environ shows, by which ration finds processes of the job."""
    with open("/proc/self/environ", "rb") as file:
        at = (b"\0" + file.read()).find(b"\0" + _MARK)
    with open("/proc/self/stat", "rb") as file:
        begin = int(file.read().rpartition(b")")[2].split()[47])  # env_start
    if at >= 0 and begin and len(token) == 16:
        ctypes.memmove(begin + at + len(_MARK), token, len(token))


def _fork(request, controller):
    """True in the new process, which is then a child of the controller; False in the server."""
    pid = os.fork()
    if pid != 0:
        os.waitpid(pid, 0)
        return False
    between = os.getpid()
    if os.fork() != 0:
        os._exit(0)
    while os.getppid() == between:
        time.sleep(0.0005)
    if os.getppid() != controller:
        os._exit(127)
    request.become()
    return True


def _serve(channel):
    """Answers requests until the socket ends. Returns the arguments of a launch in its process, else None."""
    global _is_forked  # pylint: disable=global-statement
    controller = os.getppid()
    channel.send(b"\1")
    while True:
        descriptors = _receive(channel)
        if not descriptors:
            return None
        request = _Request(descriptors)
        if _fork(request, controller):
            channel.close()
            _is_forked = True
            return request.arguments
        request.close()


def main(modules):
    """The server. Returns its exit status."""
    channel = socket.socket(fileno=os.dup(0))
    os.set_inheritable(channel.fileno(), False)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for name in modules:
        importlib.import_module(name)
    reason = _why_not_forked()
    if reason is not None:
        print("ration.fork_server: %s" % reason, file=sys.stderr)
        return 1
    gc.collect()
    gc.freeze()  # a collection in a launched process would copy all pages
    arguments = _serve(channel)
    if arguments is not None:
        run(arguments)  # does not return
    return 0


if __name__ == "__main__":
    from ration import fork_server  # the module that `ration.ranks` imports, and not this copy of it

    sys.exit(fork_server.main(sys.argv[1:]))
