# SPDX-License-Identifier: BSL-1.0
"""session.py passes on the exit code, ends what its command leaves in the groups of the session, and runs alone where a group is missing."""
import contextlib
import fcntl
import glob
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import session
from session import Session
from support import main

SESSION = [sys.executable, "-B", str(pathlib.Path(__file__).with_name("session.py"))]
# As in a container without a cgroup namespace: the mount shows a part of the hierarchy, and the paths are those of the whole.
CONTAINER = ("4:cpu,cpuacct:/docker/c\n3:name=systemd:/elsewhere\n2:net_cls:/docker/c\n0::/docker/c\n",
             "40 30 0:30 /docker/c /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
             "41 30 0:31 /docker/c /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n")
WHOLE_V2 = ("0::/user.slice\n", "40 30 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n")


class InGroups(unittest.TestCase):
    def setUp(self) -> None:
        if not Session.places():
            self.skipTest("no hierarchy under its controller's own name")

    def test_the_exit_code_is_that_of_the_command(self) -> None:
        self.assertEqual(subprocess.run([*SESSION, "sh", "-c", "exit 7"], check=False).returncode, 7)

    def test_the_command_has_groups_of_its_own_and_nothing_of_it_stays(self) -> None:
        script = 'mkdir "$1/below"; sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >"$1/below/cgroup.procs"; echo $!; cat /proc/self/cgroup'
        where = Session.places()[0]
        with subprocess.Popen([*SESSION, "sh", "-c", f'set -- {where}/ration-test-session.*.$PPID; {script}'], stdout=subprocess.PIPE, text=True) as command:
            pid, *groups = command.stdout.read().splitlines()
        self.assertEqual(command.returncode, 0)
        self.assertTrue(any(f"/ration-test-session.session.{command.pid}" in line for line in groups), groups)
        stat = pathlib.Path("/proc", pid, "stat")
        self.assertTrue(not stat.exists() or ") Z " in stat.read_text(), "it lives")
        self.assertEqual(glob.glob(f"/sys/fs/cgroup/**/ration-test-session.session.{command.pid}", recursive=True), [])

    def test_a_group_that_cannot_be_made_leaves_none(self) -> None:
        first = Session.places()[0]
        with mock.patch.object(Session, "places", return_value=[first, pathlib.Path("/absent")]), self.assertRaises(FileNotFoundError):
            Session(f"half.{os.getpid()}")
        self.assertFalse((first / f"ration-test-session.half.{os.getpid()}").exists())

    def test_groups_of_a_killed_session_are_replaced(self) -> None:
        first = Session(f"twice.{os.getpid()}")
        self.addCleanup(first.clear)
        left = subprocess.Popen(["sleep", "1000"], preexec_fn=first.enter)
        self.addCleanup(left.wait)
        self.addCleanup(left.kill)
        second = Session(f"twice.{os.getpid()}")
        self.assertEqual(left.wait(), -signal.SIGKILL)
        self.assertEqual(second.groups, first.groups)
        second.remove()


class Anywhere(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_process_of_another_pid_namespace_is_left_alone(self) -> None:
        (self.folder / "cgroup.procs").write_text("0\n4000001\n")
        with mock.patch("os.kill") as kill:
            self.assertFalse(Session.cleared(self.folder))
        kill.assert_called_once_with(4000001, signal.SIGKILL)

    def is_shared(self, machine: tuple[str, str], *groups: str) -> bool:
        for group in groups:
            (self.folder / group).mkdir(parents=True)
            (self.folder / group / "cgroup.procs").touch()
        return session.is_shared(*machine, self.folder)

    def test_groups_are_shared_where_the_path_is_not_below_the_mount(self) -> None:
        self.assertTrue(self.is_shared(CONTAINER, "cpu,cpuacct"))

    def test_groups_are_not_shared_where_each_mounted_hierarchy_has_one(self) -> None:
        self.assertFalse(self.is_shared(CONTAINER, "cpu,cpuacct/docker/c"))

    def test_groups_are_shared_where_cgroup_v2_is_the_only_hierarchy(self) -> None:
        self.assertTrue(self.is_shared(WHOLE_V2, "user.slice"))

    def runs_alone(self, shared: bool) -> bool:
        """Whether the command of a session finds the lock taken."""
        path = self.folder / f"ration-test-session.{os.getuid()}.lock"
        path.touch()
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(tempfile, "tempdir", str(self.folder)))
            stack.enter_context(mock.patch.object(session, "is_shared", return_value=shared))
            stack.enter_context(mock.patch.object(sys, "argv", ["session.py", "flock", "--nonblock", str(path), "true"]))
            stack.enter_context(mock.patch.object(Session, "places", return_value=[]))
            free = session.main() == 0
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # no longer held
        return not free

    def test_a_session_with_shared_groups_runs_alone(self) -> None:
        self.assertTrue(self.runs_alone(shared=True))
        self.assertFalse(self.runs_alone(shared=False))


if __name__ == "__main__":
    main()
