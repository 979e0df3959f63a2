# SPDX-License-Identifier: BSL-1.0
"""The policies of this program, which a service runs in processes of their own: a crash costs neither the service nor a job."""
import contextlib
import json
import os
import pathlib
import signal
import unittest

from support import ServiceTest

CONFIG = """policy = "drf"
fallback = "fifo"
devices = {{ count = 2, cpu = 0.1 }}
tick = "50ms"
{more}
"""


class Workers(ServiceTest):
    def start(self, *options: str, backend: str = "process", more: str = "", **_) -> None:
        config = self.folder / "service.toml"
        config.write_text(CONFIG.format(more=more))
        super().start("--config", str(config), *options, backend=backend)

    def workers(self) -> dict[str, int]:
        """The processes of policies, by the name of the policy."""
        found = {}
        for pid in pathlib.Path(f"/proc/{self.service.pid}/task/{self.service.pid}/children").read_text().split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
                if words[1:2] == ["policy-worker"]:
                    found[words[2]] = int(pid)
        return found

    def submit_job(self, name: str) -> str:
        file = self.folder / f"{name}.toml"
        file.write_text(f'[[job]]\nname = "{name}"\ncommand = ["sh", "-c", "echo $$ > {name}.pid; exec sleep 60"]\nbounds = {{ gpu = {{ min = 1, max = 1 }} }}\n')
        return self.submit(str(file))

    def pid_of(self, name: str) -> int:
        file = self.folder / f"{name}.pid"
        self.wait_for(lambda: file.exists() and file.read_text().endswith("\n"))
        return int(file.read_text())

    def crash(self, policy: str) -> None:
        """Ends its process as its own fault would, and waits until the service has seen that."""
        self.wait_for(lambda: policy in self.workers())
        pid = self.workers()[policy]
        os.kill(pid, signal.SIGSEGV)
        self.wait_for(lambda: self.workers().get(policy) != pid)

    def events(self, kind: str) -> list[dict]:
        lines = (self.state / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == kind]

    def warnings(self) -> list[str]:
        return [event["message"] for event in self.events("warning")]

    def test_a_crash_costs_no_job_and_the_policy_comes_back(self) -> None:
        self.wait_for(lambda: set(self.workers()) == {"drf", "fifo"})
        first = self.submit_job("first")
        pid = self.pid_of("first")
        self.crash("drf")
        second = self.submit_job("second")
        self.pid_of("second")
        self.wait_for(lambda: [self.job(label)["stage"] for label in (first, second)] == ["PROCESSING", "PROCESSING"])
        self.assertEqual(self.pid_of("first"), pid)
        os.kill(pid, 0)
        self.assertIn("its worker was killed by signal SIGSEGV; the last good limits stay", self.warnings())
        self.assertIn("drf", self.workers())
        self.assertEqual(self.events("run")[-1]["isolation"], "worker")
        self.assertIsNone(self.service.poll())

    def test_after_three_crashes_the_fallback_decides(self) -> None:
        first = self.submit_job("first")
        pid = self.pid_of("first")
        while not any("fifo decides from now on" in line for line in self.warnings()):  # three within 64 ticks
            self.crash("drf")
            self.wait_for(lambda: "drf" in self.workers() or any("decides from now on" in line for line in self.warnings()))
        self.assertNotIn("drf", self.workers())
        second = self.submit_job("second")
        self.pid_of("second")
        self.wait_for(lambda: [self.job(label)["stage"] for label in (first, second)] == ["PROCESSING", "PROCESSING"])
        os.kill(pid, 0)

    def test_a_policy_that_hangs_is_ended_and_the_service_goes_on(self) -> None:
        self.submit_job("first")
        self.pid_of("first")
        self.wait_for(lambda: "drf" in self.workers())
        hangs = self.workers()["drf"]
        os.kill(hangs, signal.SIGSTOP)
        self.wait_for(lambda: hangs not in self.workers().values())
        self.assertIn("did not answer before its deadline; the last good limits stay", self.warnings())
        self.submit_job("second")
        self.pid_of("second")

    def test_workers_end_with_their_service_and_with_another_policy(self) -> None:
        self.wait_for(lambda: set(self.workers()) == {"drf", "fifo"})
        self.ration("policy", "set", "las")
        self.wait_for(lambda: "las" in self.workers())
        self.ration("policy", "set", "drf")
        self.wait_for(lambda: set(self.workers()) == {"drf", "fifo"})
        left = self.workers().values()
        self.kill()
        self.wait_for(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in left))

    def test_the_configuration_can_keep_a_policy_in_the_service(self) -> None:
        self.kill(signal.SIGTERM)
        self.start(more='isolation = { drf = "in-process" }')
        self.submit_job("first")
        self.pid_of("first")
        self.assertEqual(set(self.workers()), {"fifo"})
        self.assertEqual(self.events("run")[-1]["isolation"], "none")

    def test_wrong_parameters_are_refused_and_the_policy_stays(self) -> None:
        self.ration("policy", "set", "las", "--set", "las.promote=0")
        self.wait_for(lambda: "las" in self.workers())
        self.submit_job("first")
        self.pid_of("first")
        self.ration("policy", "set", "las", "--set", "las.promote=-1", code=2)
        self.assertEqual(set(self.workers()), {"las", "fifo"})


if __name__ == "__main__":
    unittest.main()
