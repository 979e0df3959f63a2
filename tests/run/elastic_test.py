# SPDX-License-Identifier: BSL-1.0
"""Jobs that change their number of devices while they run, jobs that fail at it, and kill -9 at any point of it.

With RATION_ELASTIC_SEEDS=50 the last test is tried that often instead of twice.
"""
import collections
import contextlib
import json
import os
import random
import subprocess
import threading
import time
import unittest

from support import HERE, PATIENCE, PYTHON, RunTest, alive, job, main, signal

SEEDS = int(os.environ.get("RATION_ELASTIC_SEEDS", "2"))
DEADLINES = {"save": "60s", "stop": "60s", "start": "60s"}  # which pass on no machine, but for jobs that are there to let one pass
SHORT = {"never-saves": {"save": "2s"}, "never-stops": {"save": "2s", "stop": "1s"}, "ignores-stop": {"stop": "1s"}, "mute-at": {"start": "8s"}}
HEAD = ('policy = "loss_delta_ratio"\nloss_delta_ratio = { residence = 0, window = 20 }\ndevices = { count = 4, cpu = 0.25 }\n'
        'tick = "100ms"\n')


def elastic(name: str, mode: str, steps: int, size: int = 0, at: str = "0s", gpu: str = "{ min = 1, max = 4 }", more: str = "") -> str:
    words = [PYTHON, str(HERE / "elastic_job.py"), mode, str(steps), *([str(size)] if size else [])]
    deadlines = ", ".join(f'{key} = "{value}"' for key, value in (DEADLINES | SHORT.get(mode, {})).items())
    return job(name, words, f'at = "{at}"\nbounds = {{ gpu = {gpu} }}\ndeadlines = {{ {deadlines} }}\n{more}')


class Launch(collections.namedtuple("Launch", "job incarnation devices step pid")):
    pass


class ElasticTest(RunTest):
    def launches(self, name: str | None = None) -> list[Launch]:
        file = self.folder / "launches"
        lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        all_of = [Launch(words[0], *map(int, words[1:])) for words in lines if len(words) == 5]
        return [one for one in all_of if name in (None, one.job)]

    def told(self, what: str, name: str = "a") -> list[dict]:
        return [e for e in self.events() if e["event"] == "resize" and e["job"] == name and e["what"] == what]

    def assert_nobody_shared(self) -> None:
        conflict = self.folder / "conflict"
        self.assertFalse(conflict.exists(), conflict.read_text() if conflict.exists() else "")

    def assert_finished(self, done: subprocess.CompletedProcess, **steps: int) -> None:
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assert_nobody_shared()
        ended = {e["job"]: e for e in self.events() if e["event"] == "job_ended"}
        for name, count in steps.items():
            self.assertEqual((ended[name]["how"], ended[name]["step"]), ("finished", count), ended[name])


class Together(ElasticTest):
    """Its cases run at the same time, each in a separate folder: they mostly wait."""

    def together(self, *names: str) -> None:
        cases = []
        for name in names:
            case = type(self)()
            case.setUp()
            self.addCleanup(case.doCleanups)
            case.trouble = None
            case.thread = threading.Thread(target=case.attempt, args=(name,))
            case.thread.start()
            cases.append((name, case))
        for name, case in cases:
            case.thread.join()
            with self.subTest(name):
                if case.trouble:
                    raise case.trouble

    def attempt(self, name: str) -> None:
        try:
            getattr(self, name)()
        except Exception as trouble:  # to be raised again where the test runs
            self.trouble = trouble

    def all_cases(self) -> None:
        self.together(*[name for name in dir(self) if name.startswith("case_")])


class Gpus(Together):
    """GPUs of a driver of our own (tests/cuda/fake_driver): their names, masks, and who computes on them."""

    IDS = [f"GPU-0000000{i}-0000-0000-0000-000000000000" for i in range(4)]

    def script(self, users_of_last: str = "") -> None:
        lines = [f"gpu uuid={uuid} pci=0000:{16 + i}:00.0" for i, uuid in enumerate(self.IDS)]
        fresh = self.folder / "gpus.new"
        fresh.write_text("\n".join(lines) + (f" users={users_of_last}" if users_of_last else "") + "\n")
        fresh.rename(self.folder / "gpus")

    def prepare(self, users_of_last: str = "") -> None:
        fake_driver = os.environ.get("RATION_FAKE_DRIVER", "")
        if not os.path.exists(os.path.join(fake_driver, "libnvidia-ml.so.1")):
            raise unittest.SkipTest("no fake for NVML: RATION_FAKE_DRIVER names its folder")
        self.environment.update(LD_LIBRARY_PATH=fake_driver, RATION_STAND_IN_GPUS=str(self.folder / "gpus"))
        self.environment.pop("CUDA_VISIBLE_DEVICES", None)
        self.script(users_of_last)

    def head(self) -> str:
        return HEAD.replace("devices = { count = 4, cpu = 0.25 }\n", "")

    def case_masks(self) -> None:
        self.prepare()
        self.environment["CUDA_VISIBLE_DEVICES"] = "3,1"
        script = "import os, json, pathlib; pathlib.Path('env.json').write_text(json.dumps(dict(os.environ)))"
        self.write(job("a", [PYTHON, "-c", script], "bounds = { gpu = 2 }"), head=self.head())
        done = self.run_jobs()
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = json.loads((self.folder / "env.json").read_text())
        wanted = f"{self.IDS[3]},{self.IDS[1]}"
        self.assertEqual((seen["RATION_DEVICES"], seen["CUDA_VISIBLE_DEVICES"], seen["CUDA_DEVICE_ORDER"]), (wanted, wanted, "PCI_BUS_ID"))

    def case_nobody_gets_a_gpu_on_which_something_still_computes(self) -> None:
        self.prepare(users_of_last="1")
        self.write(elastic("a", "good", 150), elastic("b", "good", 20, at="1s", gpu="2"), head=self.head())
        run = self.start("--log", "log.jsonl")
        self.wait_for(lambda: (self.folder / "log.jsonl").exists() and self.told("clearing"))
        time.sleep(1)  # no event ends this wait: b must not start
        self.assertEqual([one.job for one in self.launches()], ["a"])
        self.script()
        out, err = run.communicate(timeout=PATIENCE)
        self.assert_finished(subprocess.CompletedProcess([], run.returncode, out, err), a=150, b=20)
        self.assertEqual([one.devices for one in self.launches("a")], [4, 2, 4])


class Resizing(Gpus):
    def test_resizing(self) -> None:
        self.all_cases()

    def case_a_job_shrinks_for_another_and_grows_again_without_losing_a_step(self) -> None:
        self.write(elastic("a", "good", 160, more='preload = ["no_such_module"]\n'), elastic("b", "good", 40, at="3s"), head=HEAD)
        done = self.run_jobs("--log", "log.jsonl")
        self.assert_finished(done, a=160, b=40)
        self.assertEqual([one.devices for one in self.launches("a")], [4, 2, 4])
        self.assertEqual([one.incarnation for one in self.launches("a")], [1, 2, 3])
        self.assertEqual([one.devices for one in self.launches("b")], [2])
        steps = [e["step"] for e in self.events() if e["event"] == "progress" and e["job"] == "a"]
        self.assertEqual(steps, list(range(1, 161)), "steps were lost or done twice")
        self.assertEqual([e["message"] for e in self.events() if e["event"] == "warning" and e["subject"] == "a"],
                         ["its fork server cannot be used: it has ended, with exit code 1; its launches import their modules again"])
        settled = self.told("settled")
        self.assertEqual([(e["from"], e["to"]) for e in settled], [(0, 4), (4, 2), (2, 4)])
        self.assertEqual(settled[1]["devices"], "cpu-0,cpu-1")  # it keeps those that it has
        changes = [e for e in self.events() if e["event"] == "change" and e["job"] == "a"]
        self.assertTrue(all(e["when"] == "needs_restart" and e["resource"] == "gpu" for e in changes), changes)
        costs = [e["columns"]["jobs/restart_cost"][0] for e in self.events() if e["event"] == "decision" and e["rows"][0] > 0]
        self.assertEqual(costs[0], 10)
        self.assertLess(costs[-1], 9)  # measured

    def case_a_job_that_gets_no_device_any_more_is_saved_and_goes_on_later(self) -> None:
        cheap = 'restart_cost = "100ms"'
        self.write(elastic("a", "good", 120, gpu="4", more=cheap), elastic("b", "good", 30, at="2s", gpu="4", more=cheap),
                   head=HEAD.replace("window = 20", "window = 20, aging = 0.5"))
        done = self.run_jobs("--log", "log.jsonl")
        self.assert_finished(done, a=120, b=30)
        self.assertTrue(self.told("queued"), "nobody was ever stopped for the other")
        self.assertGreater(self.launches("a")[-1].step, 0)

    def case_under_wants_a_job_gets_the_devices_that_it_requests(self) -> None:
        """The first job starts with two devices, and then requests one. The second one requests 9, and may have 3."""
        self.write(elastic("a", "wants", 100, 1), elastic("b", "wants", 100, 9, gpu="{ min = 1, max = 3 }"),
                   head='policy = "wants"\ndevices = { count = 4, cpu = 0.25 }\ntick = "100ms"\n')
        done = self.run_jobs("--log", "log.jsonl")
        self.assert_finished(done, a=100, b=100)
        self.assertEqual((self.launches("a")[-1].devices, self.launches("b")[-1].devices), (1, 3))
        requests = [e["columns"]["jobs/requested.gpu"] for e in self.events() if e["event"] == "decision" and e["rows"][0] == 2]
        self.assertEqual((requests[0], [1, 9] in requests), ([0, 0], True))
        warnings = [e["message"] for e in self.events() if e["event"] == "warning" and "not the jobs' own" in e["message"]]
        self.assertEqual(len(warnings), 1, warnings)  # of the invalid requests

    def case_the_environment_of_a_job_with_devices(self) -> None:
        script = ("import os, json, pathlib; pathlib.Path('env.json').write_text(json.dumps(dict(os.environ)));"
                  "pathlib.Path('words').write_text(__import__('sys').argv[1])")
        self.write(job("a", [PYTHON, "-c", script, "--nproc-per-node={devices}"], "bounds = { gpu = 3 }\nbatch = [0, 100, 200, 512]"), head=HEAD)
        done = self.run_jobs()
        self.assertEqual(done.returncode, 0, done.stderr)
        folder = (self.folder / "ration-output" / "latest").resolve() / "a.checkpoint"
        seen = json.loads((self.folder / "env.json").read_text())
        wanted = {"RATION_DEVICES": "cpu-0,cpu-1,cpu-2", "CUDA_VISIBLE_DEVICES": "", "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "RATION_BATCH": "512",
                  "OMP_NUM_THREADS": "1", "RATION_CPUS": "0.750", "RATION_CHECKPOINT": str(folder)}
        self.assertEqual({key: seen.get(key) for key in wanted}, wanted)
        self.assertEqual((self.folder / "words").read_text(), "--nproc-per-node=3")
        self.assertEqual(list(folder.iterdir()), [])


class FewerDevices(Together):
    """The devices of an earlier run that the next one does not share any more."""

    def test_fewer_devices(self) -> None:
        self.all_cases()

    def case_a_job_is_moved_off_them_and_nobody_gets_them_again(self) -> None:
        jobs = elastic("a", "good", 130), elastic("b", "good", 20, at="4s")
        self.write(*jobs, head=HEAD)
        run = self.start("--log", "log.0.jsonl")
        self.wait_for(lambda: (self.folder / "log.0.jsonl").exists() and '"what":"settled"' in (self.folder / "log.0.jsonl").read_text())
        run.kill()
        run.communicate()
        self.write(*jobs, head=HEAD.replace("count = 4", "count = 2"))
        self.assert_finished(self.run_jobs("--reattach", "--log", "log.jsonl"), a=130, b=20)
        told = [(e["device"], e["what"], e["why"]) for e in self.events() if e["event"] == "device"]
        self.assertEqual(told, [(name, "cordoned", "this run does not share it") for name in ("cpu-2", "cpu-3")])
        self.assertEqual([one.devices for one in self.launches("a")][:2], [4, 2])
        used = {name for e in self.events() if e["event"] == "job_started" for name in e["devices"].split(",")}
        self.assertEqual(used, {"cpu-0", "cpu-1"})


class Failing(Together):
    """After each failure the job has its old size, the log has the reason, and the job finishes its work."""

    def test_failing(self) -> None:
        self.all_cases()

    def check(self, mode: str, size: int, why: str, launches: list[int], steps: int = 110) -> None:
        """The job has 4 devices; another one, that wants 2, comes and goes."""
        self.write(elastic("a", mode, steps, size), elastic("b", "good", 20, at="2s", gpu="2"), head=HEAD)
        done = self.run_jobs("--log", "log.jsonl")
        self.assert_finished(done, a=steps, b=20)
        failed = self.told("failed")
        self.assertTrue(failed, done.stdout)
        self.assertEqual((failed[0]["from"], failed[0]["to"]), (4, 2))
        self.assertIn(why, failed[0]["why"])
        self.assertEqual([one.devices for one in self.launches("a")], launches)
        self.assertEqual(len(failed), 1, "it was not left alone after its failure")
        held = [e["columns"]["jobs/held.gpu"][0] for e in self.events() if e["event"] == "decision" and e["t"] > failed[0]["t"] and e["rows"][0] > 0]
        self.assertEqual(held[0], 4, "the policy was not shown what the job really has")

    def case_never_saves(self) -> None:
        self.check("never-saves", 0, "no checkpoint within", [4])

    def case_save_fails(self) -> None:
        self.check("save-fails", 0, "its checkpoint failed", [4])

    def case_dies_while_saving(self) -> None:
        self.check("dies-saving", 0, "it ended while it saved", [4, 4])

    def case_dies_at_the_new_size(self) -> None:
        self.check("dies-at", 2, "it ended at its start", [4, 2, 4])

    def case_dies_before_its_first_step(self) -> None:
        self.check("dies-early", 2, "it ended at its start", [4, 2, 4])

    def case_wrong_devices(self) -> None:
        self.check("wrong-devices", 2, "it sees the devices cpu-77", [4, 2, 4])

    def case_another_rank_sees_what_it_was_not_given(self) -> None:
        self.check("wrong-rank", 2, "its rank 1 sees the device cpu-77 and was given cpu-0,cpu-1", [4, 2, 4])

    def case_no_hello(self) -> None:
        self.check("mute-at", 2, "not sent its first message", [4, 2, 4])

    def case_without_commands_or_checkpoints_it_is_never_resized(self) -> None:
        self.write(elastic("a", "plain", 80), elastic("b", "good", 20, at="1s", gpu="2"), head=HEAD)
        done = self.run_jobs("--log", "log.jsonl")
        self.assert_finished(done, a=80, b=20)
        self.assertEqual([one.devices for one in self.launches("a")], [4])
        self.assertIn("not resized", done.stdout + done.stderr)

    def case_ignores_stop(self) -> None:
        self.write(elastic("a", "ignores-stop", 400), elastic("b", "good", 20, at="2s", gpu="2"), head=HEAD)
        run = self.start("--log", "log.jsonl")
        self.wait_for(lambda: (self.folder / "log.jsonl").exists() and self.told("killing"))
        self.wait_for(lambda: len(self.told("settled")) >= 2)
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=PATIENCE)
        self.assert_nobody_shared()
        self.assertEqual([one.devices for one in self.launches("a")][:2], [4, 2])

    def case_wrong_devices_at_the_first_launch_are_a_failure(self) -> None:
        self.write(elastic("a", "wrong-devices", 40, 4), head=HEAD)
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 1)
        ended = [e for e in self.events() if e["event"] == "job_ended"][0]
        self.assertEqual(ended["how"], "failed")
        self.assertIn("it sees the devices cpu-77", ended["why"])


class Mistakes(ElasticTest):
    def refused(self, code: int, head: str, *parts: str) -> str:
        self.write(*parts, head=head)
        done = self.run_jobs("--backend", "process")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_no_devices(self) -> None:
        self.environment["CUDA_VISIBLE_DEVICES"] = ""
        said = self.refused(3, HEAD.replace("devices = { count = 4, cpu = 0.25 }\n", ""), elastic("a", "good", 5))
        self.assertIn("jobs.toml:9:", said)
        self.assertIn("job 'a' needs at least 1 device, and there are none", said)
        self.assertEqual(said.count("\n"), 1)

    def test_more_devices_than_there_are(self) -> None:
        self.assertIn("needs at least 5 devices, and there are 4", self.refused(3, HEAD, elastic("a", "good", 5, gpu="5")))

    def test_a_policy_that_gives_no_devices(self) -> None:
        said = self.refused(3, HEAD.replace("loss_delta_ratio", "tradl", 1), elastic("a", "good", 5))
        self.assertIn("policy 'tradl' gives none", said)

    def test_a_policy_of_devices_where_no_job_needs_any(self) -> None:
        head = 'policy = "loss_delta_ratio"\n'
        self.assertIn("no job asks for any", self.refused(3, head, job("a", ["true"])))

    def test_one_cannot_share_more_cpu_than_there_is(self) -> None:
        self.assertIn("more than the", self.refused(3, HEAD.replace("cpu = 0.25", "cpu = 1000"), elastic("a", "good", 5)))


class Killed(Together):
    """kill -9 in the middle. Resizes follow one another all the time: a second job comes and goes, and a third."""

    STEPS = {"a": 100, "b": 50, "c": 30}

    def start_three(self) -> subprocess.Popen:
        self.write(elastic("a", "good", 100), elastic("b", "good", 50, at="1.5s"), elastic("c", "good", 30, at="3s", gpu="{ min = 1, max = 2 }"),
                   head=HEAD)
        return self.start("--log", "log.0.jsonl")

    def assert_all_done(self, said: str, allowed: tuple[str, ...] = ()) -> None:
        self.assert_nobody_shared()
        for name in self.STEPS:
            incarnations = [one.incarnation for one in self.launches(name)]
            self.assertEqual(incarnations, sorted(set(incarnations)), "an incarnation was used twice")
            if name not in allowed:
                self.assertTrue((self.folder / f"done.{name}").exists(), f"{name} {self.launches(name)}\n{said}")
        self.assertEqual([one for one in self.launches() if alive(one.pid)], [], "somebody was left behind")

    def kill_ration(self, seed: int) -> None:
        dice = random.Random(seed)
        run, said = self.start_three(), ""
        for again in range(1, 4):
            time.sleep(dice.uniform(1.4, 2.6))
            if run.poll() is not None:
                break
            run.kill()
            said += "".join(run.communicate())
            run = self.start("--reattach", "--log", f"log.{again}.jsonl")
        said += "".join(run.communicate(timeout=PATIENCE))
        self.assertIn(run.returncode, (0, 1), said)  # 1: a job ended while no ration was there to see how
        self.assert_all_done(said)

    def kill_jobs(self, seed: int) -> None:
        dice = random.Random(1000 + seed)
        run = self.start_three()
        killed = self.kill_in_resizes(run, dice)
        said = f"{killed}\n" + "".join(run.communicate(timeout=PATIENCE))
        self.assert_all_done(said, self.failed_at_rest(said))

    def failed_at_rest(self, said: str) -> tuple[str, ...]:
        """Jobs whose kill came a moment too late: the resize was over, and to be killed then is a failure like any other."""
        last, failed = {}, []
        for e in self.events("log.0.jsonl"):
            if e["event"] == "resize":
                last[e["job"]] = e["what"]
            if e["event"] == "job_ended" and e["how"] == "failed":
                self.assertIn(last[e["job"]], ("settled", "restored"), said)
                failed.append(e["job"])
        return tuple(failed)

    def kill_in_resizes(self, run: subprocess.Popen, dice: random.Random) -> list[str]:
        """Kills whichever process of a job is there shortly after a resize of it has begun."""
        killed, begun = [], 0
        log = "log.0.jsonl"
        while run.poll() is None and len(killed) < 3:
            time.sleep(0.02)
            events = self.events(log) if (self.folder / log).exists() else []
            saving = [e for e in events if e["event"] == "resize" and e["what"] == "saving"]
            if len(saving) == begun:
                continue
            begun = len(saving)
            name = saving[-1]["job"]
            time.sleep(dice.uniform(0, 0.3))
            pid = self.launches(name)[-1].pid
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.append(f"{name} {pid}")
        return killed

    def attempt(self, name: str) -> None:
        what, seed = name.split()
        try:
            getattr(self, what)(int(seed))
        except Exception as trouble:
            self.trouble = trouble

    def test_killed(self) -> None:
        """Four at a time."""
        names = [f"{what} {seed}" for seed in range(SEEDS) for what in ("kill_ration", "kill_jobs")]
        for first in range(0, len(names), 4):
            self.together(*names[first:first + 4])


if __name__ == "__main__":
    main()
