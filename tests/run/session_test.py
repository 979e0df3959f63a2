# SPDX-License-Identifier: BSL-1.0
"""session.py passes on the exit code, and ends what its command leaves in the groups of the session."""
import glob
import pathlib
import subprocess
import sys
import unittest

from session import Session

SESSION = [sys.executable, "-B", str(pathlib.Path(__file__).with_name("session.py"))]


class SessionTest(unittest.TestCase):
    def setUp(self) -> None:
        if not Session.places():
            self.skipTest("no hierarchy under its controller's own name")

    def test_the_exit_code_is_that_of_the_command(self) -> None:
        self.assertEqual(subprocess.run([*SESSION, "sh", "-c", "exit 7"], check=False).returncode, 7)

    def test_the_command_has_groups_of_its_own_and_nothing_of_it_stays(self) -> None:
        script = 'mkdir "$1/below"; sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >"$1/below/cgroup.procs"; echo $!; cat /proc/self/cgroup'
        where = Session.places()[0]
        with subprocess.Popen([*SESSION, "sh", "-c", f'set -- {where}/ration-test-session.*.$PPID; {script}'], stdout=subprocess.PIPE, text=True) as session:
            pid, *groups = session.stdout.read().splitlines()
        self.assertEqual(session.returncode, 0)
        self.assertTrue(any(f"/ration-test-session.session.{session.pid}" in line for line in groups), groups)
        stat = pathlib.Path("/proc", pid, "stat")
        self.assertTrue(not stat.exists() or ") Z " in stat.read_text(), "it lives")
        self.assertEqual(glob.glob(f"/sys/fs/cgroup/**/ration-test-session.session.{session.pid}", recursive=True), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
