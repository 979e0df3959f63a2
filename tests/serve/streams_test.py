# SPDX-License-Identifier: BSL-1.0
"""Events of a running service: the stages of jobs over a restart, changes of limits, and clients that do not read."""
import json
import os
import pathlib
import socket
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import ration
import serve_test
from support import FINAL, ROOT, ServiceTest

DOCUMENT = json.loads((ROOT / "docs/service-api.json").read_text())


class Streams(ServiceTest):
    check = serve_test.Document.check

    def events(self, last: int | None = None):
        return ration.Service(self.state).watch_events(last)

    def until_the_end_of(self, label: str, events) -> list[tuple[int, dict]]:
        """The stages up to the last one of a job."""
        found = []
        for number, name, content in events:
            if name == "stage":
                self.check(DOCUMENT, DOCUMENT["components"]["schemas"]["StageEvent"], content)
                found.append((number, content))
                if content["label"] == label and content["stage"] in FINAL:
                    return found
        self.fail("the events ended")

    def test_stages_are_those_of_the_history_also_over_a_restart(self) -> None:
        events = self.events()
        self.assertEqual(next(events)[:2], (0, "open"))
        label = self.submit("--name", "a", "--", "sh", "-c", "sleep 1.5; exit 3")
        first = []
        for number, name, content in events:
            if name == "stage":
                first.append((number, content))
                if content["stage"] == "PROCESSING":
                    break
        self.kill()
        self.start()
        rest = self.until_the_end_of(label, self.events(first[-1][0]))
        stages = [content for _, content in first + rest]
        self.assertEqual([number for number, _ in first + rest], list(range(1, len(stages) + 1)))
        members = ("incarnation", "stage", "at_ms", "step", "why")
        self.assertEqual([{name: one[name] for name in members} for one in stages], self.job(label)["history"])
        self.assertEqual((stages[-1]["exit_code"], stages[0]["exit_code"]), (3, None))

    def test_limits_come_at_most_once_a_second(self) -> None:
        label = self.submit("--name", "busy", "--", "sh", "-c", "timeout 4 sh -c 'while :; do :; done'; true")
        began, seen = time.monotonic(), []
        for _, name, content in self.events():
            if name == "limits":
                self.check(DOCUMENT, DOCUMENT["components"]["schemas"]["Running"], content)
                seen.append((time.monotonic() - began, content))
            if name == "stage" and content["stage"] in FINAL:
                break
        self.assertTrue(any(job["label"] == label and job["used_cores"] > 0 for _, content in seen for job in content["jobs"]), seen)
        self.assertTrue(all(job["held_cores"] is None or job["held_cores"] <= (os.cpu_count() or 1) for _, content in seen for job in content["jobs"]), seen)
        self.assertLessEqual(len(seen), seen[-1][0] + 2)
        self.assertGreaterEqual(len(seen), 2)

    def test_clients_that_do_not_read_change_nothing_for_others(self) -> None:
        deaf = []
        for _ in range(31):
            one = socket.socket(socket.AF_UNIX)
            one.connect(str(self.state / "socket"))
            one.sendall(b"GET /v1/events HTTP/1.1\r\nLast-Event-ID: 0\r\n\r\n")
            deaf.append(one)
            self.addCleanup(one.close)
        events = self.events()
        self.assertEqual(next(events)[1], "open")
        with self.assertRaisesRegex(ration.ServiceError, "too many clients"):
            next(self.events())
        label = self.submit("--", "true")
        self.assertTrue(self.until_the_end_of(label, events))
        deaf.pop().close()
        self.wait_for(lambda: self.can_watch())

    def can_watch(self) -> bool:
        try:
            return next(self.events())[1] == "open"
        except ration.ServiceError:
            return False


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
