# SPDX-License-Identifier: BSL-1.0
"""Starts a training script once for each device of this job: python3 -m ration.ranks train.py ARGUMENTS

RATION_DEVICES names the devices of this node; without it there is one rank. Each rank finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE,
MASTER_ADDR and MASTER_PORT, as torchrun gives them. SIGTERM, SIGINT and SIGHUP are passed on to all. When a rank fails the others are
ended, and the exit status is that of the first that failed (128 and the signal's number when a signal ended it). Ranks do not outlive
this process, however it ends; what they have started and left behind is ended with the last of them. Linux only. A launcher that
ration.fork_server has forked forks the ranks too, with the modules that are imported already.
"""
import ctypes
import os
import signal
import socket
import sys
import time

from ration import fork_server

_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_GRACE = 5.0  # seconds between asking the other ranks to end, after one has failed, and ending them
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)


def _world(local):
    """The first rank on this node, and the environment of all ranks. On several nodes ration has chosen both."""
    if int(os.environ.get("RATION_NODES", 1)) > 1:
        return int(os.environ["RANK"]), {name: os.environ[name] for name in ("WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return 0, {"WORLD_SIZE": str(local), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def _environments():
    devices = [name for name in os.environ.get("RATION_DEVICES", "").split(",") if name] or [""]
    first, common = _world(len(devices))
    common["LOCAL_WORLD_SIZE"] = str(len(devices))
    if "GLOO_SOCKET_IFNAME" not in os.environ and common["MASTER_ADDR"] == "127.0.0.1":
        common["GLOO_SOCKET_IFNAME"] = "lo"  # by itself gloo asks the network for this machine's name
    if "USE_LIBUV" not in os.environ:
        common["USE_LIBUV"] = "0"  # PyTorch 2.4 and later insists on libuv otherwise, and that of Debian 13 is built without
    return [_environment({**common, "RANK": str(first + rank), "LOCAL_RANK": str(rank)}) for rank in range(len(devices))]


def _environment(chosen):
    """With these variables, which are not for jobs that a rank submits: see RATION_CHOSEN in docs/process-backend.md."""
    listed = [os.environ.get("RATION_CHOSEN", ""), *(f"{name}={value}" for name, value in chosen.items())]
    return {**os.environ, **chosen, "RATION_CHOSEN": " ".join(filter(None, listed))}


def _start(arguments, environment, mask):
    parent = os.getpid()
    pid = os.fork()
    if pid != 0:
        return pid
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(127)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if fork_server.is_forked():  # with all modules of `preload`
        os.environ.update(environment)
        fork_server.run(arguments)
    try:
        os.execve(sys.executable, [sys.executable, *arguments], environment)
    finally:
        os._exit(127)


def _status(raw):
    return 128 + os.WTERMSIG(raw) if os.WIFSIGNALED(raw) else os.WEXITSTATUS(raw)


def _signal_all(pids, number):
    for pid in pids:
        os.kill(pid, number)  # each is a child that was not waited for: its number cannot be another's


class _Ranks:
    def __init__(self, pids):
        self.alive = set(pids)
        self.failure = 0
        self._kill_at = None

    def collect(self):
        """Does not wait. Other children of this process were left behind by a rank."""
        while True:
            try:
                pid, raw = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.alive:
                self.alive.remove(pid)
                self._ended(_status(raw))

    def _ended(self, status):
        if status == 0 or self.failure != 0:
            return
        self.failure = status
        self._kill_at = time.monotonic() + _GRACE
        _signal_all(self.alive, signal.SIGTERM)

    def patience(self):
        """Seconds until the ranks that are left have to be killed; None: they need not."""
        return None if self._kill_at is None else max(0.0, self._kill_at - time.monotonic())

    def wait(self, signals):
        while self.alive:
            patience = self.patience()
            told = signal.sigwaitinfo(signals) if patience is None else signal.sigtimedwait(signals, patience)
            if told is None:
                _signal_all(self.alive, signal.SIGKILL)
                self._kill_at = time.monotonic() + 3600
            elif told.si_signo != signal.SIGCHLD and told.si_code <= 0:  # from a terminal the ranks have it already
                _signal_all(self.alive, told.si_signo)
            self.collect()


def _end_strays():
    """Ends what the ranks have started and not waited for: as their subreaper this process has become its parent."""
    for _ in range(1000):
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % name, "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
                if parent == os.getpid():
                    os.kill(int(name), signal.SIGKILL)
            except (OSError, ValueError, IndexError):
                pass  # it has ended meanwhile
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    signals = {signal.SIGCHLD, *_PASSED_ON}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    ranks = _Ranks(_start(arguments, environment, before) for environment in _environments())
    ranks.wait(signals)
    _end_strays()
    return ranks.failure


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
