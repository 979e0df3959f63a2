# SPDX-License-Identifier: BSL-1.0
"""A Slurm cluster of four nodes with four simulated GPUs each, on the loopback interface, for tests, benchmarks and examples.

Needs root, and Slurm's programs (cmake/packages.sh slurm). Everything is in one folder, and ends with the block:

    with Lab(folder) as lab:
        lab.run("squeue")

`Lab(folder, confined=True)` has Slurm's plugins task/cgroup and proctrack/cgroup, which confine each step to its CPUs and GPUs. It needs cgroup v1.

usage: lab.py run FOLDER COMMAND...    the cluster exists while the command runs
       lab.py fail NODE                within it: the machine of a node loses its power
       lab.py reason                   prints why this machine cannot have the cluster; exit code 1 in that case
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo", "scancel")
NODES, GPUS = 4, 4
PATIENCE = 30.0  # seconds

CONFIGURATION = """
ClusterName=ration
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={slurmd_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType={proctrack}
TaskPlugin={task}
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,defer_batch
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
KillWait=2
MinJobAge=300
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first_port}-{last_port}] CPUs={cpus} RealMemory=1000 Gres=gpu:{gpus} State=UNKNOWN
PartitionName=main Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP
"""


HIERARCHIES = [pathlib.Path("/sys/fs/cgroup", name) for name in ("freezer", "cpuset", "devices")]


def reason_against_confinement() -> str:
    """Why steps cannot be confined here; empty if they can."""
    missing = [str(folder) for folder in HIERARCHIES if not os.access(folder / "cgroup.procs", os.W_OK)]
    return f"task/cgroup of this lab needs cgroup v1, and {missing[0]} cannot be written" if missing else ""


def reason_against() -> str:
    """Why this machine cannot have the lab; empty if it can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if missing:
        return f"{', '.join(missing)} not installed (cmake/packages.sh slurm)"
    return "" if os.geteuid() == 0 else "the daemons of Slurm start as root only"


def _path() -> str:
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def _free_ports(count: int) -> int:
    """The first of `count` ports in a row that nothing listens to."""
    for first in range(20000, 30000, count):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for port, probe in enumerate(sockets, first):
                probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for probe in sockets:
                probe.close()
    raise OSError(f"no {count} free ports in a row")


class Lab:
    """The daemons, from the start of the block to its end."""

    def __init__(self, folder: pathlib.Path, confined: bool = False) -> None:
        self.folder, self.confined = folder, confined
        self.environment = {**os.environ, "PATH": _path(), "SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self) -> "Lab":
        try:
            self._configure()
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        pids = []
        for file in [*self.folder.glob("slurmd-n*.pid"), self.folder / "slurmctld.pid", self.folder / "munged.pid"]:
            pid = file.read_text().strip() if file.exists() else ""
            if pid.isdecimal() and _name_of(pid) in ("slurmd", "slurmctld", "munged"):
                os.kill(int(pid), signal.SIGTERM)
                pids.append(pid)
        deadline = time.monotonic() + PATIENCE
        while any(_name_of(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.05)
        if self.confined:
            self._remove_groups()

    def _remove_groups(self) -> None:
        """Slurm leaves the groups of its nodes."""
        for group in [hierarchy / f"slurm_n{number}" for hierarchy in HIERARCHIES for number in range(1, NODES + 1)]:
            for folder, _, _ in os.walk(group, topdown=False):
                os.rmdir(folder)

    def run(self, *words: object, check: bool = True) -> str:
        done = subprocess.run([str(word) for word in words], env=self.environment, text=True, capture_output=True, timeout=PATIENCE, check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"{words}: {done.stderr}")
        return done.stdout

    def submit(self, script: str, *options: str) -> int:
        """Submits a shell script. Returns the number of the job."""
        return int(self.run("sbatch", "--parsable", "--output=/dev/null", *options, "--wrap", script))

    def _configure(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        (self.folder / "state").mkdir()
        first = _free_ports(NODES + 2)
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, folder=self.folder, port=first, slurmd_port=first + 1, first_port=first + 2, last_port=first + 1 + NODES, nodes=NODES, gpus=GPUS,
            cpus=os.cpu_count() if self.confined else 16, task="task/cgroup" if self.confined else "task/none",
            proctrack="proctrack/cgroup" if self.confined else "proctrack/linuxproc"))
        for number in range(GPUS):
            os.mknod(self.folder / f"gpu{number}", 0o666 | stat.S_IFCHR, os.makedev(240, number))  # a device without a driver
        (self.folder / "gres.conf").write_text(f"NodeName=n[1-{NODES}] Name=gpu File={self.folder}/gpu[0-{GPUS - 1}]\n")
        confines = "yes" if self.confined else "no"
        (self.folder / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainCores={confines}\nConstrainDevices={confines}\n")
        (self.folder / "munge.key").write_bytes(os.urandom(1024))
        (self.folder / "munge.key").chmod(0o600)

    def _start(self) -> None:
        at = self.folder
        self.run("munged", "--force", f"--key-file={at}/munge.key", f"--socket={at}/munge.sock", f"--pid-file={at}/munged.pid",
                 f"--log-file={at}/munged.log", f"--seed-file={at}/munge.seed")
        self.run("slurmctld", "-c", "-f", at / "slurm.conf")
        for number in range(1, NODES + 1):
            (at / f"spool-n{number}").mkdir()
            self.run("slurmd", "-N", f"n{number}", "-f", at / "slurm.conf")
        deadline = time.monotonic() + PATIENCE
        while self.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N", check=False).split() != [f"n{n}" for n in range(1, NODES + 1)]:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the nodes did not come up: {(at / 'slurmctld.log').read_text()[-2000:]}")
            time.sleep(0.1)


def fail_node(name: str) -> None:
    """Kills a node's daemon, the daemons of its steps and their processes, none of which can report that."""
    configuration = os.environ["SLURM_CONF"]
    of_node = {f"SLURMD_NODENAME={name}".encode(), f"SLURM_CONF={configuration}".encode()}
    found = {pid for pid in _all_pids() if of_node <= set(_read(pid, "environ").split(b"\0"))}
    statistics = [_read(pid, "stat").rpartition(b")")[2].split() for pid in found]
    found |= {parent for parent in (words[1].decode() for words in statistics if words) if _name_of(parent).startswith("slurmstepd")}
    daemon = pathlib.Path(configuration).with_name(f"slurmd-{name}.pid").read_text().strip()
    for pid in (daemon, *found):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def _all_pids() -> list[str]:
    return [path.name for path in pathlib.Path("/proc").glob("[0-9]*")]


def _read(pid: str, name: str) -> bytes:
    try:
        return pathlib.Path("/proc", pid, name).read_bytes()
    except OSError:
        return b""


def _name_of(pid: str) -> str:
    return _read(pid, "comm").decode().strip()


def main(words: list[str]) -> int:
    if words[0] == "run":
        with Lab(pathlib.Path(words[1])) as lab:
            return subprocess.run(words[2:], env=lab.environment, check=False).returncode
    if words[0] == "fail":
        fail_node(words[1])
        return 0
    print(reason_against())
    return 1 if reason_against() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
