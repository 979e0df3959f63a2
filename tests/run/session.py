# SPDX-License-Identifier: BSL-1.0
"""`session.py COMMAND...` runs the command in separate cgroups, as a second login does. ration finds, and cleans, only groups below that of its session,
so tests that kill ration or call `ration clean` can run beside each other. Where a hierarchy has no such group, they run one at a time. A process that
the command leaves in its groups is killed."""
import contextlib
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

CLEARING = 30  # seconds
HIERARCHIES = pathlib.Path("/sys/fs/cgroup")


def directory_of(names: str, path: str, hierarchies: pathlib.Path = HIERARCHIES) -> pathlib.Path | None:
    """The directory of a group in a hierarchy that is mounted under its controllers' own names. `names`: the controllers, or nothing for version 2."""
    for name in (names, names.split(",")[0]) if names else ("unified",):
        place = hierarchies / name / path.lstrip("/")
        if (place / "cgroup.procs").exists():
            return place
    return None


def own_groups(text: str | None = None) -> list[tuple[str, str]]:
    """The controllers and the path of each group of this process. `text`: of /proc/self/cgroup."""
    lines = (pathlib.Path("/proc/self/cgroup").read_text() if text is None else text).splitlines()
    return [(names, path) for _, names, path in (line.split(":", 2) for line in lines)]


def mounted(text: str | None = None) -> set[str]:
    """The controllers of all mounted hierarchies; "" means version 2. `text`: of /proc/self/mountinfo."""
    found = set()
    for line in (pathlib.Path("/proc/self/mountinfo").read_text() if text is None else text).splitlines():
        kind, _, options = line.partition(" - ")[2].split(" ", 2)
        if kind == "cgroup2":
            found.add("")
        elif kind == "cgroup":
            found.update(options.split(","))
    return found


def is_shared(cgroups: str | None = None, mounts: str | None = None, hierarchies: pathlib.Path = HIERARCHIES) -> bool:
    """Whether a hierarchy that ration can use is mounted, and `Session` makes no group there, because its directory is not known."""
    used = mounted(mounts)
    return any(not names.startswith("name=") and used.intersection(names.split(",")) and directory_of(names, path, hierarchies) is None
               for names, path in own_groups(cgroups))


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Waits until no other process of this user is here."""
    path = pathlib.Path(tempfile.gettempdir(), f"ration-test-session.{os.getuid()}.lock")
    file = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)  # others may write to the folder
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


class Session:
    """A group in each hierarchy, as a second login has. A command in it finds, and cleans, only the groups of its runs."""

    def __init__(self, name: str) -> None:
        self.groups = []
        try:
            for place in self.places():
                self.make(place, name)
        except OSError:
            self.clear()
            raise

    def make(self, place: pathlib.Path, name: str) -> None:
        group = place / f"ration-test-session.{name}"
        self.clear_group(group)  # of a session that was killed, and had the same process number
        group.mkdir()
        self.groups.append(group)
        for file in ("cpuset.cpus", "cpuset.mems"):  # v1: without them no process may enter
            if (group / file).exists() and (group / "tasks").exists():
                (group / file).write_text((place / file).read_text())

    @staticmethod
    def places() -> list[pathlib.Path]:
        """The groups of this process in which it may make others, in the hierarchies that are mounted under their controllers' own names."""
        found = [directory_of(names, path) for names, path in own_groups()]
        return [place for place in found if place is not None and os.access(place, os.W_OK)]

    def enter(self) -> None:
        """Moves the calling process there."""
        for group in self.groups:
            (group / "cgroup.procs").write_text("0")

    def children(self) -> list[str]:
        return [str(one) for group in self.groups for one in group.iterdir() if one.is_dir()]

    def remove(self) -> None:
        for group in self.groups:
            group.rmdir()

    def clear(self) -> None:
        """Kills what is left there, and removes the groups with all below them."""
        for group in self.groups:
            self.clear_group(group)

    @classmethod
    def clear_group(cls, group: pathlib.Path) -> None:
        until = time.monotonic() + CLEARING
        for folder, _, _ in os.walk(group, topdown=False):
            while not cls.cleared(pathlib.Path(folder)):
                if time.monotonic() > until:
                    raise TimeoutError(f"{folder} cannot be removed")
                time.sleep(0.01)

    @staticmethod
    def cleared(group: pathlib.Path) -> bool:
        with contextlib.suppress(FileNotFoundError):
            if (group / "freezer.state").exists():
                (group / "freezer.state").write_text("THAWED")
            for pid in (group / "cgroup.procs").read_text().split():
                if pid == "0":  # of another pid namespace; kill(0) would end the process group of the caller
                    continue
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            try:
                group.rmdir()
            except OSError:
                return False
        return True


def main() -> int:
    with alone() if is_shared() else contextlib.nullcontext():
        session = Session(f"session.{os.getpid()}")
        try:
            return subprocess.run(sys.argv[1:], preexec_fn=session.enter, check=False).returncode % 256
        finally:
            session.clear()


if __name__ == "__main__":
    sys.exit(main())
