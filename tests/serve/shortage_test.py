# SPDX-License-Identifier: BSL-1.0
"""A shortage of open files, processes, inodes or quota leaves a submitted job queued with its reason, and the job runs when the shortage ends.

Root starts the tests again as an account without rights, for which these limits hold, with the file systems of SMALL."""
import contextlib
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator

from support import PATIENCE, RATION, ServiceTest

ACCOUNT = 12347
INODES = 100
SMALL = {"inodes": f"nr_inodes={INODES}", "quota": f"usrquota_inode_hardlimit={INODES}"}  # folder: option of tmpfs
FOLDERS = "RATION_TEST_SMALL_FOLDERS"


class Shortage(ServiceTest):
    @contextlib.contextmanager
    def limit(self, kind: int, most: int) -> Iterator[None]:
        """Of the running service."""
        before = resource.prlimit(self.service.pid, kind, (most, resource.prlimit(self.service.pid, kind)[1]))
        try:
            yield
        finally:
            resource.prlimit(self.service.pid, kind, before)

    def submit_in_shortage(self, why: str) -> str:
        label = self.submit("--", "sh", "-c", "echo it ran")
        self.wait_for(lambda: "next launch in" in self.job(label)["history"][-1]["why"])
        self.assertEqual(self.job(label)["stage"], "QUEUED")
        self.assertIn(why, self.ration("status", label))
        return label

    def assert_runs(self, label: str) -> None:
        self.ration("wait", label)
        self.assertEqual(pathlib.Path(self.job(label)["log"]).read_text(), "it ran\n")

    def test_of_open_files(self) -> None:
        self.ration("wait", self.submit("--", "true"))
        used = {int(one) for one in os.listdir(f"/proc/{self.service.pid}/fd")}
        most = next(most for most in range(len(used) + 64) if sum(one not in used for one in range(most)) == 3)  # a client needs one, a launch more
        with self.limit(resource.RLIMIT_NOFILE, most):
            label = self.submit_in_shortage("Too many open files); raise the limit on open files: ulimit -n")
        self.assert_runs(label)

    def test_of_processes(self) -> None:
        if os.geteuid() == 0:
            self.skipTest("the limit does not hold for root")
        self.ration("wait", self.submit("--", "true"))  # the policy has its process then
        with self.limit(resource.RLIMIT_NPROC, 1):
            label = self.submit_in_shortage("Resource temporarily unavailable)")
        self.assert_runs(label)

    def test_of_processes_for_the_policy(self) -> None:
        if os.geteuid() == 0:
            self.skipTest("the limit does not hold for root")
        with self.limit(resource.RLIMIT_NPROC, 1):  # often before its process starts, else the launch alone fails
            label = self.submit("--", "sh", "-c", "echo it ran")
            self.wait_for(lambda: "its worker cannot start" in (self.state / "events.jsonl").read_text() or "next launch in" in self.job(label)["history"][-1]["why"])
            self.assertNotIn(self.job(label)["stage"], ("FAILED", "COMPLETED"))
            self.assertIsNone(self.service.poll())
        self.assert_runs(label)

    def fill_and_check(self, folder: str, why: str) -> None:
        place = pathlib.Path(os.environ.get(FOLDERS, ""), folder)
        if FOLDERS not in os.environ or not place.is_mount():
            self.skipTest(f"root, and a kernel with the option {SMALL[folder]} of tmpfs, are needed")
        self.kill()
        self.state = place / "state"
        self.start()
        self.ration("wait", self.submit("--", "true"))
        with self.assertRaises(OSError):
            for number in range(2 * INODES):
                (place / f"fill-{number}").touch()
        label = self.submit_in_shortage(why)
        for one in place.glob("fill-*"):
            one.unlink()
        self.assert_runs(label)

    def test_of_inodes(self) -> None:
        self.fill_and_check("inodes", "No space left on device); free space or inodes on its disk: df -h, df -i")

    def test_of_quota(self) -> None:
        self.fill_and_check("quota", "Disk quota exceeded); free some of the quota of its user: quota")


def interpreter_of_account() -> str | None:
    """A Python that can run this test as the account, if it can also start ration."""
    for python in (sys.executable, "/usr/bin/python3"):
        with contextlib.suppress(PermissionError, FileNotFoundError):
            programs = ([RATION, "--version"], [python, os.path.abspath(__file__), "--help"])
            if all(subprocess.run(one, user=ACCOUNT, group=ACCOUNT, extra_groups=[], cwd="/", capture_output=True, check=False).returncode == 0 for one in programs):
                return python
    return None


def test_as_account(python: str) -> int:
    """The exit code of the tests, run by an account without rights."""
    with tempfile.TemporaryDirectory(prefix="ration-test-") as folder:
        os.chmod(folder, 0o755)
        mount = f"mount -t tmpfs -o mode=700,uid={ACCOUNT},gid={ACCOUNT}"
        script = 'for one in "$@"; do mkdir "${one%%=*}"; ' + mount + ',"${one#*=}" none "${one%%=*}"; done 2> errors; '
        become = f"exec setpriv --reuid={ACCOUNT} --regid={ACCOUNT} --clear-groups {python} -B {os.path.abspath(__file__)}"
        return subprocess.run(["unshare", "-m", "sh", "-c", script + become, "sh", *(f"{name}={option}" for name, option in SMALL.items())], cwd=folder,
                              env={**os.environ, FOLDERS: folder}, check=False, timeout=PATIENCE).returncode


if __name__ == "__main__":
    if os.geteuid() == 0 and "--help" not in sys.argv and shutil.which("setpriv") and (found := interpreter_of_account()):
        sys.exit(test_as_account(found))
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
