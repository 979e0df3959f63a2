# SPDX-License-Identifier: BSL-1.0
"""`ration report` from the outside, without a browser: the numbers of a page are those of its logs, and no log breaks it."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

import logs
from logs import SECOND, data_of, line

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
JOB = pathlib.Path(__file__).resolve().parents[1] / "run" / "job.py"
JOBS = "".join(f'[[job]]\nname = "{name}"\ncommand = {json.dumps(["/usr/bin/python3", str(JOB), "1.5", *losses])}\nat = "{at}"\n'
               "target = { loss = { acceptable = 0.5, objective = 0.1 } }\n" for name, at, losses in (("early", "0s", ["1", "0.4", "0.05"]), ("late", "500ms", ["1", "0.9", "0.3"])))

RESIZED = pathlib.Path(__file__).resolve().parents[1] / "run" / "elastic_job.py"
RESIZING = ('policy = "loss_delta_ratio"\nloss_delta_ratio = { residence = 0, window = 20 }\ndevices = { count = 4, cpu = 0.25 }\ntick = "100ms"\n' + "".join(
    f'[[job]]\nname = "{name}"\nat = "{at}"\nbounds = {{ gpu = {gpu} }}\ntarget = {{ loss = {{ acceptable = 0.5, objective = 0.1 }} }}\n'
    f'command = {json.dumps(["/usr/bin/python3", str(RESIZED), "good", steps])}\n' for name, at, steps, gpu in (("first", "0s", "50", "{ min = 1, max = 4 }"), ("second", "1s", "15", "2"))))


def quantile(values: list[float], part: float) -> float:
    values, place = sorted(values), part * (len(values) - 1)
    below = int(place)
    return values[-1] if below + 1 >= len(values) else values[below] + (place - below) * (values[below + 1] - values[below])


class Report(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def call(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([RATION, *words], cwd=self.folder, capture_output=True, text=True, timeout=100, check=False, env=dict(os.environ, XDG_RUNTIME_DIR=str(self.folder)))

    def page(self, *logs_: str) -> str:
        for i, log in enumerate(logs_):
            (self.folder / f"{i}.jsonl").write_text(log)
        done = self.call("report", *(f"{i}.jsonl" for i in range(len(logs_))), "--out", "page.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stderr
        return (self.folder / "page.html").read_text()

    def refusal(self, log: str) -> str:
        (self.folder / "bad.jsonl").write_text(log)
        done = self.call("report", "bad.jsonl")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertFalse((self.folder / "bad.html").exists())
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr.strip()


class Numbers(Report):
    def assert_close(self, shown: list, wanted: list) -> None:
        """To six digits, as in docs/report.md."""
        self.assertEqual(len(shown), len(wanted))
        for one, other in zip(shown, wanted):
            self.assertAlmostEqual(one, other, delta=1e-5 * abs(other) + 1e-12)

    def test_a_page_of_two_real_runs_says_what_their_log_says(self) -> None:
        (self.folder / "jobs.toml").write_text('policy = "equal_share"\ncpus = 1\ntick = "100ms"\n' + JOBS)
        done = self.call("run", "jobs.toml", "--compare", "none", "--quiet", "--log", "run.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.call("report", "run.jsonl").returncode, 0)
        data = data_of((self.folder / "run.html").read_text())
        events = [json.loads(text) for text in (self.folder / "run.jsonl").read_text().splitlines()]
        first = [i for i, e in enumerate(events) if e["event"] == "run"]
        self.assertEqual([run["line"] for run in data["runs"]], [i + 1 for i in first])
        self.assertEqual([run["label"] for run in data["runs"]], ["none", "equal_share"])
        for run, begin, end in zip(data["runs"], first, [*first[1:], len(events)]):
            with self.subTest(run=run["label"]):
                self.check_run(run, events[begin:end])
        self.check_comparison(data["comparison"], [e for e in events if e["event"] == "run_ended"])

    def check_run(self, run: dict, events: list[dict]) -> None:
        of = {kind: [e for e in events if e["event"] == kind] for kind in ("progress", "decision", "change", "deferred", "run_ended", "job_started")}
        told, jobs = of["run_ended"][0], run["jobs"]
        self.assertEqual(jobs["name"], [j["job"] for j in told["jobs"]])
        for moment in ("arrived", "started", "acceptable_at", "objective_at", "ended_at", "how"):
            self.assertEqual(jobs[moment], [j[moment] for j in told["jobs"]])
        self.assertEqual((jobs["acceptable"], jobs["objective"]), ([0.5] * 2, [0.1] * 2))
        self.assertEqual((run["makespan"], run["mean_cpu"], run["end"]), (told["makespan"], told["mean_cpu"], events[-1]["t"]))
        for curve in run["curves"]:
            reported = [e for e in of["progress"] if e["job"] == jobs["name"][curve["job"]]]
            self.assertGreaterEqual(len(reported), 3)  # each loss of the job, on any machine
            self.assert_close(curve["t"], [e["t"] / 1e9 for e in reported])
            self.assert_close(curve["value"], [e["value"] if e["smoothed"] is None else e["smoothed"] for e in reported])
        self.check_cpu(run["resources"]["cpu"], of["decision"], {e["id"]: jobs["name"].index(e["job"]) for e in of["job_started"]}, jobs)
        entries = [e for e in run["log"]["entries"] if e[4] == "change"]
        self.assertEqual([(e[0], e[5], e[7], e[8], e[9]) for e in entries], [(c["t"], c["job"], c["old"], c["new"], c["reason"]) for c in of["change"]])
        self.assertEqual(sum(e[2] for e in run["log"]["entries"] if e[4] == "deferred"), len(of["deferred"]))
        self.assertEqual((run["changes"], run["deferred"], run["decisions"]["count"]), (len(of["change"]), len(of["deferred"]), len(of["decision"])))
        self.assertAlmostEqual(run["decisions"]["p50"], quantile([d["took"] / 1e9 for d in of["decision"]], 0.5))

    def check_cpu(self, shown: dict, decisions: list[dict], places: dict, jobs: dict) -> None:
        self.assert_close(shown["used"]["to"], [d["t"] / 1e9 for d in decisions])
        self.assertEqual(set(shown["used"]["of"]), {"0", "1"})
        for id_, place in places.items():
            rows = [d["columns"]["jobs/id"].index(id_) if id_ in d["columns"]["jobs/id"] else None for d in decisions]
            over = [d["t"] >= jobs["ended_at"][place] for d in decisions]
            used = [0 if row is None or end else d["columns"]["jobs/used.cpu"][row] for row, end, d in zip(rows, over, decisions)]
            alive = [not end for end in over]
            self.assert_close([v for v, a in zip(shown["used"]["of"][str(place)], alive) if a], [v for v, a in zip(used, alive) if a])
            self.assertEqual(shown["used"]["of"][str(place)][-1], 0)
            # What a decision leaves a job holds until the next one.
            held = [0 if row is None or end else {**d["columns"], **d["columns_after"]}["jobs/held.cpu"][row] for row, end, d in zip(rows, over, decisions)]
            self.assertEqual([v if v != "unlimited" else 2**63 - 1 for v in shown["held"]["of"][str(place)]], [0, *held])

    def check_comparison(self, compared: dict, told: list[dict]) -> None:
        self.assertEqual((compared["sides"], compared["rounds"]), (["none", "equal_share"], 1))
        by_name = {f["figure"]: f["values"] for f in compared["figures"]}
        both = [i for i in range(2) if all(t["jobs"][i]["acceptable_at"] is not None for t in told)]
        self.assertEqual(len(both), 2)
        self.assert_close(by_name["mean time to Acceptable"], [statistics.mean((t["jobs"][i]["acceptable_at"] - t["jobs"][i]["arrived"]) / 1e9 for i in both) for t in told])
        self.assertEqual(by_name["makespan"], [t["makespan"] / 1e9 for t in told])
        self.assertEqual(by_name["mean cpu use"], [t["mean_cpu"] for t in told])
        self.assertEqual(by_name["cpu available"], [t["available_cpu"] for t in told])
        self.assertEqual(by_name["jobs at Objective"], [1, 1])

    def test_devices_of_a_real_run_are_those_of_its_launches(self) -> None:
        """A launch names its devices; the job has them until it has ended or is launched with others."""
        (self.folder / "jobs.toml").write_text(RESIZING)
        done = self.call("run", "jobs.toml", "--quiet", "--log", "run.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        events = [json.loads(text) for text in (self.folder / "run.jsonl").read_text().splitlines()]
        run, = data_of(self.page((self.folder / "run.jsonl").read_text()))["runs"]
        names, jobs = run["devices"]["names"], run["jobs"]["name"]
        self.assertEqual(names, events[0]["devices"])
        launched = [(e["t"], e["job"], device) for e in events if e["event"] == "job_started" for device in e["devices"].split(",")]
        self.assertGreater(len({e["incarnation"] for e in events if e["event"] == "job_started"}), 1, "nobody was resized")
        shown = [(jobs[job], names[device], begin, end) for device, job, begin, end in run["devices"]["stretches"]]
        for t, job, device in launched:
            with self.subTest(job=job, device=device, t=t):
                self.assertEqual(sum(j == job and d == device and begin <= t < end for j, d, begin, end in shown), 1)
        over = {e["job"]: e["t"] for e in events if e["event"] == "job_ended"}
        for device in names:
            having = sorted((begin, end) for _, d, begin, end in shown if d == device)
            self.assertTrue(all(a[1] <= b[0] for a, b in zip(having, having[1:])), f"{device} had two jobs at a time: {having}")
        for job, _, begin, end in shown:
            self.assertTrue(begin < end <= over[job], (job, begin, end))
            self.assertTrue(any(j == job and begin <= t < end for t, j, _ in launched), "a job has a device that it was never launched with")
        self.assertEqual(max(end for *_, end in shown), max(over.values()))

    def test_devices_follow_what_is_said_of_them(self) -> None:
        def resize(t: int, what: str, devices: str, job: str = "a") -> str:
            return line("resize", t, job=job, incarnation=1, what=what, **{"from": 1, "to": 2}, devices=devices, why="")
        head = logs.run(devices=["x", "y", "never"]) + line("job_started", 1, job="a", id=1, incarnation=1, pid=7, command=["x"], devices="x,y")
        log = head + resize(3, "saving", "x,y") + resize(5, "starting", "y,new") + resize(6, "queued", "") + line("job_started", 7, job="b", id=2, incarnation=1, pid=8, command=["x"], devices="y") + line("warning", 9, subject="", message="")
        run, = data_of(self.page(log))["runs"]
        self.assertEqual(run["devices"]["names"], ["x", "y", "never", "new"])
        self.assertEqual(run["devices"]["stretches"], [[0, 0, 1, 5], [1, 0, 1, 6], [3, 0, 5, 6], [1, 1, 7, 9]])
        self.assertNotIn("devices", data_of(self.page(logs.run() + logs.started("a", 1)))["runs"][0])
        restless = head + "".join(resize(i + 2, "settled", "x" if i % 2 else "y") for i in range(4000)) + logs.ended("a", 9000)
        run, = data_of(self.page(restless))["runs"]
        self.assertEqual((len(run["devices"]["stretches"]), run["devices"]["left_out"]), (3000, 1001))

    def test_ten_thousand_jobs_are_quantiles_and_a_histogram_and_fit_into_a_page(self) -> None:
        log = logs.many_jobs(10_000, "las", 1)
        page = self.page(log)
        run, = data_of(page)["runs"]
        told = [j for text in log.splitlines()[-1:] for j in json.loads(text)["jobs"]]
        for name, moment in (("wait", "started"), ("to_acceptable", "acceptable_at"), ("to_objective", "objective_at"), ("to_end", "ended_at")):
            with self.subTest(distribution=name):
                times = [(j[moment] - j["arrived"]) / 1e9 for j in told if j[moment] is not None]
                shown = run["distributions"][name]
                self.assertEqual((shown["of"], shown["reached"], sum(shown["bins"]["counts"])), (10_000, len(times), len(times)))
                self.assert_close(shown["quantiles"], [quantile(times, i / 100) for i in range(101)])
                self.assert_close([shown["mean"]], [statistics.fmean(times)])
                for k, count in enumerate(shown["bins"]["counts"], shown["bins"]["first"]):
                    self.assertAlmostEqual(count, sum(10 ** (k / 8) <= t < 10 ** ((k + 1) / 8) for t in times), delta=2 if k > -48 else len(times))
        self.assertNotIn("phases", run)
        alive = sum(j["ended_at"] - j["arrived"] for j in told) / 1e9
        self.assertAlmostEqual(sum(map(sum, run["phase_counts"]["counts"])) * run["phase_counts"]["width"], alive, delta=1e-4 * alive)
        self.assertEqual(len(run["jobs"]["name"]), 10_000)
        self.assertLess(len(page), 3_000_000 + 250_000)

    def test_a_long_run_keeps_its_means(self) -> None:
        """Neighbours among 5000 decisions become one, and CPU time stays what it was."""
        used = [(i * 37) % 1000 for i in range(5000)]
        text = logs.run() + logs.started("a", 0) + "".join(
            logs.decision((i + 1) * SECOND, i, {"jobs/id": [1], "jobs/used.cpu": [used[i]], "jobs/held.cpu": [2**63 - 1 if i < 2500 else 500], "nodes/capacity.cpu": [4000]}) for i in range(5000))
        run, = data_of(self.page(text))["runs"]
        shown = run["resources"]["cpu"]
        ends = [0, *shown["used"]["to"]]
        self.assertLessEqual(len(ends), 301)
        self.assertEqual(ends[-1], 5000)
        self.assertAlmostEqual(sum(v * (b - a) for v, a, b in zip(shown["used"]["of"]["0"], ends, ends[1:])), sum(used), delta=5)
        held = shown["held"]["of"]["0"]
        self.assertEqual(({v for v in held[1:len(held) // 3]}, held[-1]), ({"unlimited"}, 500))
        self.assertIsNone(run["makespan"])

    def test_jobs_of_a_run_that_was_killed(self) -> None:
        run, = data_of(self.page(logs.run() + logs.started("a", 5) + line("tier_reached", 3 * SECOND, job="a", tier=1, step=2, value=0.4, after=3 * SECOND)
                                 + logs.progress("a", 4 * SECOND, 3, 0.3)))["runs"]
        self.assertEqual((run["jobs"]["acceptable_at"], run["jobs"]["how"], run["end"]), ([3 * SECOND], ["running"], 4 * SECOND))
        self.assertEqual(run["phases"], [[0, 0, 0, 5], [0, 1, 5, 3 * SECOND], [0, 2, 3 * SECOND, 4 * SECOND]])

    def test_a_level_that_holds_is_lost_and_holds(self) -> None:
        end = line("job_ended", 9 * SECOND, job="web", incarnation=1, how="finished", exit_code=0, signal=None, step=9, why="", level_met=0.75)
        run, = data_of(self.page(logs.run(source=logs.SERVICE) + logs.started("web", SECOND) + logs.level(3, True, 0.1, 1) + logs.level(5, False, "nan", 0.25) + logs.level(7, True, 0.15, 1) + end))["runs"]
        self.assertEqual((run["jobs"]["level"], run["jobs"]["level_met"], run["jobs"]["acceptable_at"]), ([0.2], [0.75], [None]))
        self.assertEqual(run["phases"], [[0, phase, begin * SECOND, stop * SECOND] for phase, begin, stop in ((0, 0, 1), (1, 1, 3), (6, 3, 5), (1, 5, 7), (6, 7, 9))])
        self.assertEqual([(e[4], e[9]) for e in run["log"]["entries"] if "level" in e[4]],
                         [(f"level {now}", f"p95 {rest} % of the window met") for now, rest in (("holds", "0.1, 100"), ("lost", "nan, 25"), ("holds", "0.15, 100"))])

    def test_a_simulation_keeps_its_figures(self) -> None:
        done = self.call("sim", "--generate", "rigid:jobs=60,per_hour=60", "--seeds", "2", "--cluster", "2x4", "--policy", "fifo,las", "--json", "--quiet")
        said = json.loads(done.stdout.splitlines()[0])
        page = self.page(done.stdout)
        shown, = data_of(page, "simulations")
        for one, other in zip(shown["policies"], said["policies"]):
            self.assertEqual({k: {"mean": v[0], "half_of_95": v[1]} for k, v in one["figures"].items()}, other["figures"])
            self.assertEqual((one["distributions"], one["series"]), (other["distributions"], other["series"]))
            self.assertEqual(one["distributions"]["jct"]["reached"], 120)
            self.assertAlmostEqual(one["distributions"]["jct"]["mean"], other["figures"]["mean_jct"]["mean"], delta=0.5)
        self.assertEqual(data_of(page)["runs"], [])
        self.assertEqual(self.call("sim", "--generate", "rigid:jobs=60,per_hour=60", "--seeds", "2", "--cluster", "2x4", "--policy", "fifo,las", "--quiet", "--report", "sim.html").returncode, 0)
        self.assertEqual(data_of((self.folder / "sim.html").read_text(), "simulations"), [shown])

    def test_a_simulation_keeps_the_figures_of_tenants(self) -> None:
        (self.folder / "tenants.toml").write_text('[[tenant]]\nname = "tenant-1"\nweight = 3\n')
        done = self.call("sim", "--generate", "rigid:jobs=60,per_hour=60", "--seeds", "2", "--cluster", "2x4", "--policy", "fifo,fair_queue", "--tenants", "tenants.toml", "--json", "--quiet")
        shown, = data_of(self.page(done.stdout), "simulations")
        for one, other in zip(shown["policies"], json.loads(done.stdout.splitlines()[0])["policies"]):
            runs = [{tenant["tenant"]: tenant for tenant in run["tenants"]} for run in other["runs"]]
            self.assertEqual([tenant["tenant"] for tenant in one["tenants"]], list(runs[0]))
            self.assertGreater(len(runs[0]), 10)
            for tenant in one["tenants"]:
                said = [run[tenant["tenant"]] for run in runs]
                for figure in ("jobs", "mean_wait", "p99_wait", "worst_wait", "held", "weight"):
                    with self.subTest(policy=one["policy"], tenant=tenant["tenant"], figure=figure):
                        values = [each[figure] for each in said]
                        if None in values:
                            self.assertIsNone(tenant[figure])
                        else:
                            self.assertAlmostEqual(tenant[figure], statistics.mean(values), delta=1e-5 * abs(statistics.mean(values)) + 1e-12)
        crowded = json.loads(done.stdout.splitlines()[0])
        for run in (run for one in crowded["policies"] for run in one["runs"]):
            run["tenants"] = [{**run["tenants"][0], "tenant": f"t{i}"} for i in range(201)]
        shown, = data_of(self.page(json.dumps(crowded) + "\n"), "simulations")
        self.assertEqual([[tenant["tenant"] for tenant in one["tenants"]] for one in shown["policies"]], 2 * [[f"t{i}" for i in range(200)]])

    def test_the_jobs_of_a_simulation_one_by_one(self) -> None:
        """Their times are those of the figures, and what they held is what was in use."""
        for words in (("rigid:jobs=400,per_hour=60", "fifo,las"), ("scaling:jobs=60,per_hour=30", "optimus,max_min"), ("cpu:jobs=40", "none,tradl")):
            with self.subTest(words=words):
                machines, loss = ("1x1core", ("--models", os.environ["RATION_BENCH_DATA"] + "/loss/fits.csv")) if words[0].startswith("cpu") else ("4x4", ())
                said = json.loads(self.call("sim", "--generate", words[0], "--cluster", machines, "--policy", words[1], "--json", "--quiet", *loss).stdout.splitlines()[0])
                shown, = data_of(self.page(json.dumps(said) + "\n"), "simulations")
                self.assertEqual(shown["jobs"], said["jobs"])
                self.assertEqual(said["jobs"]["submitted"], sorted(said["jobs"]["submitted"]))
                for one, other in zip(shown["policies"], said["policies"]):
                    self.assertEqual(one["jobs"], other["jobs"])
                    self.check_jobs(other)

    def check_jobs(self, policy: dict) -> None:
        jobs = policy["jobs"]
        for moment, distribution in (("started", "wait"), ("finished", "jct")):
            self.assertEqual(len(jobs[moment]), policy["distributions"][distribution]["of"])
            times = [t for t in jobs[moment] if t is not None]
            self.assertEqual(len(times), policy["distributions"][distribution]["reached"])
            self.assert_close([statistics.fmean(times)], [policy["distributions"][distribution]["mean"]])
        held = 0.0
        for start, end, way in zip(jobs["started"], jobs["finished"], jobs["holds"]):
            if isinstance(way, dict):
                return self.assertGreater(way["changes"], 0)  # too many changes to be listed: then the sum cannot be compared
            changes = [(start, way), (end, 0)] if not isinstance(way, list) else list(zip(way[::2], way[1::2]))
            self.assertEqual(changes[-1], (end, 0))
            held += sum(amount * (until - t) for (t, amount), (until, _) in zip(changes, changes[1:]))
        used = max((policy["series"][kind] for kind in ("devices", "cores")), key=lambda series: sum(series["means"]))
        self.assertAlmostEqual(held, sum(used["means"]) * used["width"], delta=0.005 * held)
        return None

    def test_the_jobs_of_ten_thousand_fit_into_a_page(self) -> None:
        for jobs, cluster, policies in ((10_000, "24x4", ("srtf", "las")), (9_000, "64x4", ("fifo", "sjf", "srtf", "las", "gang", "pack", "spread"))):
            done = self.call("sim", "--generate", f"rigid:jobs={jobs},per_hour=60", "--cluster", cluster, "--policy", ",".join(policies), "--report", "sim.html", "--quiet")
            self.assertEqual(done.returncode, 0, done.stderr)
            page = (self.folder / "sim.html").read_text()
            self.assertLess(len(page), 1_500_000)
            shown, = data_of(page, "simulations")
            self.assertEqual(len(shown["jobs"]["submitted"]), min(jobs, 60_000 // len(policies)))
            told = [sum(len(way) // 2 for way in one["jobs"]["holds"] if isinstance(way, list)) for one in shown["policies"]]
            self.assertLessEqual(max(told), 30_000 // len(policies))


class Hostile(Report):
    def test_what_a_log_says_stays_text(self) -> None:
        name = "</script><script>alert(1)</script><!-- \" ' & \u2028 \u202e \x07 \\"
        shown = name.replace("\u2028", "?").replace("\u202e", "?")  # neither turns the text around it
        log = logs.run(name) + logs.started(name, 1) + line("warning", 2, subject=name, message=name) + line(name, 3) + logs.ended(name, 4, name) + logs.run_ended(5, [])
        page = self.page(log)
        data = data_of(page)
        self.assertEqual((data["runs"][0]["policy"], data["runs"][0]["jobs"]["name"]), (shown, ["a", shown]))
        self.assertNotIn("alert(1)</script>", page)
        self.assertNotIn("<!-- \"", page)
        self.assertEqual(page.count("<script"), page.count("</script>"))
        self.assertEqual(data["runs"][0]["log"]["entries"][0][5], shown)

    def test_half_a_line_at_the_end_is_left_out_and_said(self) -> None:
        whole = logs.run() + logs.started("a", 5)
        for half in ('{"event":"progress","t":1', '{"event', "\xff"):
            cut = data_of(self.page(whole + half))
            self.assertIn("half a line", cut["remarks"][0])
            self.assertIn("half a line", self.said)
            self.assertEqual(cut["runs"], data_of(self.page(whole))["runs"])

    def test_events_that_are_not_known_are_counted(self) -> None:
        run, = data_of(self.page(logs.run() + line("devices_moved", 3, job="a", devices=[{"deep": [[[]]]}]) * 3 + logs.run_ended(9, [])))["runs"]
        self.assertEqual(run["unknown"], {"devices_moved": 3})

    def test_a_bad_line_is_one_sentence_with_its_number(self) -> None:
        head = logs.run()
        ids = {"jobs/id": [1, 2]}
        for log, wanted in (
                ("jobs\n", "bad.jsonl:1: this is not an event; name a log that 'ration run --log' wrote"),
                ("", "bad.jsonl is empty"),
                ("[" * 100_000 + "\n", "bad.jsonl:1: this is not an event"),
                (head + "{}\n", "bad.jsonl:2: this is not an event"),
                (head + '{"event":"progress","t":"now"}\n', "bad.jsonl:2: its field 't' is not a whole number from 0 on"),
                (head + '{"event":"progress","t":-1}\n', "its field 't' is not a whole number"),
                (head + '{"event":"progress","t":1e300}\n', "its field 't' is not a whole number"),
                (head + line("progress", 1, job="a"), "bad.jsonl:2: 'progress': it has no field 'metric'"),
                (head + line("progress", 1, job=7, metric="loss", step=1, value=1, smoothed=None), "'progress': its field 'job' is not a text"),
                (head + line("progress", 1, job="a", metric="loss", step=1, value="much", smoothed=None), "'progress': its field 'value' is not a number"),
                (head + logs.started("a", 1) + logs.decision(2, 0, {}), "bad.jsonl:3: 'decision': it has no column 'jobs/id'"),
                (head + logs.decision(2, 0, {**ids, "jobs/used.cpu": [1]}), "'decision': its column 'jobs/used.cpu' has not one value for each job"),
                (head + logs.decision(2, 0, {**ids, "nodes/capacity.cpu": 4}), "'decision': its column 'nodes/capacity.cpu' has not"),
                (head + logs.run_ended(9, [{"job": "a"}]), "'run_ended': of a job, it has no field 'how'"),
                (logs.started("a", 1), "bad.jsonl:1: the log does not begin with a run"),
                (logs.run(schema=4), "bad.jsonl:1: the log has schema 4, and this ration reads 1 to 3; use the ration that wrote the log"),
                (logs.run(schema="1"), "bad.jsonl:1: the log has no schema"),
                (head + line("decision", 1, number=0, took=1, status=0, columns=ids, columns_after=[]), "'decision': its field 'columns_after' is not an object"),
                (head + line("decision", 1, number=0, took=1, status=0, columns={**ids, "jobs/held.cpu": [1, 1]}, columns_after={"jobs/held.cpu": [1]}),
                 "'decision': its column 'jobs/held.cpu' has not one value for each job"),
                (line("measured", 1, runs=[]), "bad.jsonl:1: it belongs to a simulation, and there is none before it"),
                (line("simulation", 1), "bad.jsonl:1: it has no field "),
                (head * 65, "bad.jsonl:65: a page holds at most 64 runs")):
            with self.subTest(wanted=wanted):
                self.assertIn(wanted, self.refusal(log))

    def test_a_simulation_that_somebody_has_changed(self) -> None:
        done = self.call("sim", "--generate", "rigid:jobs=9,per_hour=60", "--cluster", "2x4", "--policy", "fifo", "--json", "--quiet").stdout.splitlines()[0]
        for key, value, wanted in (("samples", 3, "its field 'samples' is not an array"), ("policies", [3], "there is something else where an object should be"),
                                   ("jobs", 3, "its field 'jobs' is not an object"), ("jobs", {"submitted": [1] * 60_001}, "it has 60001 jobs one by one"),
                                   ("jobs", {"submitted": [1, "soon"]}, "its 'submitted' are not 2 values of their kind"), ("jobs", {"submitted": [1], "names": [1]}, "its 'names' are not 1 values of their kind"),
                                   ("jobs", {"submitted": [1]}, "its 'started' are not 1 values of their kind"),
                                   ("policies", [{}] * 65, "it has 65 policies, and a page holds at most 64"), ("cluster", {"devices": -1}, "its field 'devices' is not a whole number"),
                                   ("policies", [{"policy": "x", "version": "1", "figures": {"mean_jct": {"mean": "fast", "half_of_95": None}}}], "its field 'mean' is not a number")):
            with self.subTest(key=key):
                self.assertIn(wanted, self.refusal(json.dumps({**json.loads(done), key: value}) + "\n"))


class CommandLine(Report):
    def test_where_the_page_goes(self) -> None:
        (self.folder / "a.jsonl").write_text(logs.run() + logs.run_ended(9, []))
        done = self.call("report", "a.jsonl")
        self.assertEqual((done.returncode, "built without Chart.js" in done.stderr), (0, not os.environ["RATION_CHART_JS"]))
        self.assertRegex(done.stdout, r"^a\.html: 1 run with 1 job, \d+ kB\n$")
        self.assertTrue((self.folder / "a.html").exists())
        over = self.call("report", "a.jsonl", "--out", "./a.jsonl")
        self.assertEqual(over.returncode, 2)
        self.assertIn("./a.jsonl is a log that the page is made from; name another file by --out", over.stderr)
        self.assertTrue((self.folder / "a.jsonl").read_text().startswith('{"event":"run"'))

    def test_what_cannot_be(self) -> None:
        (self.folder / "a.jsonl").write_text(logs.run())
        for words, wanted in ((["none.jsonl"], "none.jsonl: cannot be opened (No such file or directory); name a log"), ([], "LOG is required"), (["."], ".: is a folder; name a log"),
                              (["a.jsonl", "--out", "no/where.html"], "--out: no/where.html cannot be written (No such file or directory); name a file"),
                              (["a.jsonl", "--outt", "x"], "unknown option '--outt'; did you mean '--out'?")):
            with self.subTest(words=words):
                done = self.call("report", *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(wanted, done.stderr)

    def test_several_logs_are_one_page(self) -> None:
        data = data_of(self.page(logs.run("tradl"), logs.run("tradl") + logs.run("none")))
        self.assertEqual([run["label"] for run in data["runs"]], ["tradl 1", "tradl 2", "none"])
        self.assertEqual([(run["file"], run["line"]) for run in data["runs"]], [("0.jsonl", 1), ("1.jsonl", 1), ("1.jsonl", 2)])

    def test_the_page_asks_nobody_and_keeps_the_licence_of_its_library(self) -> None:
        page = self.page(logs.run())
        self.assertIn("default-src 'none'", page)
        own = page.split('id="licence"')[0]
        for outside in ("http:", "https:", "src=", "@import", "url("):
            self.assertNotIn(outside, own)
        if os.environ["RATION_CHART_JS"]:
            self.assertIn("Chart.js Contributors\n", page)
            self.assertIn("Permission is hereby granted, free of charge", page)
        else:
            self.assertIn("libjs-chart.js", data_of(page)["remarks"][0])


if __name__ == "__main__":
    unittest.main()
    sys.exit()
