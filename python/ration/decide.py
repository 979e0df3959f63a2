# SPDX-License-Identifier: BSL-1.0
"""A client of `ration decide`: tables of jobs and nodes in, grants of a policy out (docs/decide.md).

    with Decide("elastic_batch_dp") as policy:
        answer = policy.ask(nodes=[{"id": "n1", "capacity.gpu": 4}], jobs=[...])
        for grant in answer["grants"]:
            ...

Needs the standard library only, and the program `ration`.
"""
import json
import math
import os
import selectors
import subprocess
import time

__all__ = ["Decide", "DecideEnded", "DecideError", "amount_of", "largest_parts"]


class DecideError(Exception):
    """The request has a fault, or the policy gave no answer. The jobs keep what they hold."""


class DecideEnded(DecideError):
    """The program has ended or does not answer. The next request starts it again, with empty tables."""


def amount_of(grant):
    """The amount of a grant as a number; infinite without a limit."""
    return math.inf if grant["amount"] == "unlimited" else grant["amount"]


def largest_parts(grants, resource):
    """{job: its grant with the largest amount of the resource}, for engines that run a job on one node."""
    largest = {}
    for grant in grants:
        if grant["resource"] == resource and (grant["job"] not in largest or amount_of(grant) > amount_of(largest[grant["job"]])):
            largest[grant["job"]] = grant
    return largest


class Decide:
    """One child process. It starts at the first request, so that an object of this class can be copied to another process before.

    `parameters`: {"POLICY.NAME": value}. `timeout`: seconds for one answer, of which a policy from a file gets 100 ms.
    """

    def __init__(self, policy, parameters=None, program="ration", timeout=10.0):
        self._command = [program, "decide", str(policy)]
        for name, value in (parameters or {}).items():
            self._command += ["--set", f"{name}={value}"]
        self._timeout = timeout
        self._child = None

    def __getstate__(self):
        return {**self.__dict__, "_child": None}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, **request):
        """The answer, a dictionary with "grants" and "rejected". Raises DecideError, and DecideEnded if the tables are lost."""
        try:
            line = json.dumps(request, allow_nan=False).encode() + b"\n"
        except (TypeError, ValueError) as problem:
            raise DecideError(f"the request is not JSON: {problem}; correct its rows") from problem
        if self._child is None:
            self._start()
        try:
            answer = json.loads(self._exchange(line))
        except (OSError, TimeoutError, ValueError) as problem:
            self.close()
            raise DecideEnded(f"{' '.join(self._command)}: {problem}; run it by hand to see its message") from problem
        if "error" in answer:
            raise DecideError(f"{answer['error']['message']}; {answer['error']['fix']}")
        return answer

    def close(self):
        """Ends the child, and waits for it."""
        if self._child is None:
            return
        child, self._child = self._child, None
        child.stdin.close()
        child.stdout.close()
        try:
            child.wait(1.0)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def _start(self):
        try:
            self._child = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True)
        except OSError as problem:
            raise DecideEnded(f"{self._command[0]}: {problem.strerror}; install ration, or pass program= its path") from problem
        for pipe in (self._child.stdin, self._child.stdout):
            os.set_blocking(pipe.fileno(), False)

    def _exchange(self, line):
        """Writes the line and reads the answer, each as soon as its pipe is ready."""
        deadline = time.monotonic() + self._timeout
        rest, answer = memoryview(line), bytearray()
        with selectors.DefaultSelector() as pipes:
            pipes.register(self._child.stdout, selectors.EVENT_READ)
            pipes.register(self._child.stdin, selectors.EVENT_WRITE)
            while not answer.endswith(b"\n"):
                ready = pipes.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise TimeoutError(f"gave no answer within {self._timeout:g} s")
                for key, _ in ready:
                    if key.fileobj is self._child.stdout:
                        answer += _read(key.fd)
                        continue
                    rest = rest[os.write(key.fd, rest):]
                    if not rest:
                        pipes.unregister(self._child.stdin)
        return bytes(answer)


def _read(pipe):
    piece = os.read(pipe, 65536)
    if not piece:
        raise OSError("has ended")
    return piece
