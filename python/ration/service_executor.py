# SPDX-License-Identifier: BSL-1.0
"""Functions as jobs of `ration serve`.

    with ration.ServiceExecutor(name="sweep") as executor:
        losses = list(executor.map(train, [0.1, 0.01, 0.001]))

A call and its result are pickled into files of a folder of this user alone. As with `multiprocessing` and its start method "spawn", the
function has to be importable, and a main script needs `if __name__ == "__main__":`.
"""
import concurrent.futures
import os
import shutil
import sys
import tempfile
import threading

from ration import service_call
from ration.service import ServiceError, exit_code, submit

_DELAY = 0.1  # seconds between two requests for the status of each call


class JobFailed(Exception):
    """The job of a call ended without a result."""


class _Call:
    def __init__(self, job, path):
        self.job, self.path = job, path
        self.future = concurrent.futures.Future()
        self._noted = False  # the future runs, or its cancellation was passed on

    def is_done(self):
        """Updates the future. Returns whether the call has ended."""
        try:
            if self.future.cancelled():
                self.job.cancel()
                self._note()
                return True
            status = self.job.status()
        except ServiceError as error:
            if error.is_temporary:
                return False
            return self._fail(error)
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
        self._folder = tempfile.mkdtemp(prefix="ration-calls-")
        self._changed = threading.Condition()
        self._calls = []
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
            self._calls.append(call)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="ration-calls", daemon=True)
                self._watcher.start()
            self._changed.notify_all()
        return call.future

    def shutdown(self, wait=True, *, cancel_futures=False):
        with self._changed:
            self._closed = True
            if cancel_futures:
                for call in self._calls:
                    call.future.cancel()
            self._changed.notify_all()
            watcher = self._watcher
        if watcher is None:
            shutil.rmtree(self._folder, ignore_errors=True)
        elif wait:
            watcher.join()

    def _watch(self):
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._calls or self._closed)
                calls = list(self._calls)
            if not calls:
                break
            done = [call for call in calls if call.is_done()]
            with self._changed:
                self._calls = [call for call in self._calls if call not in done]
                self._changed.wait(_DELAY)
        shutil.rmtree(self._folder, ignore_errors=True)
