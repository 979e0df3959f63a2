# SPDX-License-Identifier: BSL-1.0
"""The unit for systemd: systemd finds no fault with it, and what it starts works in the folders that it asks for."""
import configparser
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

from support import RATION, Installed, main

JOBS = """policy = "none"
[[job]]
name = "one"
command = ["/bin/true"]
target = { loss = { acceptable = 1 } }
"""


class Unit(Installed):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="ration-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        places = [self.prefix / "lib" / "systemd" / whose / "ration@.service" for whose in ("system", "user")]
        self.text = places[0].read_text()
        self.assertEqual(self.text, places[1].read_text())
        self.unit = configparser.ConfigParser(interpolation=None, strict=True)
        self.unit.optionxform = str
        self.unit.read_string(self.text)

    def test_its_groups_are_rations_and_its_end_is_orderly(self) -> None:
        service = self.unit["Service"]
        self.assertEqual(service["Delegate"], "yes")
        self.assertEqual(service["KillMode"], "mixed")
        self.assertGreater(int(service["TimeoutStopSec"].removesuffix("s")), 160)  # jobs have 150 s to save and stop, then 10 s
        self.assertEqual(service["SuccessExitStatus"], "4")  # interrupted, as by `systemctl stop`

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_finds_no_fault(self) -> None:
        unit = self.folder / "ration@jobs.service"
        unit.write_text(self.text.replace("=ration ", f"={RATION} ").replace("=-mv ", f"=-{shutil.which('mv')} "))
        for whose in ("--system", "--user"):
            done = subprocess.run(["systemd-analyze", whose, "--man=no", "verify", unit], capture_output=True, text=True, check=False,
                                  env=dict(os.environ, XDG_RUNTIME_DIR=str(self.folder), HOME=str(self.folder)))
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), whose)
        unit.write_text(unit.read_text().replace("Delegate", "Dellegate"))
        done = subprocess.run(["systemd-analyze", "--man=no", "verify", unit], capture_output=True, text=True, check=False)
        self.assertIn("Dellegate", done.stderr)  # it does look at the keys

    def expanded(self, text: str) -> str:
        for sign, place in (("%E", "etc"), ("%L", "log"), ("%S", "lib"), ("%t", "run")):
            text = text.replace(sign, str(self.folder / place))
        return text.replace("%i", "jobs")

    def start(self) -> None:
        service = self.unit["Service"]
        subprocess.run(self.expanded(service["ExecStartPre"].removeprefix("-")).split(), check=False, capture_output=True)
        words = self.expanded(service["ExecStart"]).split()
        self.assertEqual(words[0], "ration")
        done = subprocess.run([RATION, *words[1:]], cwd=self.expanded(service["WorkingDirectory"]), capture_output=True, text=True, check=False,
                              timeout=30, env=dict(os.environ, XDG_RUNTIME_DIR=str(self.folder / "run")))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_it_starts_finds_its_folders(self) -> None:
        for key, sign in (("StateDirectory", "%S"), ("LogsDirectory", "%L"), ("RuntimeDirectory", "%t")):
            pathlib.Path(self.expanded(f"{sign}/{self.unit['Service'][key]}")).mkdir(parents=True, mode=0o700)
        jobs = pathlib.Path(self.expanded("%E/ration/%i.toml"))
        jobs.parent.mkdir(parents=True)
        jobs.write_text(JOBS)
        self.start()
        self.start()
        logs = self.folder / "log" / "ration" / "jobs"
        self.assertEqual(sorted(path.name for path in logs.iterdir()), ["events.jsonl", "events.jsonl.1"])
        self.assertTrue((self.folder / "lib" / "ration" / "jobs" / "ration-output" / "latest" / "one.log").exists())


class ServiceUnit(Installed):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="ration-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.texts = [(self.prefix / "lib" / "systemd" / whose / "ration.service").read_text() for whose in ("system", "user")]

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_finds_no_fault(self) -> None:
        unit = self.folder / "ration.service"
        for whose, text in zip(("--system", "--user"), self.texts):
            unit.write_text(text.replace("=ration ", f"={RATION} "))
            done = subprocess.run(["systemd-analyze", whose, "--man=no", "verify", unit], capture_output=True, text=True, check=False,
                                  env=dict(os.environ, XDG_RUNTIME_DIR=str(self.folder), HOME=str(self.folder)))
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), whose)

    def test_that_of_the_system_is_for_all_users(self) -> None:
        system, user = self.texts
        self.assertIn("ExecStart=ration serve --state /var/lib/ration-serve\n", system)  # clients of all users look there
        keys = [[line for line in text.splitlines() if "=" in line and not line.startswith(("#", "ExecStart=", "WantedBy="))] for text in (system, user)]
        self.assertEqual(*keys)

    def test_its_end_leaves_the_jobs_alone(self) -> None:
        """`KillMode=process` sends SIGTERM to the first process alone."""
        unit = configparser.ConfigParser(interpolation=None, strict=True)
        unit.optionxform = str
        unit.read_string(self.texts[1])
        self.assertEqual((unit["Service"]["KillMode"], unit["Service"]["Delegate"]), ("process", "yes"))
        (self.folder / "run").mkdir(mode=0o700)
        environment = dict(os.environ, HOME=str(self.folder), XDG_RUNTIME_DIR=str(self.folder / "run"))
        environment.pop("XDG_STATE_HOME", None)
        words = unit["Service"]["ExecStart"].split()[1:]
        job = 'echo x >> launches; until test -e end; do sleep 0.1; done'
        label = None
        for _ in range(2):
            with subprocess.Popen([RATION, *words, "--backend", "process"], cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True) as service:
                self.assertIn("ready", service.stdout.readline())
                if label is None:
                    label = subprocess.run([RATION, "submit", "--", "sh", "-c", job], cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True, check=True,
                                           timeout=60).stdout.strip()
                    while not (self.folder / "launches").exists():
                        time.sleep(0.05)
                else:
                    (self.folder / "end").touch()
                    subprocess.run([RATION, "wait", label], env=environment, check=True, timeout=60)
                service.terminate()
                self.assertEqual(service.wait(timeout=60), 0)
        self.assertEqual((self.folder / "launches").read_text(), "x\n")
        subprocess.run([RATION, "clean"], env=environment, check=True, stdout=subprocess.PIPE)


if __name__ == "__main__":
    main()
