# SPDX-License-Identifier: BSL-1.0
"""Functions as jobs of `ration serve`.

    with ration.ServiceExecutor(name="sweep") as executor:
        losses = list(executor.map(train, [0.1, 0.01, 0.001]))

A call and its result are pickled into files of a folder of this user alone. As with `multiprocessing` and its start method "spawn", the
function has to be importable, and a main script needs `if __name__ == "__main__":`.
"""
import concurrent.futures
import contextlib
import os
import shutil
import sys
import tempfile
import threading

from ration import service_call
from ration.service import Service, ServiceError, exit_code, submit

_DELAY = 0.1  # seconds after which a cancelled future is seen
_REST = 1.0  # seconds until the next attempt to watch the service


class JobFailed(Exception):
    """The job of a call ended without a result."""


class _Call:
    def __init__(self, job, path):
        self.job, self.path = job, path
        self.future = concurrent.futures.Future()
        self._noted = False  # the future runs, or its cancellation was passed on

    def is_cancelled(self):
        """Whether the future was cancelled, which is passed on to the job."""
        if not self.future.cancelled():
            return False
        try:
            self.job.cancel()
        except ServiceError as error:
            if error.is_temporary:
                return False
        self._note()
        return True

    def ask(self):
        """Updates the future by a request. Returns whether the call has ended."""
        try:
            return self.take(self.job.status())
        except ServiceError as error:
            return False if error.is_temporary else self._fail(error)

    def take(self, status):
        """Updates the future. Returns whether the call has ended. `status`: of the job, or the event of a stage."""
        if self.future.cancelled() and not self._noted:
            return False  # `is_cancelled` passes it on
        if status["stage"] not in ("QUEUED", "PENDING") and not self._note():
            return False  # cancelled a moment ago
        code = exit_code(status)
        if code is None:
            return False
        why = f": {status['why']}" if status["why"] else ""
        return self._finish(f"{self.job.label} ended with exit code {code}{why}; its output is {self.job.log}")

    def _note(self):
        if not self._noted:
            self._noted = True
            self.future.set_running_or_notify_cancel()
        return self.future.running()

    def _fail(self, error):
        if self._note():
            self.future.set_exception(error)
        return True

    def _finish(self, message):
        try:
            returned, value = service_call.read_result(self.path)
        except FileNotFoundError:
            return self._fail(JobFailed(message))
        except Exception as error:  # unpickling runs code of the value's class
            return self._fail(error)
        if not returned:
            return self._fail(value)
        if self._note():
            self.future.set_result(value)
        return True


class ServiceExecutor(concurrent.futures.Executor):
    """An executor whose calls are jobs: they wait in the queue of the service, and start by its priorities. `options` are those of
    `ration.submit`, apart from `key`. Jobs outlive this process, and their results are lost then."""

    def __init__(self, *, name="call", **options):
        if "key" in options:
            raise TypeError("one key would make all calls the same job; leave it out")
        self._options = dict(options, name=name)
        self._service = Service(options.get("state"))
        self._folder = tempfile.mkdtemp(prefix="ration-calls-")
        self._changed = threading.Condition()
        self._calls = {}  # by the number of the job
        self._count = 0
        self._closed = False
        self._watcher = None

    def submit(self, fn, /, *args, **kwargs):
        with self._changed:
            if self._closed:
                raise RuntimeError("cannot submit a call after shutdown")
            self._count += 1
            path = os.path.join(self._folder, str(self._count))
            service_call.write(path, fn, args, kwargs)
            call = _Call(submit([sys.executable, service_call.__file__, path], **self._options), path)
            self._calls[call.job.id] = call
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="ration-calls", daemon=True)
                self._watcher.start()
            self._changed.notify_all()
        return call.future

    def shutdown(self, wait=True, *, cancel_futures=False):
        with self._changed:
            self._closed = True
            if cancel_futures:
                for call in self._calls.values():
                    call.future.cancel()
            self._changed.notify_all()
            watcher = self._watcher
        if watcher is None:
            shutil.rmtree(self._folder, ignore_errors=True)
        elif wait:
            watcher.join()

    def _watch(self):
        while self._wait_for_calls():
            try:
                self._follow()
            except ServiceError:
                self._each(_Call.ask)  # also if too many clients watch the service
            self._each(_Call.is_cancelled)
            with self._changed:
                self._changed.wait_for(lambda: not self._calls, _REST)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait_for_calls(self):
        """Whether there are some, or False after the shutdown."""
        with self._changed:
            self._changed.wait_for(lambda: self._calls or self._closed)
            return bool(self._calls)

    def _follow(self):
        """Takes the stages of all calls from one connection, until no call is left or the service ends."""
        with contextlib.closing(self._service.poll_events(_DELAY)) as events:
            for event in events:
                _, name, content = event or (None, None, None)
                if name in ("open", "reset"):
                    self._each(_Call.ask)
                elif name == "stage":
                    with self._changed:  # a submission that holds the lock adds its call
                        call = self._calls.get(content["job"])
                    if call is not None and call.take(content):
                        self._remove(call)
                self._each(_Call.is_cancelled)
                if not self._calls:
                    return

    def _each(self, is_done):
        with self._changed:
            calls = list(self._calls.values())
        for call in calls:
            if is_done(call):
                self._remove(call)

    def _remove(self, call):
        with self._changed:
            del self._calls[call.job.id]
            self._changed.notify_all()
