# SPDX-License-Identifier: BSL-1.0
"""One mistake for each message of docs/failures.md and messages.md. A scene is called by some words of its message, which no other has."""
import fcntl
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
from typing import Callable, NamedTuple

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
MISBEHAVIOUR, WRONG, PREFIX = (os.environ[name] for name in ("RATION_MISBEHAVING", "RATION_WRONG", "RATION_PREFIX"))
CMAKE = os.environ["RATION_CMAKE"]
FITS = str(pathlib.Path(__file__).resolve().parents[2] / "bench/data/loss/fits.csv")
CLIENT = pathlib.Path(__file__).resolve().parents[2] / "python"
DIES_WHEN_DONE = "import ration.progress as p; p.open().bye(); print(1, flush=True); import os; os.abort()"
TARGET = "target = { loss = { acceptable = 0.5, objective = 0.1 } }"
HEAD = 'policy = "none"\ncpus = 1\ntick = "100ms"\n'
TRACE = "job_id,submit_time,num_gpus,duration\n" + "".join(f"{i},{7 * i},{1 + i % 3},50\n" for i in range(20))
LIMIT = 60


class Said(NamedTuple):
    exit: int
    output: str


def job(command: str, more: str = TARGET, name: str = "a") -> str:
    return f'[[job]]\nname = "{name}"\ncommand = {command}\n{more}\n'


def shell(script: str, more: str = "") -> str:
    """A job that prints lines with `loss=`."""
    return HEAD + job(f"""["/bin/sh", "-c", '''{script}''']""", f"{TARGET}\nlog = 'loss=(?<loss>\\S+)'\n{more}")


GOOD = HEAD + job('["true"]')


class Place:
    """A folder with the files that scenes name."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        (folder / "runtime").mkdir(mode=0o700)
        # Not the suite's own devices, and no other run's records.
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=str(folder / "runtime"), CUDA_VISIBLE_DEVICES="")
        (folder / "trace.csv").write_text(TRACE)

    def ration(self, *words: str, jobs: str = GOOD, **files: str) -> Said:
        (self.folder / "jobs.toml").write_text(jobs)
        for name, text in files.items():
            (self.folder / name.replace("_", ".")).write_text(text)
        return self.call(RATION, *words)

    def call(self, *words: str) -> Said:
        done = subprocess.run(words, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT, check=False)
        return Said(done.returncode, done.stdout)


Scene = Callable[[Place], Said]


def ration(*words: str, jobs: str = GOOD, **files: str) -> Scene:
    return lambda place: place.ration(*words, jobs=jobs, **files)


def run(jobs: str, *words: str) -> Scene:
    return ration("run", "jobs.toml", *words, jobs=jobs)


def sim(*words: str) -> Scene:
    return ration("sim", "--cluster", "2x4", "--quiet", *words)


def too_few_open_files(place: Place) -> Said:
    (place.folder / "jobs.toml").write_text(HEAD + "".join(job('["true"]', name=f"j{number}") for number in range(40)))
    return place.call("/bin/sh", "-c", f"ulimit -n 64; exec '{RATION}' run jobs.toml --backend process")


def a_log_from_a_pipe(place: Place) -> Said:
    os.mkfifo(place.folder / "pipe")
    return place.ration("replay", "pipe", "--policy", "none")


def a_log_without_lines(place: Place) -> Said:
    with open(place.folder / "large", "wb") as large:
        large.truncate(65 << 20)
    return place.ration("replay", "large", "--policy", "none")


def a_killed_ration(place: Place) -> Said:
    """Its jobs continue, and the next start finds them."""
    (place.folder / "jobs.toml").write_text(HEAD + job('["sleep", "50"]'))
    first = subprocess.Popen([RATION, "run", "jobs.toml", "--log", "log.jsonl"], cwd=place.folder, env=place.environment, stdout=subprocess.DEVNULL)
    log, deadline = place.folder / "log.jsonl", time.monotonic() + 20
    while not (log.exists() and "job_started" in log.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    try:
        return place.call(RATION, "run", "jobs.toml")
    finally:
        place.call(RATION, "clean")


def a_folder_for_all(place: Place) -> Said:
    (place.folder / "runtime/ration").mkdir(mode=0o755)
    return place.ration("run", "jobs.toml")


def a_checkpoint_folder_in_use(place: Place) -> Said:
    (place.folder / "taken").mkdir()
    taken = os.open(place.folder / "taken", os.O_RDONLY)
    try:
        fcntl.flock(taken, fcntl.LOCK_EX)
        jobs = 'policy = "fifo"\ndevices = { count = 1, cpu = 0.5 }\n' + job('["true"]', f'{TARGET}\nbounds = {{ gpu = 1 }}\ncheckpoint = "taken"')
        return place.ration("run", "jobs.toml", jobs=jobs)
    finally:
        os.close(taken)


def after_a_run(*words: str) -> Scene:
    def scene(place: Place) -> Said:
        place.ration("run", "jobs.toml", "--quiet", "--log", "log.jsonl")
        return place.call(RATION, *words)
    return scene


def a_socket_in_use(place: Place) -> Said:
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(place.folder / "taken"))
        taken.listen()
        return place.ration("run", "jobs.toml", "--metrics", f"unix:{place.folder}/taken")


def a_folder_of_others(place: Place) -> Said:
    (place.folder / "open").mkdir()
    (place.folder / "open").chmod(0o777)
    (place.folder / "open/mine.so").write_bytes(pathlib.Path(f"{MISBEHAVIOUR}/misbehaving_aborts_in_decide.so").read_bytes())
    return place.ration("policies", "open/mine.so")


def a_library_that_is_none(place: Place) -> Said:
    """Any shared object without a manifest: ration's own C library."""
    mapped = pathlib.Path("/proc/self/maps").read_text().split()
    library = next(os.path.realpath(word) for word in mapped if word.startswith("/") and "libc.so" in word)
    (place.folder / "other.so").write_bytes(pathlib.Path(library).read_bytes())
    return place.ration("policies", "other.so")


def a_taken_name(place: Place) -> Said:
    (place.folder / "mine").mkdir()
    return place.ration("new", "mine")


def cmake(lines: str, *settings: str) -> Scene:
    def scene(place: Place) -> Said:
        (place.folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES NONE)\n{lines}\n")
        return place.call(CMAKE, "-S", ".", "-B", "build", *settings)
    return scene


def found(lines: str) -> Scene:
    return cmake(lines, f"-DCMAKE_PREFIX_PATH={PREFIX}")


COMMAND_LINE = {
    "unknown command": ration("rnu", "jobs.toml"),
    "say what to do": ration(),
    "unknown option": ration("run", "jobs.toml", "--polcy", "none"),
    "one word too many": ration("run", "jobs.toml", "again.toml"),
    "is required": ration("run"),
    "<option>: unknown policy": sim("--policy", "fiffo"),
    "is not a parameter: write": sim("--trace", "trace.csv", "--policy", "las", "--set", "promote"),
    "is not a loopback address": ration("run", "jobs.toml", "--metrics", "0.0.0.0:9555"),
}

JOBS_FILE = {
    "give the path of a jobs file": ration("run", "absent.toml"),
    "this is not TOML": run('policy = "none\n'),
    "unknown key": run(HEAD + job('["true"]', f'{TARGET}\ncomand = "x"')),
    "must be <kind>": run(HEAD + job('["true"]', f"{TARGET}\nat = 20")),
    "no policy is named": run(job('["true"]')),
    "has no command": run(f'{HEAD}[[job]]\nname = "a"\n{TARGET}\n'),
    "is missing; add direction": run(HEAD + job('["true"]', "target = { score = { objective = 3 } }")),
    "is easier than the acceptable": run(HEAD + job('["true"]', "target = { loss = { acceptable = 0.1, objective = 0.5 } }")),
    "'log' does not read": run(HEAD + job('["true"]', f"{TARGET}\nlog = '(?<error>\\S+)'")),
    ".min is more than": run(HEAD + job('["true"]', f"{TARGET}\nbounds = {{ gpu = {{ min = 3, max = 2 }} }}")),
    "'speedup' is 0 for each": run(HEAD + job('["true"]', f"{TARGET}\nbounds = {{ gpu = {{ min = 1, max = 2 }} }}\nspeedup = [0, 0, 0]")),
    "no directory of PATH": run(HEAD + job('["no-such-program"]')),
    "is not executable; build it": run(HEAD + job('["./no-such-program"]')),
    "has no parameter": run('tradl = { alpa = 0.9 }\n' + GOOD, "--policy", "tradl"),
    "give each a unique name": run(GOOD + job('["true"]')),
}

BEFORE_JOBS_START = {
    "there are none that it could have": run('policy = "fifo"\n' + job('["true"]', f"{TARGET}\nbounds = {{ gpu = 2 }}")),
    "no whole GPU is left": run('policy = "fifo"\ndevices = { count = 4, gpu = 0.25 }\n' + job('["true"]', f"{TARGET}\nbounds = {{ gpu = 1 }}")),
    "write fewer or smaller ones": run('policy = "fifo"\ncpus = 1\ndevices = { count = 4, cpu = 1 }\n' + job('["true"]', f"{TARGET}\nbounds = {{ gpu = 1 }}")),
    "and no job asks for any": run(GOOD, "--policy", "fifo"),
    "gives none; choose one that does": run("devices = { count = 2, cpu = 0.1 }\n" + HEAD + job('["true"]', f"{TARGET}\nbounds = {{ gpu = 1 }}")),
    "ration run --reattach takes them over": a_killed_ration,
    "use folder": a_folder_for_all,
    "use the checkpoint folder": a_checkpoint_folder_in_use,
    "open files where the hard limit is": too_few_open_files,
    "another program listens there": a_socket_in_use,
}

WHILE_JOBS_RUN = {
    "exit code <code>": run(shell("echo loss=1; echo no such layer; exit 3")),
    "it reported its end, then": run(HEAD + job(f"""["python3", "-c", '''{DIES_WHEN_DONE}''']""", f'{TARGET}\nenvironment = {{ PYTHONPATH = "{CLIENT}" }}')),
    "objective reached, then": run(shell("exec 2>/dev/null; trap \"exit 134\" TERM; echo loss=1; sleep 0.5; while :; do echo loss=0.01; sleep 0.05; done", 'at_objective = "stop"'), "--policy", "tradl"),
    "killed by signal 9": run(shell("echo loss=1; sleep 0.3; kill -9 $$")),
    "diverged": run(shell("for i in 1 2 3 4; do echo loss=nan; done; sleep 20")),
    "its limit on memory": run(shell("echo loss=1", 'bounds = { memory = "1GiB" }'), "--backend", "process"),
    "its worker was killed by signal": run(shell("sleep 0.5"), "--policy", f"{MISBEHAVIOUR}/misbehaving_aborts_in_decide.so"),
    "ration retries every second": run(shell("echo loss=1"), "--log", "/dev/full"),
}

SIMULATING = {
    "name the jobs: either": sim("--policy", "fifo"),
    "<column> is <text>": ration("sim", "--cluster", "2x4", "--quiet", "--policy", "fifo", "--trace", "jobs.csv", jobs_csv=TRACE + "x,soon,1,5\n"),
    "profiled jobs need": sim("--generate", "profiled", "--policy", "fifo"),
    "choose one that shares devices": sim("--trace", "trace.csv", "--policy", "tradl"),
    "choose one that shares cores": ration("sim", "--cluster", "1x2cores", "--quiet", "--generate", "cpu:jobs=2", "--models", FITS, "--policy", "fifo"),
    "does not place jobs on processors": ration("sim", "--cluster", "2x2cores", "--quiet", "--generate", "cpu:jobs=2", "--models", FITS, "--policy", "none"),
    "which a simulation does not offer": sim("--trace", "trace.csv", "--policy", f"{WRONG}/moody.so"),
    "nothing runs, and it starts none": sim("--trace", "trace.csv", "--policy", "none", "--interval", "0"),
    "it granted <amount>": sim("--trace", "trace.csv", "--policy", f"{WRONG}/greedy.so", "--until", "50"),
    "more devices than the cluster has": ration("sim", "--cluster", "1x2", "--quiet", "--trace", "trace.csv", "--policy", "fifo"),
    "--report:": sim("--trace", "trace.csv", "--policy", "fifo", "--report", "no/where.html"),
    "is not a number from 1": ration("bench", "--policies", "fifo", "--jobs", "many"),
}

A_RUN = {"event": "run", "t": 0, "schema": 3, "ration": "0.1.0", "policy": "none", "policy_version": "1.0.0", "unix_time": 0, "cpus": 1, "tick": 10**9,
         "machine": {}, "controls": [], "file": "jobs.toml", "source": GOOD}

LOGS = {
    "<file>: cannot be opened (<why>)": ration("report", "absent.jsonl"),
    "is empty": ration("report", "empty.jsonl", empty_jsonl=""),
    "is not the folder of a run": ration("logs", "a", "--run", "absent"),
    "neither a run here nor a service has it": ration("logs", "a"),
    "the events of this run were written to": after_a_run("report", "latest"),
    "unknown job": after_a_run("logs", "aa"),
    "this is not an event": ration("report", "trace.csv"),
    "its field": ration("report", "log.jsonl", log_jsonl='{"event":"run","schema":1,"t":"now"}\n'),
    "does not begin with a run": ration("replay", "log.jsonl", "--policy", "none", log_jsonl='{"event":"progress","t":5}\n'),
    "did not come to its end": ration("twin", "log.jsonl", log_jsonl=json.dumps(A_RUN) + "\n"),
    "<file>: is a pipe": a_log_from_a_pipe,
    "the line has more than 64 MiB": a_log_without_lines,
}

PLUGINS = {
    "file that is there and can be read": ration("policies", "./absent.so"),
    "to this folder": a_folder_of_others,
    "it is not an ELF file": ration("policies", "./text.so", text_so="int main() {}" * 100),
    "it has no manifest": a_library_that_is_none,
    "another major version": ration("policies", f"{MISBEHAVIOUR}/misbehaving_has_another_abi.so"),
    "this host does not offer it": ration("policies", f"{MISBEHAVIOUR}/misbehaving_needs_unknown_extension.so"),
    "name the .so of a policy": ration("check", "absent.so"),
    "CRASHED": ration("check", f"{MISBEHAVIOUR}/misbehaving_aborts_in_decide.so"),
}

NEW = {
    "is there already": a_taken_name,
    "is not a name for a policy": ration("new", "1st"),
    "unknown language": ration("new", "mine", "--lang", "cobol"),
}

CMAKE_SCENES = {
    "Could not find a package configuration file": cmake("find_package(ration 0.1 REQUIRED NO_DEFAULT_PATH)"),
    "requested version": found("find_package(ration 99 REQUIRED)"),
    "This install of ration has no component": found("find_package(ration REQUIRED COMPONENTS core corn)"),
    "ration's component": found("set(CMAKE_DISABLE_FIND_PACKAGE_Boost ON)\nfind_package(ration REQUIRED COMPONENTS adapt)"),
}

SCENES = COMMAND_LINE | JOBS_FILE | BEFORE_JOBS_START | WHILE_JOBS_RUN | SIMULATING | LOGS | PLUGINS | NEW | CMAKE_SCENES

# Messages that need a long time, another machine or another build: (file, words of the message that it contains).
FROM_SOURCES = {
    "it cannot be launched now": ("tools/ration/run/job_launcher.cpp", "it cannot be launched now: "),
    "cores are asked for": ("tools/ration/run/run_cpus.cpp", " cores are asked for, and this program may use "),
    "its cpu.min of": ("tools/ration/run/job_launcher.cpp", " that all jobs share; make it smaller, or let ration use more CPUs"),
    "is stalled": ("tools/ration/run/health_monitor.cpp", "no step and no CPU use"),
    "the pattern leads to": ("tools/ration/run/metric_file.cpp", " files and folders; name fewer"),
    "its output came faster": ("tools/ration/run/output_reader.cpp", " bytes were skipped; print less, or use simpler patterns"),
    "its rows come faster": ("tools/ration/run/output_reader.cpp", "its rows come faster than 'metrics' reads them, so that values are late; write fewer rows"),
    "are too costly to search": ("tools/ration/run/output_reader.cpp", "'log' skips lines of its output that are too costly to search; use simpler patterns"),
    "it has not reported": ("tools/ration/run/progress_monitor.cpp",
                            "it has not reported its progress; let 'log' or 'metrics' of the job read it, or let the script report it"),
    "is silent": ("tools/ration/run/health_monitor.cpp", "it works and has stopped reporting"),
    "messages came": ("tools/ration/run/progress_monitor.cpp", "messages came that are not the jobs' own (wrong token, user, process or form); they are counted and dropped"),
    "its jobs may run in another PID namespace: take it over there": ("tools/ration/run/run.cpp", "its jobs may run in another PID namespace: take it over there, or end them there"),
    "the record of their run was removed": ("tools/ration/run/run.cpp", "end these processes: the record of their run was removed, so that no run can take them over"),
    "lacks its job's token": ("tools/ration/run/run.cpp", "a process lacks its job's token, so that it may be another program: end it yourself, or forget it with ration clean"),
    "belongs to another PID namespace": ("tools/ration/run/orphaned_runs.cpp", "belongs to another PID namespace, whose processes cannot be seen from this one; run ration clean there, or outside of all namespaces"),
    "the record of the run": ("tools/ration/run/orphaned_runs.cpp", "the record of the run "),
    "in the run that is to be taken over": ("tools/ration/run/run.cpp", "here than in the run that is to be taken over; put it back, or end that run with ration clean"),
    "the jobs of the earlier run": ("tools/ration/run/run.cpp", "find in this file the jobs of the earlier run"),
    "it cannot be contained": ("tools/ration/cli/check_command.cpp", "it cannot be contained, so its code was not run: "),
    "it is not resized": ("tools/ration/run/resize_controller.cpp", "it is not resized: it takes no commands and has reported no checkpoint; see docs/elastic.md"),
    "it has reported no checkpoint within": ("tools/ration/run/resize.cpp", "it has reported no checkpoint within "),
    "put its folder into PATH": ("backends/cuda/include/ration/cuda/detail/ask.hpp", "install it, or put its folder into PATH"),
    "start an MPS daemon": ("tools/ration/run/gpu_shares.cpp", 'it does not come up: look there; until then share whole GPUs, devices = "gpus"'),
    "none of its processes is a client": ("tools/ration/run/share_monitor.cpp", "none of its processes is a client of MPS, so nothing holds it to "),
    "their driver does not answer": ("tools/ration/run/gpu_watch.cpp", "; if nvidia-smi hangs too, end the run with Ctrl-C, see dmesg, and restart the machine"),
    "its gpu_memory is not a limit": ("tools/ration/run/device_assigner.cpp", "its gpu_memory is not a limit: "),
    "out of memory: limit": ("tools/ration/run/memory_shortage.cpp", "out of memory: limit "),
    "out of memory: the machine": ("tools/ration/run/memory_shortage.cpp", "out of memory: the machine, or a group above the job's, had none left"),
    "a limit could not be changed": ("tools/ration/run/tick_reporter.cpp", "a limit could not be changed: "),
    "without Chart.js": ("tools/ration/report/page.hpp", "this ration was built without Chart.js, so the page has tables and no charts; install the package libjs-chart.js, or name the file by "
                         "-D RATION_CHART_JS=chart.min.js, and build ration again"),
    "it may only run in a worker process": ("tools/ration/policies/plugin_policy.cpp", 'it may only run in a worker process; write "worker" here, or leave this out'),
    "CUDA_VISIBLE_DEVICES does not": ("tools/ration/doctor/doctor.cpp", "CUDA_VISIBLE_DEVICES does not let this program use it"),
    "the driver shows none": ("tools/ration/doctor/doctor.cpp", "the driver shows none"),
    "this kernel has no Landlock": ("tools/ration/policies/plugin_policy.cpp", "this kernel has no Landlock, so a policy from a file can read every file that you can read"),
    "process backend here": ("tools/ration/doctor/doctor.cpp", "ration run uses the process backend here. What is approximate about it:"),
    "The tests need Catch2": ("cmake/testing.cmake", "The tests need Catch2. Run cmake/packages.sh build test, or configure with -DRATION_BUILD_TESTS=OFF."),
}
