# SPDX-License-Identifier: BSL-1.0
"""Tenants of the service on cgroups: CPU by weight, and devices by quota, each with a control.

RATION_SHARES_SECONDS: also measures the CPU time of the jobs for so long."""
import json
import os
import pathlib
import sys
import time
import unittest

from support import JOB, ServiceTest, cgroups_can_be_written

MEASURED = float(os.environ.get("RATION_SHARES_SECONDS", 0))
SCRIPT = pathlib.Path(__file__).with_name("ranks_job.py")
BUSY = json.dumps(["sh", "-c", "while :; do :; done"])
TICK = os.sysconf("SC_CLK_TCK")


class TenantsTest(ServiceTest):
    def configure(self, text: str, *options: str, backend: str = "process") -> None:
        self.kill()
        (self.folder / "service.toml").write_text(text)
        self.start("--config", str(self.folder / "service.toml"), *options, backend=backend)

    def submit_for(self, tenant: str, command: str, more: str = "") -> str:
        text = JOB.replace('"a"', f'"{tenant}"').replace('["true"]', command) + f'tenant = "{tenant}"\nat_objective = "continue"\n{more}'
        (self.folder / "job.toml").write_text(text)
        return self.submit("--retries", "5", str(self.folder / "job.toml"))

    def events(self, kind: str) -> list[dict]:
        lines = (self.state / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == kind]


class Weights(TenantsTest):
    def setUp(self) -> None:
        super().setUp()
        if not cgroups_can_be_written(self.environment):
            self.skipTest("no cgroup can be written here")

    def running(self) -> list[dict]:
        return self.ask("GET", "/v1/running")[1]["jobs"]

    def devices(self) -> dict[str, int]:
        """Of the jobs that run, by their names."""
        out = {"anna": 0, "ben": 0}
        for job in self.running():
            out[job["label"].split("-")[0]] += job["devices"]
        return out

    def used(self) -> dict[str, float]:
        """Seconds of CPU of all programs of the jobs, by the names of the jobs."""
        out = {"anna": 0.0, "ben": 0.0}
        for record in self.state.glob(".ration/*/run.json"):
            for job in json.loads(record.read_text())["run"]["jobs"]:
                if job["pid"] == 0:
                    continue
                for child in pathlib.Path(f"/proc/{job['pid']}/task/{job['pid']}/children").read_text().split():
                    fields = pathlib.Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()
                    out[job["name"].split("-")[0]] += (int(fields[11]) + int(fields[12])) / TICK
        return out

    def kernel_weights(self) -> dict[str, int]:
        """The weights of the jobs for the kernel, by which they share what other programs leave."""
        out = {"anna": 0, "ben": 0}
        for record in self.state.glob(".ration/*/run.json"):
            for job in json.loads(record.read_text())["run"]["jobs"]:
                for line in pathlib.Path(f"/proc/{job['pid']}/cgroup").read_text().splitlines():
                    _, controllers, path = line.split(":", 2)
                    for file in (f"cpu/{path}/cpu.shares", f"{controllers}/{path}/cpu.shares", f"{path}/cpu.weight"):
                        weight = pathlib.Path("/sys/fs/cgroup") / file.replace("//", "/").lstrip("/")
                        if "cpu" in controllers.split(",") + ["cpu"] * (controllers == "") and weight.exists():
                            out[job["name"].split("-")[0]] += int(weight.read_text())
                            break
        return out

    def check(self, by_tenant: bool, wanted: float) -> None:
        """`wanted`: the part of anna, who has one job beside nine of ben. Forty devices are a core."""
        weights = "".join(f'[[tenant]]\nname = "{tenant}"\nweight = {weight}\n' for tenant, weight in (("anna", 3), ("ben", 1)))
        self.configure(f'policy = "max_min"\nmax_min = {{ by_tenant = {str(by_tenant).lower()} }}\ntick = "100ms"\ndevices = {{ count = 40, cpu = 0.025 }}\n{weights}', "--cpus", "1", backend="cgroup")
        self.ration("drain")  # so that one decision is about all of them
        for name in ("anna", *["ben"] * 9):
            self.submit_for(name, BUSY, "bounds = { gpu = { min = 1, max = 40 } }\n")
        self.ration("drain", "--undo")
        self.wait_for(lambda: sum(self.devices().values()) == 40)
        self.assertEqual(self.devices()["anna"], round(40 * wanted))
        self.wait_for(lambda: {job["stage"] for job in self.ask("GET", "/v1/jobs")[1]["jobs"]} == {"PROCESSING"})  # all were launched
        self.wait_for(lambda: self.used()["anna"] > 0 and self.used()["ben"] > 0)
        weights = self.kernel_weights()
        self.assertAlmostEqual(weights["anna"] / sum(weights.values()), wanted, delta=0.05)  # they are hundredths of a core
        if not MEASURED:
            return
        before = self.used()
        time.sleep(MEASURED)
        used = {name: seconds - before[name] for name, seconds in self.used().items()}
        print(f"by_tenant = {by_tenant}: anna {100 * used['anna'] / sum(used.values()):.1f} % of {sum(used.values()):.2f} s in {MEASURED} s", flush=True)
        if sum(used.values()) < 0.95 * MEASURED:
            self.skipTest("other programs use the CPUs, so that the jobs do not reach their limits")
        self.assertAlmostEqual(used["anna"] / sum(used.values()), wanted, delta=0.03)

    def test_weights_count_for_tenants_and_not_for_their_jobs(self) -> None:
        self.check(True, 0.75)

    def test_control_without_tenants_all_jobs_are_equal(self) -> None:
        self.check(False, 0.1)


class Quotas(TenantsTest):
    """Two devices, of which each of two tenants owns one."""

    def begin(self, lend: int) -> tuple[str, str]:
        self.configure('policy = "fifo"\nfifo = { tenants = "reclaim" }\ndevices = { count = 2, cpu = 0.1 }\ntick = "100ms"\n' +
                       "".join(f'[[tenant]]\nname = "{name}"\nquota = {{ gpu = 1 }}\nlend = {{ gpu = {lend} }}\n' for name in ("anna", "ben")))
        train = json.dumps([sys.executable, str(SCRIPT), "100000"])
        return tuple(self.submit_for("anna", train, "bounds = { gpu = 1 }\n") for _ in range(2))

    def lines(self, label: str) -> list[str]:
        log = self.folder / f"{label}.log"
        return log.read_text().splitlines() if log.exists() else []

    def is_running(self, label: str) -> bool:
        return self.job(label)["stage"] in ("PROCESSING", "STORING")

    def decisions_between(self, first: int, last: int) -> int:
        """The number of decisions between two times of the event log."""
        return sum(first < event["t"] < last for event in self.events("decision"))

    def test_the_owners_job_starts_when_the_borrower_has_saved(self) -> None:
        own, borrowed = self.begin(lend=1)
        self.wait_for(lambda: self.is_running(own) and self.is_running(borrowed) and "saved 10" in self.lines(borrowed))
        owners = self.submit_for("ben", json.dumps([sys.executable, str(SCRIPT), "20"]), "bounds = { gpu = 1 }\n")
        self.ration("wait", owners)
        starts = lambda label: [event["t"] for event in self.events("job_started") if event["job"] == label]
        arrival = next(event["t"] for event in self.events("decision") if len(event["columns"]["jobs/id"]) == 3)
        resizes = [event for event in self.events("resize") if event["job"] == borrowed and event["t"] >= arrival]
        begun = next(event["t"] for event in resizes if event["what"] == "saving")
        clear = next(event["t"] for event in resizes if event["what"] == "queued")
        self.assertEqual(self.decisions_between(arrival, begun), 0)
        self.assertLessEqual(self.decisions_between(clear, starts(owners)[0]), 1)
        self.wait_for(lambda: self.lines(borrowed)[-1].startswith("saved") and len([line for line in self.lines(borrowed) if line.startswith("starts")]) == 2)
        log = self.lines(borrowed)
        second = [number for number, line in enumerate(log) if line.startswith("starts")][1]
        self.assertEqual(log[second].split()[1], log[second - 1].split()[1])  # no step is lost
        self.assertEqual(len([line for line in self.lines(own) if line.startswith("starts")]), 1)

    def test_control_a_tenant_that_lends_nothing_waits_for_nobody(self) -> None:
        own, other = self.begin(lend=0)
        self.wait_for(lambda: self.is_running(own))
        owners = self.submit_for("ben", json.dumps([sys.executable, str(SCRIPT), "20"]), "bounds = { gpu = 1 }\n")
        self.ration("wait", owners)
        self.assertEqual((self.lines(other), self.job(other)["stage"]), ([], "PENDING"))
        self.assertEqual([event for event in self.events("resize") if event["what"] == "saving"], [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
