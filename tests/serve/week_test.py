# SPDX-License-Identifier: BSL-1.0
"""The commands of docs/shared-machine.md, day by day, with parts of the CPU instead of GPUs."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import unittest

from support import PATIENCE, RATION, ROOT, Connection, ServiceTest

# vae trains until it is stopped, and cnn takes 2 s
TRAIN = f"""
import os, sys
steps = "40" if os.environ["RATION_JOB"].startswith("cnn") else "1000000"
os.execv(sys.executable, [sys.executable, {str(ROOT / "tests/run/elastic_job.py")!r}, "good", steps])
"""


class Week(ServiceTest):
    def setUp(self) -> None:
        super().setUp()
        self.kill()  # the page starts another service
        self.state = self.folder / ".local/state/ration"
        (self.folder / "bin").mkdir()
        (self.folder / "bin/ration").symlink_to(RATION)
        (self.folder / "bin/python3").symlink_to(sys.executable)
        (self.folder / "train.py").write_text(TRAIN)
        self.environment |= {"HOME": str(self.folder), "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "python")}
        self.environment.pop("XDG_STATE_HOME", None)
        self.days = re.split(r"^## ", (ROOT / "docs/shared-machine.md").read_text(), flags=re.MULTILINE)[1:]
        self.addCleanup(self.end_service)

    def service_pid(self) -> int:
        """0: none listens."""
        with contextlib.closing(Connection(str(self.state / "socket"))) as connection:
            try:
                connection.request("GET", "/v1/service")
                return json.loads(connection.getresponse().read())["pid"]
            except OSError:
                return 0

    def end_service(self) -> None:
        if pid := self.service_pid():
            os.kill(pid, signal.SIGKILL)

    def run_day(self) -> str:
        """Writes the files of the next day, runs its commands, and returns what they print."""
        day = self.days.pop(0)
        for name, text in re.findall(r"```toml\n# (\S+)\n(.*?)```", day, re.DOTALL):
            if name == "lab.toml":
                text = f'devices = {{ count = 2, cpu = 0.1 }}\ntick = "100ms"\n{text}'
            (self.folder / name).write_text(text)
        commands = "\n".join(re.findall(r"```sh\n(.*?)```", day, re.DOTALL))
        self.assertTrue(commands, day)
        with open(self.folder / "printed", "w+") as printed:  # a pipe would be open as long as the service runs
            code = subprocess.run(["bash", "-ec", commands], cwd=self.folder, env=self.environment, stdout=printed, stderr=printed, timeout=PATIENCE, check=False).returncode
            printed.seek(0)
            text = printed.read()
        self.assertEqual(code, 0, text)
        return text

    def holders(self) -> list[str]:
        """The jobs that have a device and train."""
        return sorted(job["label"] for job in self.ask("GET", "/v1/running")[1]["jobs"] if job["devices"] == 1 and job["step"] > 0)

    def test_two_users_share_two_devices(self) -> None:
        self.run_day()
        self.wait_for(self.service_pid)
        self.assertIn("vae-1 (index 1)\nvae-2 (index 2)\n", self.run_day())
        self.wait_for(lambda: self.holders() == ["vae-1", "vae-2"])
        self.assertIn("cnn-3\n", self.run_day())
        self.wait_for(lambda: self.holders() == ["vae-1", "vae-2"])
        events = [json.loads(line) for line in (self.state / "events.jsonl").read_text().splitlines()]
        self.assertEqual({event["job"] for event in events if event["event"] == "change" and event["resource"] == "gpu" and event["old"] == "1"}, {"vae-2"})
        self.run_day()
        self.wait_for(lambda: self.job("vae-2")["incarnation"] == 2)
        before = self.service_pid()
        self.run_day()
        self.wait_for(lambda: self.service_pid() not in (0, before))
        self.wait_for(lambda: self.holders() == ["vae-1", "vae-2"])
        self.assertIn(f"{self.state} ", self.run_day())
        self.run_day()
        self.wait_for(lambda: sorted((self.folder / "ends").read_text().splitlines()) == ["cnn-3: COMPLETED", "vae-1: HALTED", "vae-2: HALTED"])
        self.assertEqual(self.days, [])
        self.assertTrue((self.folder / "week.html").exists())
        self.assertFalse((self.folder / "conflict").exists())  # two jobs on one device


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
