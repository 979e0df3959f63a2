# SPDX-License-Identifier: BSL-1.0
"""Which GPUs and CPUs `ration run` gives its jobs: on a recorded machine of eight GPUs against the tables of tests/hwloc/cases.md, and on this machine,
cut in two on paper, by what the jobs themselves find. The driver is a fake (tests/cuda/fake_driver)."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from elastic_test import HEAD, Together, elastic
from support import HERE, PATIENCE, PYTHON, RATION, alive, has_cgroups, job, main

PROJECT = HERE.parent.parent
sys.path.insert(0, str(PROJECT / "tests" / "hwloc" / "machines"))
import machines  # noqa: E402

GPUS = HEAD.replace("devices = { count = 4, cpu = 0.25 }\n", "")
DGX_1 = [f"0000:{bus}:00.0" for bus in ("06", "07", "0a", "0b", "85", "86", "89", "8a")]
MINE = sorted(os.sched_getaffinity(0))


def uuid(number: int) -> str:
    return f"GPU-0000000{number}-0000-4000-8000-000000000000"


def doctors_row(environment: dict) -> dict:
    said = subprocess.run([RATION, "doctor", "--json"], env=environment, capture_output=True, text=True, check=True).stdout
    return next(row for row in json.loads(said)["resources"] if row["what"] == "placement of GPUs and CPUs")


HAS_HWLOC = "without hwloc" not in doctors_row(dict(os.environ)).get("why_not", "")


def table(machine: str) -> dict[int, dict[str, str]]:
    """The rows of one machine in tests/hwloc/cases.md, by their numbers."""
    page = (PROJECT / "tests" / "hwloc" / "cases.md").read_text()
    rows = page[page.index(f"Machine: `{machine}`"):].split("\n### ")[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows if re.match(r"\| \d+ \|", row)]
    return {int(one[0]): dict(zip(("others", "has", "asks", "cpus", "memory", "gpus", "why"), one[1:])) for one in cells}


def numbers(cell: str) -> list[int]:
    """`0-3,8`"""
    ends = [[int(end) for end in part.split("-")] for part in cell.split(",") if part]
    return [number for end in ends for number in range(end[0], end[-1] + 1)]


def of_gpus(why: str) -> str:
    """The sentence about GPUs, which comes first."""
    return why.split(". ")[0] + "."


class OnGpus(Together):
    def prepare(self, addresses: list[str], topology: str, memory: tuple[int, ...] = ()) -> None:
        fake_driver = os.environ.get("RATION_FAKE_DRIVER", "")
        if not os.path.exists(os.path.join(fake_driver, "libnvidia-ml.so.1")):
            raise unittest.SkipTest("no fake for NVML: RATION_FAKE_DRIVER names its folder")
        lines = [f"gpu uuid={uuid(i)} pci={pci} memory={(memory[i] if memory else 80) << 30}" for i, pci in enumerate(addresses)]
        (self.folder / "gpus").write_text("\n".join(reversed(lines)) + "\n")  # the driver's order does not matter
        self.environment.update(LD_LIBRARY_PATH=fake_driver, RATION_STAND_IN_GPUS=str(self.folder / "gpus"), HWLOC_XMLFILE=topology)
        self.environment.pop("CUDA_VISIBLE_DEVICES", None)

    def started(self, name: str) -> list[dict]:
        return [e for e in self.events() if e["event"] == "job_started" and e["job"] == name]

    def gpus_of(self, name: str) -> list[list[int]]:
        """At each of its launches."""
        return [[int(one[11]) for one in e["devices"].split(",")] for e in self.started(name)]

    def warnings(self) -> str:
        return "\n".join(e["message"] for e in self.events() if e["event"] == "warning" and e["subject"] == "placement")


class RecordedMachine(OnGpus):
    """Two jobs on four GPUs each; a third that needs two comes and goes, so that the first one shrinks and grows again."""

    def test_on_a_recorded_machine(self) -> None:
        self.all_cases()

    def write_three(self) -> None:
        self.write(elastic("a", "good", 90, gpu="{ min = 2, max = 4 }"), elastic("b", "good", 90, gpu="4"), elastic("c", "good", 15, at="1s", gpu="2"), head=GPUS)

    def run_three(self, topology: str) -> None:
        self.prepare(DGX_1, topology)
        self.write_three()
        self.assert_finished(self.run_jobs("--log", "log.jsonl"), a=90, b=90, c=15)

    def case_near_each_other(self) -> None:
        if not HAS_HWLOC:
            self.skipTest("ration was built without hwloc")
        self.run_three(str(PROJECT / "tests" / "hwloc" / "machines" / "dgx_1.xml"))
        rows = table("dgx_1")
        self.assertEqual([rows[n]["asks"].split(", ")[1] for n in (5, 8, 7)], ["4 GPUs", "2 GPUs", "4 GPUs"], "the table has other rows now")
        self.assertEqual([(rows[n]["has"].split("GPUs ")[-1]) for n in (5, 8, 7)], ["-", "0-3", "2,3"], "the table has other rows now")
        wanted = [numbers(rows[n]["gpus"]) for n in (5, 8, 7)]
        self.assertEqual([sorted(gpus) for gpus in self.gpus_of("a")], wanted)
        self.assertEqual(self.gpus_of("a")[2][:2], wanted[1], "what a job keeps comes first in its mask")
        self.assertEqual([of_gpus(e["placement"]) for e in self.started("a")], [of_gpus(rows[n]["why"]) for n in (5, 8, 7)])
        self.assertEqual((self.gpus_of("b"), self.gpus_of("c")), ([[4, 5, 6, 7]], [[0, 1]]))
        self.assertEqual({e["cpus"] for e in self.started("a")}, {""}, "CPUs of another machine were bound")
        self.assertIn("20 cores (CPUs 0-19,40-59) on NUMA node 0, where its GPUs are", self.started("a")[0]["placement"])
        self.assertIn("no CPU is bound", self.warnings())

    def case_by_number_where_no_topology_can_be_read(self) -> None:
        self.run_three(str(self.folder / "nothing.xml"))
        self.assertEqual((self.gpus_of("a"), self.gpus_of("b"), self.gpus_of("c")), ([[0, 1, 2, 3], [0, 1], [0, 1, 2, 3]], [[4, 5, 6, 7]], [[2, 3]]))
        self.assertEqual({(e["cpus"], e["placement"]) for e in self.started("a")}, {("", "")})
        why = ("read a machine's topology" if HAS_HWLOC
               else "this program was built without hwloc; install libhwloc-dev and configure and build ration again")
        self.assertTrue(self.warnings().startswith(f"GPUs are chosen by number, and no CPU is bound: {why}"), self.warnings())

    def case_a_dry_run_says_the_same(self) -> None:
        if not HAS_HWLOC:
            self.skipTest("ration was built without hwloc")
        self.prepare(DGX_1, str(PROJECT / "tests" / "hwloc" / "machines" / "dgx_1.xml"))
        self.write(job("a", ["true"], "bounds = { gpu = 2 }"), job("b", ["true"], "bounds = { gpu = 2 }"), head=GPUS)
        done = self.run_jobs("--dry-run", "--json")
        planned = {line["job"]: line for line in map(json.loads, done.stdout.splitlines()) if line["resource"] == "gpu"}
        rows = table("dgx_1")
        self.assertEqual(planned["a"]["devices"], ",".join(uuid(i) for i in numbers(rows[3]["gpus"])))
        self.assertEqual(of_gpus(planned["a"]["placement"]), of_gpus(rows[3]["why"]))
        self.assertEqual(planned["b"]["devices"], ",".join(uuid(i) for i in numbers(rows[4]["gpus"])))
        said = self.run_jobs("--dry-run", "--explain").stdout
        self.assertIn(planned["a"]["placement"], said)
        self.assertIn(planned["b"]["devices"], said)
        self.environment["HWLOC_XMLFILE"] = str(self.folder / "nothing.xml")
        said = self.run_jobs("--dry-run", "--explain").stdout
        self.assertIn(f"{uuid(0)},{uuid(1)}", said)
        self.assertIn("By number: read a machine's topology", said)


class Memory(OnGpus):
    """GPUs 0 and 3 are large."""

    def test_memory(self) -> None:
        self.all_cases()

    def prepare_mixed(self, near: bool) -> None:
        self.prepare(DGX_1[:4], str(PROJECT / "tests" / "hwloc" / "machines" / ("dgx_1.xml" if near else "nothing.xml")), (80, 16, 16, 80))

    def check_left_to_those_who_need_them(self, near: bool) -> None:
        self.prepare_mixed(near)
        large = elastic("b", "good", 40, at="500ms", gpu='{ min = 1, max = 4 }, gpu_memory = "40GiB"')
        self.write(elastic("a", "good", 40, gpu="1"), large, head=GPUS)
        self.assert_finished(self.run_jobs("--log", "log.jsonl"), a=40, b=40)
        self.assertEqual([sorted(gpus) for gpus in self.gpus_of("a") + self.gpus_of("b")], [[1], [0, 3]])
        columns = [e["columns"] for e in self.events() if e["event"] == "decision" and e["rows"][0] == 2]
        self.assertEqual({(c["jobs/max.gpu"][1], c["jobs/request.gpu"][1]) for c in columns}, {(2, 2)}, "the policy was shown GPUs that are too small")

    def case_large_gpus_by_number(self) -> None:
        self.check_left_to_those_who_need_them(False)

    def case_large_gpus_by_place(self) -> None:
        self.check_left_to_those_who_need_them(True)

    def case_one_waits_until_large_ones_are_free(self) -> None:
        self.prepare_mixed(False)
        large = 'gpu_memory = "40GiB"'
        self.write(elastic("a", "good", 40, gpu=f"2, {large}"), elastic("b", "good", 20, at="500ms", gpu=f"2, {large}"), head=GPUS)
        self.assert_finished(self.run_jobs("--log", "log.jsonl"), a=40, b=20)
        self.assertEqual([sorted(self.gpus_of(name)[0]) for name in "ab"], [[0, 3], [0, 3]])
        ended = next(e["t"] for e in self.events() if e["event"] == "job_ended" and e["job"] == "a")
        self.assertGreaterEqual(self.started("b")[0]["t"], ended)

    def refused(self, gpu: str, head: str = GPUS) -> str:
        self.prepare_mixed(False)
        self.write(job("a", ["true"], f"bounds = {{ gpu = {gpu} }}"), head=head)
        done = self.run_jobs("--dry-run")
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        return done.stderr

    def case_none_is_large_enough(self) -> None:
        said = self.refused('1, gpu_memory = "81GiB"')
        self.assertIn("job 'a' needs at least 1 GPU of 81 GiB, and none is large enough, the largest with 80 GiB", said)

    def case_not_enough_are_large_enough(self) -> None:
        said = self.refused('{ min = 3, max = 4 }, gpu_memory = "40GiB"')
        self.assertIn("needs at least 3 GPUs of 40 GiB, and 2 are large enough", said)

    def case_cpu_devices_have_no_memory(self) -> None:
        self.assertIn("CPU devices have no memory", self.refused('1, gpu_memory = "1GiB"', head=HEAD))


@unittest.skipUnless(HAS_HWLOC, "ration was built without hwloc")
@unittest.skipUnless(len(MINE) > 1, "this machine has one CPU for us: there is nothing to choose")
class ThisMachine(OnGpus):
    """This machine's CPUs in two packages, each with a GPU."""

    FIRST, SECOND = set(MINE[:len(MINE) // 2]), set(MINE[len(MINE) // 2:])

    def draw(self) -> str:
        count = MINE[-1] + 1
        middle = min(self.SECOND)
        sheet = machines.Sheet("this machine, cut in two", count, 1)
        machines.memory(sheet, 0, range(count), 4)
        for package, part in enumerate((range(middle), range(middle, count))):
            threads_of, node = [(cpu,) for cpu in part], machines.mask([0])
            machines.level(sheet, "Package", threads_of, node, f'os_index="{package}" ')
            machines.cores(sheet, threads_of, node)
            machines.host(sheet, 0x40 * package, 0x40 * package + 0x3f)
            machines.gpu(sheet, 0x40 * package + 1, package, "2230")
            sheet.close(2)
        (self.folder / "machine.xml").write_text(sheet.text())
        return str(self.folder / "machine.xml")

    def prepare_here(self) -> None:
        self.prepare(["0000:01:00.0", "0000:41:00.0"], self.draw())
        self.environment["HWLOC_THISSYSTEM"] = "1"

    def test_on_this_machine(self) -> None:
        self.all_cases()

    def look(self, *arguments: str, more: str = "") -> dict[str, dict]:
        script = ("import os, json, pathlib, time; pathlib.Path(os.environ['RATION_JOB'] + '.json').write_text(json.dumps("
                  "dict(cpus=sorted(os.sched_getaffinity(0)), hint=os.environ['RATION_CPUS'], gpu=os.environ['CUDA_VISIBLE_DEVICES']))); time.sleep(0.5)")
        self.write(*[job(name, [PYTHON, "-c", script], f"bounds = {{ gpu = 1{more} }}") for name in "ab"], head=GPUS)
        done = self.run_jobs("--log", "log.jsonl", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return {name: json.loads((self.folder / f"{name}.json").read_text()) for name in "ab"}

    def check_near(self, *arguments: str) -> None:
        self.prepare_here()
        seen = self.look(*arguments)
        for name, near in (("a", self.FIRST), ("b", self.SECOND)):
            cpus = set(seen[name]["cpus"])
            self.assertLessEqual(cpus, near, f"{name} has {seen[name]['gpu']}")
            self.assertEqual(len(cpus), len(MINE) // 2)
            self.assertEqual(set(numbers(self.started(name)[0]["cpus"])), cpus)
            self.assertEqual(float(seen[name]["hint"]), len(cpus), "a job starts as many threads as it may have CPUs")
        self.assertEqual(self.warnings(), "")

    def case_cpus_near_the_gpus_by_affinity(self) -> None:
        self.check_near("--backend", "process")

    def case_cpus_near_the_gpus_by_cpuset(self) -> None:
        if not has_cgroups():
            self.skipTest("no cgroup can be written here")
        self.check_near("--backend", "cgroup")

    def case_a_bound_on_cpu_is_a_number_of_cpus(self) -> None:
        self.prepare_here()
        seen = self.look("--backend", "process", more=", cpu = { min = 0.1, max = 1 }")
        self.assertEqual([len(seen[name]["cpus"]) for name in "ab"], [1, 1])

    def case_nobody_is_bound_without_a_topology(self) -> None:
        self.prepare_here()
        self.environment["HWLOC_XMLFILE"] = str(self.folder / "nothing.xml")
        self.assertEqual([one["cpus"] for one in self.look("--backend", "process").values()], [MINE, MINE])

    def case_nobody_is_bound_by_the_topology_of_another_machine(self) -> None:
        self.prepare_here()
        del self.environment["HWLOC_THISSYSTEM"]
        self.assertEqual([one["cpus"] for one in self.look("--backend", "process").values()], [MINE, MINE])
        self.assertIn("no CPU is bound", self.warnings())

    def check_adopted(self, *arguments: str) -> None:
        self.prepare_here()
        self.write(elastic("a", "good", 80, gpu="1"), elastic("b", "good", 80, gpu="1"), head=GPUS)
        run = self.start("--log", "log.jsonl", *arguments)
        self.wait_for(lambda: len(self.launches()) == 2)
        run.kill()
        run.communicate()
        pids = {one.job: one.pid for one in self.launches()}
        again = self.start("--reattach", "--log", "log.jsonl", *arguments)
        self.wait_for(lambda: "taken over" in again.stdout.readline())
        self.wait_for(lambda: "taken over" in again.stdout.readline())
        bound = {name: os.sched_getaffinity(pid) for name, pid in pids.items() if alive(pid)}
        out, err = again.communicate(timeout=PATIENCE)
        self.assertEqual(again.returncode, 0, out + err)
        self.assertEqual(set(bound), {"a", "b"}, "the jobs ended before anybody could look")
        self.assertLessEqual(bound["a"], self.FIRST)
        self.assertLessEqual(bound["b"], self.SECOND)

    def case_jobs_of_an_earlier_ration_stay_where_they_are(self) -> None:
        self.check_adopted("--backend", "process")

    def case_jobs_of_an_earlier_ration_stay_where_they_are_in_a_new_group(self) -> None:
        if not has_cgroups():
            self.skipTest("no cgroup can be written here")
        self.check_adopted("--backend", "cgroup")


class Doctor(unittest.TestCase):
    def test_says_how_gpus_are_chosen(self) -> None:
        row = doctors_row(dict(os.environ, HWLOC_XMLFILE=str(PROJECT / "tests" / "hwloc" / "machines" / "dgx_1.xml")))
        if HAS_HWLOC:
            self.assertTrue(row["by"].startswith("hwloc "), row)
            self.assertEqual(row["where"], "40 cores, 2 NUMA nodes, 8 GPUs, of another machine (HWLOC_XMLFILE)")
            row = doctors_row(dict(os.environ, HWLOC_XMLFILE=str(pathlib.Path("/nothing.xml"))))
        self.assertFalse(row["available"])
        self.assertIn("GPUs of the lowest numbers", row["remedy"])


if __name__ == "__main__":
    main()
