# SPDX-License-Identifier: BSL-1.0
"""GPUs of a driver of our own (tests/cuda/fake_driver) with real device files: those of /dev/zero and similar devices. In a mount namespace of the
test, /proc/devices lists these as NVIDIA's. The kernel then keeps jobs from them, or not."""
import glob
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from elastic_test import HEAD, Together, elastic
from support import PATIENCE, RATION, alive, has_cgroups, main, trainer

FILES = {"zero": 5, "full": 7, "random": 8, "urandom": 9}  # of major 1
FAKE_DRIVER = os.environ.get("RATION_FAKE_DRIVER", "")


def in_namespace(devices: pathlib.Path, *command: str) -> list[str]:
    """The command where /proc/devices is that file."""
    return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /proc/devices && exec "$@"', str(devices), *command]


class Gpus(Together):
    IDS = [f"GPU-0000000{i}-0000-0000-0000-000000000000" for i in range(4)]
    HEAD = HEAD.replace("devices = { count = 4, cpu = 0.25 }\n", "")

    def script(self, *besides: str, count: int = 4, **more: str) -> None:
        """Sets what the driver shows from now on; `gpu2="broken=15"` adds a property of one GPU. The driver does not answer while the file `self.hold` exists."""
        lines = [f"gpu uuid={uuid} pci=0000:{16 + i}:00.0 minor={minor} {more.get(f'gpu{i}', '')}"
                 for i, (uuid, minor) in enumerate(zip(self.IDS[:count], FILES.values()))]
        lines += [f"hold {self.hold}", *besides]
        fresh = self.folder / "gpus.new"
        fresh.write_text("\n".join(lines) + "\n")
        fresh.rename(self.folder / "gpus")

    @property
    def hold(self) -> pathlib.Path:
        return self.folder / "hold"

    def hang(self) -> None:
        """Keeps the driver from answering until `self.hold` is gone. Returns when a process waits for the driver."""
        self.hold.touch()
        self.addCleanup(self.hold.unlink, missing_ok=True)
        self.wait_for(lambda: self.hold.stat().st_size > 0)

    def prepare(self, numbers: str = "  1 nvidia\n") -> None:
        if not os.path.exists(os.path.join(FAKE_DRIVER, "libnvidia-ml.so.1")):
            raise unittest.SkipTest("no fake for NVML: RATION_FAKE_DRIVER names its folder")
        self.environment.update(LD_LIBRARY_PATH=FAKE_DRIVER, RATION_STAND_IN_GPUS=str(self.folder / "gpus"))
        self.environment.pop("CUDA_VISIBLE_DEVICES", None)
        self.numbers = self.folder / "devices"
        self.numbers.write_text(f"Character devices:\n{numbers}\nBlock devices:\n")
        tried = subprocess.run(in_namespace(self.numbers, "true"), capture_output=True, text=True)
        if tried.returncode != 0:
            raise unittest.SkipTest(f"no mount namespace of the test's own: {tried.stderr.strip()}")
        (self.folder / "nodes").mkdir()
        try:
            for i, minor in enumerate(FILES.values()):
                os.mknod(self.folder / "nodes" / f"gpu{i}", 0o020600, os.makedev(1, minor))
                open(self.folder / "nodes" / f"gpu{i}", "rb").close()
        except PermissionError as why:
            raise unittest.SkipTest(f"device files cannot be made, or not be opened: {why}") from why
        self.script()

    def start(self, *arguments: str, **options) -> subprocess.Popen:
        process = subprocess.Popen(in_namespace(self.numbers, RATION, "run", "jobs.toml", *arguments), cwd=self.folder, env=self.environment,
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        for stream in (process.stdout, process.stderr):
            self.addCleanup(stream.close)
        self.addCleanup(self.end, process)
        return process

    def doctor(self) -> dict:
        """The row of `ration doctor` about enforced masks."""
        said = subprocess.run(in_namespace(self.numbers, RATION, "doctor", "--json"), env=self.environment, capture_output=True, text=True, check=True)
        return next(row for row in json.loads(said.stdout)["gpus"]["levels"] if row["what"] == "which GPUs, enforced")

    def opened(self, name: str) -> list[str]:
        """At each launch."""
        return (self.folder / f"opened.{name}").read_text().splitlines()

    @staticmethod
    def device_groups(run: subprocess.Popen) -> list[str]:
        return glob.glob(f"/sys/fs/cgroup/devices/**/ration-*.{run.pid}.*", recursive=True)

    def ticks(self) -> int:
        return (self.folder / "log.jsonl").read_text().count('"event":"decision"')

    def cordoned(self) -> list[tuple[str, str]]:
        return [(e["device"], e["why"]) for e in self.events() if e["event"] == "device" and e["what"] == "cordoned"]

    def ended(self, name: str) -> dict | None:
        return next((e for e in self.events() if e["event"] == "job_ended" and e["job"] == name), None)

    def warnings(self) -> list[str]:
        return [e["message"] for e in self.events() if e["event"] == "warning" and e["subject"] == "GPUs"]

    def finish(self, run: subprocess.Popen, **steps: int) -> str:
        out, err = run.communicate(timeout=PATIENCE)
        self.assert_finished(subprocess.CompletedProcess([], run.returncode, out, err), **steps)
        return out

    def level(self) -> str:
        return next(c["backend"] for c in self.events()[0]["controls"] if c["resource"] == "gpu")


class Fenced(Gpus):
    def test_fenced(self) -> None:
        self.all_cases()

    def run_two(self, backend: str, level: str) -> str:
        """One job shrinks for another."""
        self.prepare()
        self.write(elastic("a", "good", 110), elastic("b", "good", 20, at="2s", gpu="2"), head=self.HEAD)
        run = self.start("--log", "log.jsonl", "--backend", backend)
        out = self.finish(run, a=110, b=20)
        if self.level() != f"CUDA mask ({level})":
            self.assertIn("(advisory)", self.level())
            raise unittest.SkipTest(f"masks are advice here:\n{out}")
        self.assertIn(f"gpu by CUDA mask ({level})", out)
        self.assertEqual(self.opened("a"), ["gpu0 gpu1 gpu2 gpu3", "gpu0 gpu1", "gpu0 gpu1 gpu2 gpu3"])
        self.assertEqual(self.opened("b"), ["gpu2 gpu3"])
        self.assertEqual(self.device_groups(run), [])
        return out

    def case_on_v2_by_a_filter_of_the_jobs_own_group(self) -> None:
        if not has_cgroups():
            self.skipTest("no cgroups that can be written")
        out = self.run_two("cgroup", "enforced by cgroup v2")
        self.assertEqual(self.doctor()["by"], "cgroup v2")
        self.assertIn("a runs on 2 devices instead of 4 (verified)", out)

    def case_on_v1_by_the_hierarchy_of_devices(self) -> None:
        self.run_two("process", "enforced by cgroup v1")

    def case_a_gpu_that_has_come_since_the_last_look_is_kept_from_a_job_that_starts(self) -> None:
        self.prepare()
        self.script(count=3)
        self.write(elastic("a", "good", 60, gpu="1"), elastic("b", "good", 20, at="3s", gpu="1"), head=self.HEAD)
        run = self.start("--log", "log.jsonl", "--backend", "process")
        self.pid_of("a")
        self.script()  # the run looks every 5 s
        self.finish(run, a=60, b=20)
        if "enforced" not in self.level():
            raise unittest.SkipTest("masks are advice here")
        self.assertEqual((self.opened("a"), self.opened("b")), (["gpu0 gpu3"], ["gpu1"]))

    def case_where_it_cannot_be_done_the_run_goes_on_and_says_so(self) -> None:
        self.prepare(numbers="")
        self.write(elastic("a", "good", 20, gpu="2"), head=self.HEAD)
        done = self.run_jobs("--log", "log.jsonl")
        self.assert_finished(done, a=20)
        self.assertEqual(self.level(), "CUDA mask (advisory)")
        self.assertFalse(self.doctor()["available"])
        self.assertIn("advisory: a job that changes its mask reaches the GPUs of others: find the device file of", done.stdout)
        self.assertEqual(self.opened("a"), ["gpu0 gpu1 gpu2 gpu3"])

    def case_whoever_adopts_a_job_keeps_it_to_its_gpus(self) -> None:
        self.prepare()
        self.write(elastic("a", "watches-files", 4000, gpu="2"), head=self.HEAD)
        run = self.start("--log", "log.jsonl", "--backend", "process")
        pid = self.pid_of("a")
        self.wait_for(lambda: (self.folder / "opened.a").exists())
        if "enforced" not in self.level():
            raise unittest.SkipTest("masks are advice here")
        run.kill()
        run.communicate()
        self.assertTrue(alive(pid))
        left = self.device_groups(run)
        self.assertEqual(len(left), 1)
        run = self.start("--log", "log.2.jsonl", "--backend", "process", "--reattach")
        self.wait_for(lambda: any(str(pid) in pathlib.Path(group, "cgroup.procs").read_text().split() for group in self.device_groups(run)))
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=PATIENCE)
        self.assertEqual(set(self.opened("a")), {"gpu0 gpu1"})
        self.assertEqual([group for group in (*left, *self.device_groups(run)) if os.path.exists(group)], [])


class Faulty(Gpus):
    def test_faulty(self) -> None:
        self.all_cases()

    def begin(self, mode: str, steps: int) -> subprocess.Popen:
        self.prepare()
        self.write(elastic("a", mode, steps), head=self.HEAD)
        run = self.start("--log", "log.jsonl")
        self.wait_for(lambda: (self.folder / "log.jsonl").exists() and '"step":25,' in (self.folder / "log.jsonl").read_text())
        return run

    def devices(self) -> list[str]:
        """Of each launch, by their numbers."""
        started = [e["devices"].split(",") for e in self.events() if e["event"] == "job_started"]
        return ["".join(str(self.IDS.index(name)) for name in names) for names in started]

    def case_a_job_is_moved_off_a_gpu_that_was_lost(self) -> None:
        run = self.begin("good", 260)
        self.script(gpu1="broken=15", gpu2="xid=31")  # Xid 31 is a program's own fault
        out = self.finish(run, a=260)
        self.assertEqual([name for name, _ in self.cordoned()], [self.IDS[1]])
        self.assertEqual(out.count(f"{self.IDS[1]} is withheld from jobs for a while"), 1)
        self.assertIn("3 of 4 devices held, 1 cordoned", out)
        self.assertEqual(self.devices(), ["0123", "023"])
        self.assertEqual(self.told("failed"), [])

    def case_an_error_that_the_driver_reports_counts(self) -> None:
        run = self.begin("good", 260)
        self.script(gpu3="xid=79")
        self.finish(run, a=260)
        self.assertEqual(self.cordoned(), [(self.IDS[3], "the driver reports Xid 79")])
        self.assertEqual(self.devices(), ["0123", "012"])

    def case_no_tick_waits_for_a_driver_that_is_slow(self) -> None:
        run = self.begin("good", 400)
        self.script(gpu2="broken=15")
        self.hang()
        begun = self.ticks()
        self.wait_for(lambda: self.ticks() >= begun + 20)
        self.assertEqual(self.cordoned(), [])
        self.hold.unlink()
        self.finish(run, a=400)
        self.assertEqual([name for name, _ in self.cordoned()], [self.IDS[2]])
        self.assertEqual(self.devices(), ["0123", "013"])

    def case_a_job_that_dies_with_its_gpu_goes_on_from_its_checkpoint(self) -> None:
        run = self.begin("saves-and-dies", 120)
        self.script(gpu0="broken=15")
        (self.folder / "die.a").touch()
        self.finish(run, a=120)
        self.assertEqual(self.devices(), ["0123", "123"])
        self.assertGreater(self.launches("a")[1].step, 0, "it began anew")

    def case_a_job_that_dies_of_itself_has_failed(self) -> None:
        run = self.begin("saves-and-dies", 120)
        (self.folder / "die.a").touch()
        run.communicate(timeout=PATIENCE)
        self.assertEqual((run.returncode, len(self.launches("a"))), (1, 1))


class Silent(Gpus):
    """The driver does not answer, or has no answer."""

    def test_silent(self) -> None:
        self.all_cases()

    def begin(self, *jobs: str) -> subprocess.Popen:
        """Until the first job is there."""
        self.prepare()
        self.write(*jobs, head=self.HEAD)
        run = self.start("--log", "log.jsonl")
        self.pid_of("a")
        return run

    def sleep_until(self, moment: float) -> None:
        """As `time.monotonic` counts."""
        time.sleep(max(0.0, moment - time.monotonic()))

    def names_launched(self) -> list[str]:
        return sorted(one.job for one in self.launches())

    def case_a_launch_waits_and_everything_else_goes_on(self) -> None:
        run = self.begin(elastic("a", "good", 60, gpu="2"), elastic("b", "good", 20, at="15s", gpu="2"), trainer("c", 1, 9, 0.05, more='at = "5s"'))
        started = time.monotonic()
        self.hang()
        self.wait_for(self.warnings)
        begun = self.ticks()
        self.wait_for(lambda: self.ticks() >= begun + 20)
        self.wait_for(lambda: self.ended("a") and self.ended("c"))
        self.sleep_until(started + 18)  # b is there
        self.assertEqual((self.ended("a")["how"], self.ended("c")["how"], self.names_launched()), ("finished", "finished", ["a"]))
        self.hold.unlink()
        out = self.finish(run, a=60, b=20)
        self.assertEqual(out.count("warning: GPUs: their driver does not answer; running jobs continue; jobs that are to start, or to change their GPUs, wait until it answers, "), 1)
        self.assertIn("if nvidia-smi hangs too, end the run with Ctrl-C, see dmesg, and restart the machine", out)

    def case_what_a_job_has_given_back_is_nobodys_until_a_look_has_shown_that_it_is_free(self) -> None:
        run = self.begin(elastic("a", "good", 40), elastic("b", "good", 20, at="1s", gpu="4"))
        self.script(gpu3="users=1")
        self.hang()
        self.wait_for(lambda: self.ended("a"))
        self.hold.unlink()
        time.sleep(2)  # no event ends this wait: no job may have a GPU on which another process computes
        self.assertEqual(self.names_launched(), ["a"])
        self.script()
        self.finish(run, a=40, b=20)

    def case_a_job_is_not_launched_on_what_is_lost_by_then(self) -> None:
        run = self.begin(elastic("a", "good", 60, gpu="1"), elastic("b", "good", 20, at="3s", gpu="{ min = 1, max = 3 }"))
        self.script(gpu2="broken=15")
        self.finish(run, a=60, b=20)
        started = [e["devices"].split(",") for e in self.events() if e["event"] == "job_started" and e["job"] == "b"]
        self.assertEqual(started[0], [self.IDS[1], self.IDS[3]])  # and more of them, if a ends before
        self.assertFalse([devices for devices in started if self.IDS[2] in devices])

    def case_no_job_is_stopped_that_could_not_be_launched_again(self) -> None:
        run = self.begin(elastic("a", "good", 4000), elastic("b", "good", 20, at="20s", gpu="2"))
        begun = time.monotonic()
        self.hang()
        self.wait_for(self.warnings)
        self.sleep_until(begun + 23)  # b is there: a would make room for it
        self.assertEqual((self.told("saving"), self.names_launched()), ([], ["a"]))
        self.hold.unlink()
        self.wait_for(lambda: self.told("saving"))
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=PATIENCE)

    def case_ctrl_c_ends_a_run_that_waits_for_the_driver(self) -> None:
        run = self.begin(elastic("a", "good", 4000, gpu="1"), elastic("d", "saves-and-dies", 4000, gpu="1"), elastic("b", "good", 20, at="15s", gpu="1"))
        begun = time.monotonic()
        self.wait_for((self.folder / "ration-output/latest/d.checkpoint/step").exists)
        self.hang()
        (self.folder / "die.d").touch()
        self.wait_for(lambda: not alive(self.pid_of("d")))
        self.wait_for(self.warnings)
        self.sleep_until(begun + 18)  # b is there: it waits too
        self.assertEqual((self.ended("d"), self.names_launched()), (None, ["a", "d"]), "nobody knows whether its GPU was to blame")
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=PATIENCE)
        self.assertEqual((run.returncode, self.ended("a")["how"], self.ended("d")["how"]), (4, "stopped", "stopped"))
        self.assertEqual(self.names_launched(), ["a", "d"])

    def case_a_look_in_which_nvml_fails_shows_nothing(self) -> None:
        run = self.begin(elastic("a", "good", 4000, gpu="2"), elastic("b", "good", 20, at="15s", gpu="2"))
        begun = time.monotonic()
        self.script("init 18")
        self.wait_for(self.warnings)
        self.assertIn("the driver was updated under a running kernel module: restart the machine; running jobs continue", self.warnings()[0])
        self.sleep_until(begun + 18)  # b is there
        self.assertEqual((self.ended("a"), self.cordoned(), self.names_launched()), (None, [], ["a"]))
        self.script()
        self.wait_for(lambda: self.ended("b"))
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=PATIENCE)
        self.assertEqual((self.ended("b")["how"], self.cordoned()), ("finished", []))


if __name__ == "__main__":
    main()
