# SPDX-License-Identifier: BSL-1.0
"""`ration check` contains plugins that attack it, names the fault of each, and leaves nothing of them behind.

Each attack first runs under a host that contains nothing, in separate namespaces, to show that it is an attack.
"""
import concurrent.futures
import json
import os
import pathlib
import platform
import re
import subprocess
import time
import unittest
from typing import Callable, NamedTuple

import arena

PROGRAM, FOLDER = os.environ["RATION_PROGRAM"], pathlib.Path(os.environ["RATION_ATTACK"])
TOOLS = FOLDER.parent
UNGUARDED = TOOLS / "test.unguarded_host"
AT_ONCE = 2
KILLED = -9


def says(*lines: str) -> Callable[[arena.Outcome], bool]:
    return lambda seen: all(line in seen.stdout.splitlines() for line in lines)


def host_is_killed(seen: arena.Outcome) -> bool:
    return seen.status == KILLED


class Attack(NamedTuple):
    probe: str
    result: str
    why: str  # is part of the sentence
    succeeds: Callable[[arena.Outcome], bool]  # where nothing contains it


def refused(probe: str, call: str, succeeds: Callable[[arena.Outcome], bool]) -> Attack:
    return Attack(probe, "failed", f"it called {call}, which the sandbox of a worker refuses", succeeds)


def names_clone() -> bool:
    """False under a glibc that blocks all signals in fork, as 2.41 does and 2.36 does not. Both are tested; versions between count as 2.41."""
    version = os.confstr("CS_GNU_LIBC_VERSION")
    return version is None or tuple(map(int, version.split()[1].split("."))) <= (2, 36)


def without_name(attack: Attack) -> Attack:
    """SIGSYS ends the process before its handler can note the call."""
    return attack._replace(result="crashed", why="killed by SIGSYS (Bad system call): it made a system call that the sandbox of a worker refuses")


NO_END = "it did not come back before the deadline and was killed"
EXITED = "the process ended with status 0 before the probe was through"

TABLE = {
    "kill_parent": refused("life/create", "kill", host_is_killed),
    "kill_all": refused("load/open", "kill", host_is_killed),
    "call_as_32_bit": Attack("life/create", "crashed", "killed by SIG", host_is_killed),
    "ptrace_parent": refused("life/create", "ptrace", lambda seen: seen.held),
    "write_parent_memory": refused("life/create", "openat to write to a file", says("its memory was changed")),
    "starve_parent": refused("life/create", "prlimit64", says("its limits were changed", "its priority was changed")),
    "outlive_parent": refused("life/create", "prctl", says("on its own")),
    "write_files": refused("life/create", "openat to write to a file", lambda seen: seen.files == ["attacked", "attacked", arena.VICTIM]),
    "unlink_files": refused("life/create", "unlink", lambda seen: seen.files == []),
    "read_files": Attack("life/create", "crashed", "killed by SIGABRT", says(arena.SECRET)),
    "leave_ipc": refused("life/create", "shmget", lambda seen: seen.ipc == 3 and seen.files.count("ration-attack") == 2),
    "start_daemon": refused("load/open", "clone", lambda seen: len(seen.processes) == 1),
    "fork_bomb": refused("decide/answer", "clone", lambda seen: len(seen.processes) == 64),
    "thread_bomb": Attack("life/create", "failed", "it started more than 256 threads and was killed", says("2000 threads")),
    "fill_memory": Attack("life/create", "failed", "create returned RATION_E_NOMEM", says("8192 MiB")),
    "flood_output": Attack("life/create", "crashed", "killed by SIGXFSZ", lambda seen: len(seen.stdout) >= 64 << 20),
    "steer_terminal": Attack("life/create", "failed", "create returned RATION_E_ARG", lambda seen: "\033]0;owned\007" in seen.stdout),
    "run_from_memory": refused("life/create", "memfd_create", lambda seen: "attacked" in seen.files),
    "use_io_uring": refused("life/create", "io_uring_setup", says("a ring")),
    "open_socket": refused("life/create", "socket", says("connected")),
    "close_descriptors": Attack("life/process", "failed", "it closed or replaced descriptor 0", says("exit 98")),
    "forge_answers": Attack("life/create", "crashed", EXITED, says("exit 0", "answered")),
    "exit_in_constructor": Attack("load/open", "crashed", EXITED, says("exit 0")),
    "override_exit": Attack("life/create", "timed out", "the probe was through, but its process did not end", says("signal 11", "answered")),
    "replace_handlers": Attack("life/process", "failed", "it replaced the handler of signal 7", lambda seen: seen.files == []),
    "block_signals": Attack("life/create", "timed out", NO_END, says("computes without end", "ignores SIGTERM")),
    "stop_itself": Attack("life/create", "crashed", "it stopped its process", says("stopped")),
    "loop_in_constructor": Attack("load/open", "timed out", NO_END, says("computes without end")),
    "loop_in_destructor": Attack("life/unload", "timed out", NO_END, says("computes without end")),
}


def plugin(name: str) -> str:
    return str(FOLDER / f"attack_{name}.so")


def check(name: str, *words: str, through: tuple[str, ...] = ()) -> arena.Outcome:
    """As on a kernel that lacks each of `through`."""
    return arena.run([*(str(TOOLS / f"test.without_{what}") for what in through), PROGRAM, "check", plugin(name), *words])


def unguarded(name: str) -> arena.Outcome:
    return arena.run([str(UNGUARDED), plugin(name)])


def all_of(action: Callable, names) -> dict:
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(names, pool.map(action, names)))


def has_io_uring() -> bool:
    setting = pathlib.Path("/proc/sys/kernel/io_uring_disabled")
    return setting.exists() and setting.read_text().strip() == "0"


def does_nothing_here(name: str) -> bool:
    return name == "call_as_32_bit" and platform.machine() != "x86_64" or name == "use_io_uring" and not has_io_uring()


class Case(unittest.TestCase):
    maxDiff = None

    def assert_nothing_left(self, seen: arena.Outcome) -> None:
        self.assertEqual((seen.files, seen.processes, seen.ipc, seen.held), ([arena.VICTIM], [], 0, False))

    def assert_named(self, name: str, seen: arena.Outcome) -> None:
        attack = TABLE[name]
        red = [p for p in json.loads(seen.stdout)["probes"] if p["result"] not in ("passed", "skipped")]
        if "called clone" in attack.why and not names_clone():
            attack = without_name(attack)
        self.assertEqual([(p["probe"], p["result"]) for p in red], [(attack.probe, attack.result)], red)
        self.assertIn(attack.why, red[0]["why"])
        self.assertEqual(seen.status, 1)


class Attacks(Case):
    def test_each_succeeds_where_nothing_contains_it(self) -> None:
        for name, seen in all_of(unguarded, [name for name in TABLE if not does_nothing_here(name)]).items():
            with self.subTest(name):
                self.assertTrue(TABLE[name].succeeds(seen), seen._replace(stdout=seen.stdout[-500:]))

    def test_each_is_contained_and_named(self) -> None:
        for name, seen in all_of(lambda name: check(name, "--json"), TABLE).items():
            with self.subTest(name):
                self.assert_named(name, seen)
                self.assertEqual(seen.stderr, "")
                self.assertNotIn(arena.SECRET, seen.stdout)
                self.assert_nothing_left(seen)

    def test_what_one_prints_cannot_steer_the_terminal(self) -> None:
        seen = check("steer_terminal")
        self.assertIn("red", seen.stdout)
        self.assertEqual(re.findall(r"[^\n\x20-\x7e]", seen.stdout), [])


class Kernels(Case):
    """What other kernels lack."""

    def test_without_namespaces_they_are_contained_as_well(self) -> None:
        for name, seen in all_of(lambda name: check(name, "--json", through=("namespaces",)),
                                 ("kill_parent", "start_daemon", "fork_bomb", "thread_bomb", "stop_itself", "leave_ipc")).items():
            with self.subTest(name):
                self.assert_named(name, seen)
                self.assert_nothing_left(seen)

    def test_a_plugin_has_a_namespace_where_the_kernel_allows_it(self) -> None:
        self.assertIn("process 2\n", check("steer_terminal").stdout)
        self.assertNotIn("process 2\n", check("steer_terminal", through=("namespaces",)).stdout)

    def test_without_landlock_a_warning_says_that_it_can_read(self) -> None:
        self.assertIn(arena.SECRET, check("read_files", through=("landlock",)).stdout)
        for name, seen in all_of(lambda name: check(name, "--json", through=("landlock",)), ("read_files", "write_files", "write_parent_memory", "run_from_memory")).items():
            with self.subTest(name):
                self.assertEqual(seen.stderr, "ration: warning: this kernel has no Landlock, so a policy from a file can read every file that you can read\n")
                self.assert_named(name, seen)
                self.assert_nothing_left(seen)

    def test_without_seccomp_no_code_of_the_plugin_runs(self) -> None:
        for name in ("kill_all", "write_files"):
            for missing in (("seccomp",), ("landlock", "seccomp"), ("namespaces", "seccomp")):
                with self.subTest(name, missing=missing):
                    seen = check(name, through=missing)
                    self.assertEqual((seen.status, seen.stdout), (3, ""))
                    self.assertIn(f"ration: {plugin(name)}: it cannot be contained, so its code was not run: this kernel has no seccomp filters; "
                                  "check it outside of this container or on another kernel\n", seen.stderr)
                    self.assert_nothing_left(seen)


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def descendants_of(pid: int) -> list[int]:
    return [one for child in children_of(pid) for one in (child, *descendants_of(child))]


def is_alive(pid: int) -> bool:
    try:
        return not re.search(r"^State:\t[ZX]", pathlib.Path(f"/proc/{pid}/status").read_text(), flags=re.M)
    except OSError:
        return False


class Killed(unittest.TestCase):
    """The program itself is killed while a plugin runs."""

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        last = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), last, what)
            time.sleep(0.01)

    def test_nothing_outlives_it(self) -> None:
        process = subprocess.Popen([PROGRAM, "check", plugin("loop_in_constructor")], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        while not process.stdout.readline().startswith("file/manifest"):  # the next probe loads it
            pass
        found: list[int] = []
        self.wait_until(lambda: found.extend(descendants_of(process.pid)) or len(set(found)) >= 2, "it has started no processes")
        process.kill()
        process.wait()
        self.wait_until(lambda: not any(map(is_alive, found)), f"of {found} some live")


if __name__ == "__main__":
    if not arena.available():
        print("skipped: attacks run in namespaces, and this user cannot make any")
        raise SystemExit(77)
    unittest.main()
