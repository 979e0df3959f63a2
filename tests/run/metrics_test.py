# SPDX-License-Identifier: BSL-1.0
"""`ration run --metrics` from the outside: it reports the same as the event log, and no client can hold the run up."""
import contextlib
import http.client
import pathlib
import re
import socket
import stat
import subprocess
import threading
import time
import unittest

from open_metrics import Family, parse
from support import PATIENCE, PYTHON, RunTest, job, main, signal, trainer

OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
OLDER_TEXT = "text/plain; version=0.0.4; charset=utf-8"
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "operations.md"
# The states of a job, as the table of them lists them.
STATES = re.findall(r"^\| (\w+) \|", (DOCS / "run.md").read_text().partition("\n| state | |\n")[2].partition("\n\n")[0], re.M)
# Reports two losses, creates a file, and reports nothing from then on, so that its metrics do not change.
STILL = """import pathlib, sys, time
sys.path.insert(0, sys.argv[1])
from ration import progress
job = progress.open()
job.hello(world=1, threads=1)
job.phase("train")
job.step(1, 0.75)
time.sleep(0.5)  # longer than the client keeps a step back
job.step(7, 0.25)
pathlib.Path("said").touch()
time.sleep(60)
"""
CLIENT = str(pathlib.Path(__file__).resolve().parents[2] / "python")


def connected(path: pathlib.Path, limit: float = PATIENCE) -> socket.socket:
    """Where as many callers wait as may, the kernel turns further ones away at once if they have a time limit."""
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(limit)
    deadline = time.monotonic() + limit
    while True:
        try:
            made.connect(str(path))
            return made
        except OSError as why:
            if not isinstance(why, BlockingIOError) or time.monotonic() > deadline:
                made.close()
                raise
            time.sleep(0.01)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: pathlib.Path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self) -> None:
        self.sock = connected(self.path)


def ask(connection: http.client.HTTPConnection, method: str = "GET", target: str = "/metrics", accept: str = OPEN_METRICS):
    with contextlib.closing(connection):
        connection.request(method, target, headers={"Accept": accept})
        answer = connection.getresponse()
        return answer, answer.read()


def free_port(host: str = "127.0.0.1") -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def by(family: Family, label: str, **others: str) -> dict[str, float]:
    """The samples' values by one label, of those that have these others."""
    return {dict(labels)[label]: value for (_, labels), value in family.samples.items()
            if all(dict(labels)[name] == word for name, word in others.items())}


def only(family: Family, suffix: str = "") -> float:
    return family.samples[suffix or {"counter": "_total"}.get(family.kind, ""), ()]


class MetricsTest(RunTest):
    def setUp(self) -> None:
        super().setUp()
        self.socket = self.folder / "metrics.sock"

    def start_still(self, *arguments: str, **options) -> subprocess.Popen:
        """A run with one job that has sent all its reports, one that waits, and one that failed."""
        self.write(job("still", [PYTHON, "-c", STILL, CLIENT], more='bounds = { memory = "1GiB" }'),
                   job("later", ["/bin/sleep", "60"], more='at = "1h"', target='target = { p95 = { at_most = 0.2, over = "1s" } }'), job("broken", ["/bin/false"]),
                   head='policy = "equal_share"\ncpus = 1\ntick = "100ms"\n')
        run = self.start("--log", "log.jsonl", *arguments, **options)
        self.wait_for((self.folder / "said").exists)
        self.wait_for(lambda: [e for e in self.events() if e["event"] == "progress" and e["step"] == 7])
        return run

    def test_a_page_of_another_site_gets_nothing(self) -> None:
        port = free_port()
        for place, connect in ((f"127.0.0.1:{port}", lambda: http.client.HTTPConnection("127.0.0.1", port)), (f"unix:{self.socket}", lambda: UnixConnection(self.socket))):
            (self.folder / "said").unlink(missing_ok=True)
            run = self.start_still("--metrics", place)
            for host, status in (("evil.example", 403), ("127.0.0.1.evil.example:80", 403), ("localhost:9000", 200), (f"127.0.0.1:{port}", 200)):
                with contextlib.closing(connect()) as connection:
                    connection.putrequest("GET", "/metrics", skip_host=True)
                    connection.putheader("Host", host)
                    connection.endheaders()
                    answer = connection.getresponse()
                    self.assertEqual((answer.status, b"still" in answer.read()), (status, status == 200), (place, host))
            self.stop(run)

    def scrape(self) -> dict[str, Family]:
        answer, page = ask(UnixConnection(self.socket))
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, OPEN_METRICS))
        return parse(page)

    def stop(self, run: subprocess.Popen) -> None:
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=PATIENCE), 4)


class Pages(MetricsTest):
    def test_what_they_say_is_what_the_event_log_says(self) -> None:
        run = self.start_still("--metrics", f"unix:{self.socket}")
        self.assertEqual(stat.S_IMODE(self.socket.stat().st_mode), 0o600)
        before = self.scrape()
        self.wait_for(lambda: only(self.scrape()["ration_ticks"]) >= only(before["ration_ticks"]) + 4)
        now = self.scrape()
        self.stop(run)
        self.assertFalse(self.socket.exists())
        ticks = int(only(now["ration_ticks"]))
        events = self.events()
        end = next(i for i, e in enumerate(events) if e["event"] == "decision" and e["number"] == ticks)
        self.check_counters(now, [e for e in events[:end]])
        self.check_jobs(now, events[:end])
        seconds = [by(page["ration_job_cpu_seconds"], "job_name")["still"] for page in (before, now)]
        self.assertTrue(0 < seconds[0] <= seconds[1] < 60, seconds)

    def check_counters(self, now: dict[str, Family], events: list[dict]) -> None:
        def count(kind: str) -> int:
            return sum(e["event"] == kind for e in events)
        decisions = [e for e in events if e["event"] == "decision"]
        self.assertEqual(len(decisions), only(now["ration_ticks"]))
        self.assertEqual(only(now["ration_grants"]), sum(len(e["grants"]) for e in decisions))
        self.assertEqual(only(now["ration_changes"]), count("change"))
        self.assertEqual(sum(now["ration_grants_deferred"].samples.values()), count("deferred"))
        self.assertEqual(sum(now["ration_grants_rejected"].samples.values()), count("rejected"))
        self.assertEqual(only(now["ration_fallback_answers"]), 0)
        took = now["ration_tick_duration_seconds"]
        self.assertEqual(only(took, "_count"), len(decisions))
        self.assertAlmostEqual(only(took, "_sum"), sum(e["took"] for e in decisions) * 1e-9, delta=1e-6)
        self.assertEqual(took.samples["_bucket", (("le", "0.005"),)], sum(e["took"] <= 5e6 for e in decisions))
        head = events[0]
        self.assertEqual(list(now["ration_run_info"].samples), [("", (("isolation", "none"), ("policy", head["policy"]),
                                                                      ("policy_version", head["policy_version"])))])
        self.assertEqual(list(now["ration_build_info"].samples), [("", (("version", head["ration"]),))])
        self.assertEqual(only(now["ration_run_start_time_seconds"]), head["unix_time"])
        self.assertEqual(only(now["ration_run_cores"]), head["cpus"])
        self.assertEqual(only(now["ration_events_lost"]), 0)
        messages = by(now["ration_progress_messages"], "outcome")
        self.assertGreaterEqual(messages.pop("accepted"), 4)  # hello, phase, two steps, and signs of life
        self.assertEqual(set(messages.values()), {0})

    def check_jobs(self, now: dict[str, Family], events: list[dict]) -> None:
        last = [e for e in events if e["event"] == "progress"][-1]
        self.assertEqual(by(now["ration_job_step"], "job_name"), {"still": last["step"], "later": 0, "broken": 0})
        self.assertEqual(by(now["ration_job_target_value"], "job_name", metric="loss"), {"still": last["smoothed"]})
        tier = [e["tier"] for e in events if e["event"] == "tier_reached"][-1]
        self.assertEqual(by(now["ration_job_tier"], "job_name"), {"still": tier, "later": 0, "broken": 0})
        self.assertEqual(by(now["ration_job_level_met"], "job_name", metric="p95"), {"later": 0})
        last_decision = [e for e in events if e["event"] == "decision"][-1]
        held = {**last_decision["columns"], **last_decision["columns_after"]}["jobs/held.cpu"]
        limit = float("inf") if held[0] == "unlimited" or held[0] < 0 else held[0] / 1000
        self.assertEqual(by(now["ration_job_cpu_limit_cores"], "job_name"), {"still": limit, "later": 0, "broken": 0})
        self.assertEqual(by(now["ration_job_memory_limit_bytes"], "job_name"), {"still": 1 << 30, "later": float("inf"), "broken": float("inf")})
        memory = by(now["ration_job_memory_bytes"], "job_name")
        self.assertTrue(1 << 20 < memory["still"] < 1 << 30 and memory["later"] == memory["broken"] == 0, memory)
        for name, state in (("still", "running"), ("later", "waiting"), ("broken", "failed")):
            states = by(now["ration_job_state"], "state", job_name=name)
            self.assertEqual([word for word, on in states.items() if on], [state], name)
            self.assertEqual(sorted(states), sorted(STATES))

    def test_are_those_that_the_documentation_lists(self) -> None:
        run = self.start_still("--metrics", f"unix:{self.socket}")
        now = self.scrape()
        self.stop(run)
        rows = re.findall(r"^\| `(ration_\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$", PAGE.read_text(), re.M)
        listed = {name.removesuffix("_total") if kind == "counter" else name: (kind, labels, text) for name, kind, labels, text in rows}
        shown = {name: (family.kind, ", ".join(f"`{label}`" for label, _ in next(iter(family.samples))[1] if label != "le"), family.help)
                 for name, family in now.items()}
        self.maxDiff = None
        self.assertEqual(shown, listed)

    def test_both_formats_pass_the_parsers_of_prometheus(self) -> None:
        code = ("import sys\n"
                "from prometheus_client.openmetrics.parser import text_string_to_metric_families as strict\n"
                "from prometheus_client.parser import text_string_to_metric_families as older\n"
                "page = sys.stdin.read()\n"
                "print(sum(len(f.samples) for f in (strict if sys.argv[1] == 'strict' else older)(page)))")
        if subprocess.run([PYTHON, "-c", "import prometheus_client"], capture_output=True, check=False).returncode != 0:
            self.skipTest("python3-prometheus-client is not installed")
        run = self.start_still("--metrics", f"unix:{self.socket}")
        pages = {name: ask(UnixConnection(self.socket), accept=accept) for name, accept in (("strict", OPEN_METRICS), ("older", "*/*"))}
        self.stop(run)
        self.assertEqual([answer.headers["Content-Type"] for answer, _ in pages.values()], [OPEN_METRICS, OLDER_TEXT])
        counts = [subprocess.run([PYTHON, "-c", code, name], input=page.decode(), text=True, capture_output=True, check=True).stdout
                  for name, (_, page) in pages.items()]
        self.assertEqual(counts[0], counts[1])

    def test_count_anew_in_each_run_of_a_comparison(self) -> None:
        self.write(trainer("one", 1.5, 1), head='policy = "none"\ncpus = 1\ntick = "100ms"\n')
        run = self.start("--log", "log.jsonl", "--metrics", f"unix:{self.socket}", "--compare", "none,equal_share")
        seen: list[tuple[str, float]] = []

        def second() -> bool:
            with contextlib.suppress(OSError):
                now = self.scrape()
                seen.append((dict(next(iter(now["ration_run_info"].samples))[1])["policy"], only(now["ration_ticks"])))
            return bool(seen) and seen[-1][0] == "equal_share"
        self.wait_for(second)
        run.wait(timeout=PATIENCE)
        self.assertGreater(max(ticks for policy, ticks in seen if policy == "none"), seen[-1][1])


class Places(MetricsTest):
    def test_a_port_answers_http(self) -> None:
        for host in ("127.0.0.1", "::1"):
            try:
                port = free_port(host)
            except OSError:
                continue  # a machine without IPv6
            with self.subTest(host):
                (self.folder / "said").unlink(missing_ok=True)
                run = self.start_still("--metrics", f"[{host}]:{port}" if ":" in host else f"{host}:{port}")

                def answer_to(method: str, target: str):
                    return ask(http.client.HTTPConnection(host, port, timeout=PATIENCE), method, target)
                answer, page = answer_to("GET", "/metrics?x=1")
                self.assertEqual((answer.status, int(answer.headers["Content-Length"])), (200, len(page)))
                parse(page)
                answer, page = answer_to("HEAD", "/metrics")
                self.assertEqual((answer.status, page), (200, b""))
                self.assertEqual([answer_to(method, target)[0].status for method, target in (("GET", "/"), ("POST", "/metrics"), ("GET", "/metricsx"))],
                                 [404, 405, 404])
                self.stop(run)

    def refusal(self, *arguments: str) -> str:
        done = self.run_jobs(*arguments)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertFalse((self.folder / "ration-output").exists(), "a job was started")
        return done.stderr

    def test_what_is_no_place_of_this_machine_is_refused(self) -> None:
        self.write(trainer("one", 1))
        for word in ("0.0.0.0:9555", "localhost:9555"):
            self.assertIn("is not a loopback address", self.refusal("--metrics", word), word)
        for word in ("127.0.0.1:0", "127.0.0.1:65536"):
            self.assertIn("from 1 to 65535", self.refusal("--metrics", word), word)
        self.assertIn("unix:PATH", self.refusal("--metrics", "9555"))
        self.assertIn("excludes", self.refusal("--metrics", "unix:x", "--dry-run"))

    def test_what_is_there_already_is_not_taken_away(self) -> None:
        self.write(trainer("one", 1))
        self.assertIn("is not a socket", self.refusal("--metrics", "unix:jobs.toml"))
        self.assertIn("a folder that is there", self.refusal("--metrics", "unix:nowhere/metrics.sock"))
        with socket.socket(socket.AF_UNIX) as another, socket.socket() as port:
            another.bind(str(self.socket))
            another.listen()
            self.assertIn("another program listens there", self.refusal("--metrics", "unix:metrics.sock"))
            port.bind(("127.0.0.1", 0))
            port.listen()
            self.assertIn("a port that is free", self.refusal("--metrics", f"127.0.0.1:{port.getsockname()[1]}"))
        self.assertTrue(self.socket.exists())

    def test_the_socket_of_a_run_that_was_killed_is_taken_over(self) -> None:
        with socket.socket(socket.AF_UNIX) as gone:
            gone.bind(str(self.socket))
        self.write(trainer("one", 1))
        self.assertEqual(self.run_jobs("--metrics", "unix:metrics.sock").returncode, 0)
        self.assertFalse(self.socket.exists())


class Hostile(MetricsTest):
    def connect(self) -> socket.socket:
        made = connected(self.socket)
        self.addCleanup(made.close)
        return made

    def flood(self, over: threading.Event) -> None:
        """Connects, sends an invalid request and leaves, as fast as it can; and sends requests without ever reading the answer."""
        deaf = []
        while not over.is_set():
            with contextlib.suppress(OSError):
                with socket.socket(socket.AF_UNIX) as one:
                    one.settimeout(1)
                    one.connect(str(self.socket))
                    one.sendall(b"x" * 20000)
                another = socket.socket(socket.AF_UNIX)
                another.settimeout(1)
                deaf.append(another)
                another.connect(str(self.socket))
                another.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            for old in deaf[:-64]:
                old.close()
            del deaf[:-64]
        for old in deaf:
            old.close()

    def test_callers_do_not_hold_the_run_up(self) -> None:
        self.write(trainer("one", 3, 1), head='policy = "equal_share"\ncpus = 1\ntick = "100ms"\n')
        run = self.start("--log", "log.jsonl", "--metrics", "unix:metrics.sock")
        self.pid_of("one")
        idle = [self.connect() for _ in range(60)]
        over = threading.Event()
        flood = threading.Thread(target=self.flood, args=(over,))
        flood.start()
        try:
            out, err = run.communicate(timeout=PATIENCE)
        finally:
            over.set()
            flood.join()
        self.assertEqual(run.returncode, 0, err)
        self.assertTrue(all(one.recv(1) == b"" for one in idle))
        decisions = [e["t"] for e in self.events() if e["event"] == "decision"]
        # A call that waits for a caller would wait for the 10 s that it has.
        self.assertLess(max(after - before for before, after in zip(decisions, decisions[1:])), 5e9)
        self.assertGreater(len(decisions), 10)

    def test_idle_callers_keep_nobody_out_and_cost_nothing(self) -> None:
        run = self.start_still("--metrics", "unix:metrics.sock")
        idle = [self.connect() for _ in range(40)]
        self.scrape()
        stat_of = pathlib.Path(f"/proc/{run.pid}/status")

        def wakeups() -> int:
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", stat_of.read_text(), re.M)[1])
        before, begin = wakeups(), time.monotonic()
        time.sleep(2)  # a span to count in, nothing is waited for
        rate = (wakeups() - before) / (time.monotonic() - begin)
        self.assertLess(rate, 60)  # ten ticks a second wake it up; looking after callers at every turn would be 100 more
        self.stop(run)
        self.assertEqual(len(idle), 40)

    def test_a_request_without_an_end_is_refused(self) -> None:
        run = self.start_still("--metrics", "unix:metrics.sock")
        endless = self.connect()
        endless.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"y" * 5000)
        self.assertTrue(endless.recv(100).startswith(b"HTTP/1.1 431 "))
        silly = self.connect()
        silly.sendall(b"\x00\xff\r\n\r\n")
        self.assertTrue(silly.recv(100).startswith(b"HTTP/1.1 400 "))
        slow = self.connect()
        for byte in b"GET /metrics HTTP/1.0\r\n\r\n":
            slow.sendall(bytes([byte]))
        self.assertTrue(slow.recv(100).startswith(b"HTTP/1.1 200 OK\r\n"))
        self.stop(run)


if __name__ == "__main__":
    main()
