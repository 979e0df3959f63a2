# SPDX-License-Identifier: BSL-1.0
"""`session.py COMMAND...` runs the command in cgroups of its own, as a second login has. ration finds, and cleans, only what is below its own group,
so tests that kill ration or call `ration clean` can run beside each other. A process that the command leaves there is killed."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

CLEARING = 30  # seconds


class Session:
    """A group of its own in each hierarchy, as a second login has: what is started there finds, and cleans, the groups of no other run."""

    def __init__(self, name: str) -> None:
        self.groups = []
        for place in self.places():
            group = place / f"ration-test-session.{name}"
            group.mkdir()
            self.groups.append(group)
            for file in ("cpuset.cpus", "cpuset.mems"):  # v1: without them no process may enter
                if (group / file).exists() and (group / "tasks").exists():
                    (group / file).write_text((place / file).read_text())

    @staticmethod
    def places() -> list[pathlib.Path]:
        """The groups of this process, in the hierarchies that are mounted under their controllers' own names."""
        found = []
        for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            for name in (names.split(",")[0], "unified") if not names else (names, names.split(",")[0]):
                place = pathlib.Path("/sys/fs/cgroup", name, path.lstrip("/"))
                if name and (place / "cgroup.procs").exists() and os.access(place, os.W_OK):
                    found.append(place)
                    break
        return found

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
        until = time.monotonic() + CLEARING
        for group in self.groups:
            for folder, _, _ in os.walk(group, topdown=False):
                while not self.cleared(pathlib.Path(folder)):
                    if time.monotonic() > until:
                        raise TimeoutError(f"{folder} cannot be removed")
                    time.sleep(0.01)

    @staticmethod
    def cleared(group: pathlib.Path) -> bool:
        with contextlib.suppress(FileNotFoundError):
            if (group / "freezer.state").exists():
                (group / "freezer.state").write_text("THAWED")
            for pid in (group / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            try:
                group.rmdir()
            except OSError:
                return False
        return True


def main() -> int:
    session = Session(f"session.{os.getpid()}")
    try:
        return subprocess.run(sys.argv[1:], preexec_fn=session.enter, check=False).returncode % 256
    finally:
        session.clear()


if __name__ == "__main__":
    sys.exit(main())
