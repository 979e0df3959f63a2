# SPDX-License-Identifier: BSL-1.0
"""The Python client of the service against the real one: each operation of the API document, the ends of jobs, coroutines, and functions as jobs."""
import asyncio
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
os.environ.setdefault("RATION_PROGRAM", "ration")  # an executor loads this file in a job, which has no such variable
import ration
import ration.service
import serve_test
from support import FINAL, PATIENCE, ROOT, ServiceTest

DOCUMENT = json.loads((ROOT / "docs/service-api.json").read_text())


def square(number: int) -> int:
    return number * number


def fail(sentence: str) -> None:
    raise KeyError(sentence)


def leave(code: int) -> None:
    os._exit(code)


def wait_for_file(path: str) -> str:
    while not os.path.exists(path):
        time.sleep(0.05)
    return "waited"


class Recorded(ration.Service):
    """Notes its last request."""

    def _open(self, method: str, path: str, *rest: object) -> object:
        self.last = (method, path)
        return super()._open(method, path, *rest)


class ClientTest(ServiceTest):
    def submit_here(self, command: object, **options: object) -> ration.Job:
        return ration.submit(command, state=self.state, directory=self.folder, **options)

    def shell(self, script: str, **options: object) -> ration.Job:
        return self.submit_here(["sh", "-c", script], **options)


class Document(ClientTest):
    check = serve_test.Document.check

    def test_each_operation_of_the_document_is_a_method(self) -> None:
        bodies = {"submit_job": {"key": "k", "definition": '[[job]]\nname = "a"\ncommand = ["true"]\ntarget = { loss = { objective = 0 } }\n', "directory": "/tmp"},
                  "set_policy": {"policy": "none"}}
        service, called = Recorded(self.state), 0
        for path, item in DOCUMENT["paths"].items():
            for method, operation in item.items():
                if method == "parameters":
                    continue
                with self.subTest(method=method, path=path):
                    given = [self.job_for(operation["operationId"]).id] if "{id}" in path else []
                    if "requestBody" in operation:
                        given.append(bodies[operation["operationId"]])
                    answer = getattr(service, operation["operationId"])(*given)
                    content = next(answer["content"] for status, answer in operation["responses"].items() if status < "300")
                    if "text/event-stream" in content:
                        self.assertEqual(next(answer)[1], "open")
                    else:
                        schema = content["application/json"]["schema"]
                        self.check(DOCUMENT, schema, {"jobs": answer, "next": None} if schema["$ref"].endswith("/Jobs") else answer)
                    sent = service.last[0], service.last[1].partition("?")[0]
                    self.assertEqual(sent, (method.upper(), path.replace("{id}", str(*given) if "{id}" in path else "")))
                    called += 1
        self.assertGreaterEqual(called, 12)

    def job_for(self, operation: str) -> ration.Job:
        job = self.shell("sleep 60")
        if operation == "resume_job":
            job.pause()
        return job


class Ends(ClientTest):
    def test_the_exit_code_is_that_of_the_job(self) -> None:
        long = self.shell("sleep 60", name="long")
        ended = [self.shell(script) for script in ("true", "exit 3", "kill -9 $$")]
        self.assertEqual([job.wait(PATIENCE) for job in ended], [0, 3, 128 + signal.SIGKILL])
        with self.assertRaisesRegex(TimeoutError, "long-1 has not ended"):
            long.wait(0.2)
        long.cancel()
        self.assertEqual(long.wait(PATIENCE), 4)
        self.assertEqual(long.status()["stage"], "HALTED")
        self.assertEqual([(job.id, job.label) for job in ration.jobs(self.state)], [(job.id, job.label) for job in (long, *ended)])

    def test_a_long_list_comes_in_pages(self) -> None:
        self.ration("drain")
        self.ration("submit", "--array", "1-230", "--", "true")
        pages, after = [], 0
        while after is not None:
            status, page = self.ask("GET", f"/v1/jobs?after={after}")
            self.assertEqual(status, 200)
            pages.append([job["id"] for job in page["jobs"]])
            after = page["next"]
        self.assertGreaterEqual(len(pages), 3)
        self.assertLess(max(map(len, pages)), 110)
        ids = sorted(job["id"] for job in json.loads(self.ration("status", "--json"))["jobs"])  # from the file
        self.assertEqual(len(ids), 230)
        self.assertEqual([id for page in pages for id in page], ids)
        self.assertEqual([job.id for job in ration.jobs(self.state)], ids)
        self.assertEqual(self.ask("GET", "/v1/jobs?after=x")[0], 404)

    def test_options_reach_the_job(self) -> None:
        first = self.shell("sleep 0.3; echo first >> order", name="first")
        second = self.shell("echo $MARK >> order; exit 1", name="second", after=[first], retries=1, tenant="ml", priority=3, time_limit=60, environment=dict(os.environ, MARK="marked"))
        self.assertEqual(second.wait(PATIENCE), 1)
        self.assertEqual((self.folder / "order").read_text(), "first\nmarked\nmarked\n")
        status = second.status()
        self.assertEqual([status[name] for name in ("name", "tenant", "priority", "retries", "time_limit_ms", "after", "incarnation")], ["second", "ml", 3, 1, 60000, [first.id], 2])
        self.assertEqual(self.shell("true", key="k").id, self.shell("true", key="k").id)

    def test_words_arrive_as_they_are(self) -> None:
        words = ['"quoted" \\ back', "two\nlines\ttab", "\x7f\x01", "\U0001f600 \u00e9", ""]
        job = self.submit_here(["printf", "%s|", *words])
        self.assertEqual(job.wait(PATIENCE), 0)
        self.assertEqual(pathlib.Path(job.log).read_text(), "|".join(words) + "|")

    def test_a_jobs_file_and_errors(self) -> None:
        path = self.folder / "job.toml"
        path.write_text('[[job]]\nname = "own"\ncommand = ["true"]\ntarget = { loss = { objective = 0 } }\n')
        self.assertEqual(self.submit_here(path).wait(PATIENCE), 0)
        for wrong in (lambda: self.submit_here(path, name="other"), lambda: self.submit_here("train.py"), lambda: self.submit_here([])):
            self.assertRaises(ValueError, wrong)
        with self.assertRaisesRegex(ration.ServiceError, "cannot be a name") as refused:
            self.shell("true", name="../up")
        self.assertEqual(refused.exception.status, 400)
        with self.assertRaisesRegex(ration.ServiceError, "job 77 is unknown"):
            ration.Service(self.state).show_job(77)
        self.kill()
        with self.assertRaisesRegex(ration.service.ServiceUnavailable, f"start it: ration serve --state {self.state}$"):
            self.shell("true")
        with mock.patch.dict(os.environ, XDG_STATE_HOME=str(self.folder)), self.assertRaisesRegex(ration.service.ServiceUnavailable, "start it: ration serve$"):
            ration.jobs()

    def test_a_wait_continues_after_a_restart(self) -> None:
        job = self.shell("sleep 3; exit 5")  # it is PROCESSING after 1 s
        codes = []
        waiting = threading.Thread(target=lambda: codes.append(job.wait(PATIENCE)))
        waiting.start()
        self.wait_for(lambda: job.status()["stage"] == "PROCESSING")
        self.kill()
        time.sleep(0.3)
        self.start()
        waiting.join()
        self.assertEqual(codes, [5])

    def test_a_lost_answer_and_a_restart_make_one_job(self) -> None:
        ask = ration.Service._ask

        def disturbed(service: ration.Service, *request: object) -> object:
            if asking.call_count == 1:
                ask(service, *request)
                self.kill()
                raise ration.ServiceError("the answer is lost")
            try:
                return ask(service, *request)
            finally:
                if asking.call_count == 2:  # no service was there
                    self.start()

        with mock.patch.object(ration.Service, "_ask", autospec=True, side_effect=disturbed) as asking:
            job = self.shell("true")
            self.assertEqual(asking.call_count, 3)
        self.assertEqual([one.id for one in ration.jobs(self.state)], [job.id])

    def test_coroutines(self) -> None:
        async def several() -> tuple[list[int], int]:
            jobs = await asyncio.gather(*(ration.submit_async(["sh", "-c", f"exit {code}"], state=self.state) for code in (0, 4, 6)))
            sleeper = await ration.submit_async(["sleep", "60"], state=self.state)
            codes = await asyncio.gather(*jobs)
            await sleeper.cancel_async()
            return codes, await sleeper.wait_async(PATIENCE)

        self.assertEqual(asyncio.run(several()), ([0, 4, 6], 4))


class Page(ClientTest):
    def test_the_example_of_the_documentation(self) -> None:
        code = re.search(r"```python\n(.*?)```", (ROOT / "docs/serve.md").read_text(), re.DOTALL)[1]
        (self.folder / "ration").symlink_to(self.state)
        (self.folder / "example.py").write_text(code)
        done = subprocess.run([sys.executable, "example.py"], cwd=self.folder, env=dict(self.environment, XDG_STATE_HOME=str(self.folder), PYTHONPATH=str(ROOT / "python")),
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.stderr, "")
        self.assertRegex(done.stdout, r"\A[A-Z]+ \S+/vae-1\.log\n3\n\[0\.90\d+, 0\.99\d+\]\n\Z")


class Executor(ClientTest):
    def test_functions_are_jobs(self) -> None:
        with ration.ServiceExecutor(name="square", state=self.state) as executor:
            folder = pathlib.Path(executor._folder)
            self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
            failed, left, unpickled = executor.submit(fail, "lost"), executor.submit(leave, 9), executor.submit(threading.Lock)
            self.assertEqual(list(executor.map(square, (2, 3))), [4, 9])
            self.assertIsInstance(failed.exception(), KeyError)
            with self.assertRaisesRegex(ration.JobFailed, "square-2 ended with exit code 9"):
                left.result()
            self.assertRaisesRegex(TypeError, "cannot be pickled", unpickled.result)
        self.assertFalse(folder.exists())
        self.assertRaises(RuntimeError, executor.submit, square, 2)
        self.assertRaises(TypeError, ration.ServiceExecutor, key="k", state=self.state)
        self.assertEqual([job.name for job in ration.jobs(self.state)], ["square"] * 5)

    def test_calls_share_one_connection(self) -> None:
        ask = ration.Service._ask
        with mock.patch.object(ration.Service, "_ask", autospec=True, side_effect=ask) as asking:
            with ration.ServiceExecutor(state=self.state) as executor:
                self.assertEqual(list(executor.map(time.sleep, (1, 1.5))), [None, None])
        paths = [call.args[2] for call in asking.call_args_list if call.args[1] == "GET"]
        self.assertLessEqual(len(paths), 4, paths)  # each call at the start, not ten times a second

    def test_calls_end_without_events_and_over_a_restart(self) -> None:
        with mock.patch.object(ration.Service, "poll_events", side_effect=ration.ServiceError("too many clients", 503)):
            with ration.ServiceExecutor(state=self.state) as executor:
                self.assertEqual(executor.submit(square, 3).result(PATIENCE), 9)
        with ration.ServiceExecutor(state=self.state) as executor:
            call = executor.submit(wait_for_file, str(self.folder / "end"))
            self.wait_for(call.running)
            self.kill()
            (self.folder / "end").touch()
            self.start()
            self.assertEqual(call.result(PATIENCE), "waited")

    def test_a_queued_call_is_cancelled(self) -> None:
        self.kill()
        self.start("--max-running", "1")
        with ration.ServiceExecutor(state=self.state) as executor:
            running, queued = executor.submit(time.sleep, 1), executor.submit(square, 2)
            self.assertTrue(queued.cancel())
            done, _ = concurrent.futures.wait([running, queued], timeout=PATIENCE)
            self.assertEqual(len(done), 2)
            self.assertIsNone(running.result())
        self.assertEqual([job.status()["stage"] for job in ration.jobs(self.state)], ["COMPLETED", "HALTED"])
        self.assertTrue(all(job.status()["stage"] in FINAL for job in ration.jobs(self.state)))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
