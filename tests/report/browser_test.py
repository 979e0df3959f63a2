# SPDX-License-Identifier: BSL-1.0
"""Pages of `ration report` and of `ration sim --report` in a browser: no error, data and text for every chart, and a page that fits on a desk, a phone and paper."""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import logs
from logs import SECOND, data_of, line

RATION = os.environ["RATION_PROGRAM"]
FITS = os.environ["RATION_BENCH_DATA"] + "/loss/fits.csv"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
SKIPPED = 77
DARK = "--blink-settings=preferredColorScheme=0"

# Runs in the page once it is loaded: opens all closed details, reads the data of each chart, and adds its results as text.
PROBE = r"""
addEventListener("load", () => {
  document.querySelectorAll("details").forEach(one => { one.open = true; one.dispatchEvent(new Event("toggle")); });
  const ink = canvas => { const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height); let n = 0; for (let i = 3; i < data.length; i += 4) n += data[i] > 0; return n / (data.length / 4); };
  const finite = value => (Array.isArray(value) ? value.every(Number.isFinite) : Number.isFinite(value));
  const value = (point, axis) => (point !== null && typeof point === "object" && !Array.isArray(point) ? point[axis] : point);
  const values = (chart, set) => set.data.map(point => value(point, chart.options.indexAxis === "y" && set.type !== "line" ? "x" : "y"));
  const told = chart => {
    const lines = chart.data.datasets.map((set, datasetIndex) => ({datasetIndex, index: values(chart, set).findIndex(finite)})).filter(one => one.index >= 0);
    chart.tooltip.setActiveElements(lines, {x: 50, y: 50});
    chart.update();
    return [...chart.tooltip.title, ...chart.tooltip.body.flatMap(part => part.lines)];
  };
  const found = {wider: document.documentElement.scrollWidth - document.documentElement.clientWidth, title: document.title, text: document.body.innerText, charts: []};
  drawn.forEach(({canvas, chart}) => {
    const card = canvas.closest("figure"), box = canvas.getBoundingClientRect();
    found.charts.push({title: card.querySelector("h3").textContent, label: canvas.getAttribute("aria-label"), role: canvas.getAttribute("role"), width: box.width, height: box.height, ink: ink(canvas),
      sets: chart.data.datasets.map(set => ({label: set.label, values: values(chart, set)})), rows: card.querySelectorAll("tbody tr").length, told: told(chart)});
  });
  const colour = () => drawn.length && drawn[0].chart.options.scales.x.ticks.color, screen = colour();
  dispatchEvent(new Event("beforeprint"));
  const paper = colour();
  dispatchEvent(new Event("afterprint"));
  found.colours = [screen, paper, colour()];
  const box = document.querySelector("input[aria-label^='Find a job']");
  if (box) { box.value = "00042"; box.dispatchEvent(new Event("input")); const card = box.closest("section"); found.hit = card.querySelector("tbody tr").innerText;
    found.looked = {text: card.innerText, sets: drawn.filter(one => card.contains(one.canvas)).flatMap(({chart}) => chart.data.datasets.map(set => ({label: set.label, points: set.data})))}; }
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
});
"""


class Browser(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ration(self, *words: str) -> str:
        done = subprocess.run([RATION, *words], cwd=self.folder, capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def page(self, log: str) -> str:
        (self.folder / "log.jsonl").write_text(log)
        self.ration("report", "log.jsonl", "--out", "page.html")
        return (self.folder / "page.html").read_text()

    def chromium(self, page: str, *words: str) -> subprocess.CompletedProcess:
        path = self.folder / "opened.html"
        path.write_text(page)
        return subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={self.folder}/profile", *words, path.as_uri()],
                              capture_output=True, text=True, timeout=100, check=False)

    def opened(self, page: str, width: int = 1200, *words: str) -> tuple[dict | None, list[str]]:
        """The results of the probe, and the messages of the console."""
        done = self.chromium(page.replace("</body>", f"<script>{PROBE}</script></body>"), f"--window-size={width},1000", *words, "--dump-dom")
        found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
        return (json.loads(html.unescape(found[1])) if found else None), re.findall(r"CONSOLE[^\n]*", done.stderr)

    def check_page(self, page: str, least_charts: int) -> dict:
        """All that holds for every page; gives what was found at the width of a desk."""
        for width in (390, 1200):
            found, said = self.opened(page, width)
            self.assertEqual(said, [])
            self.assertIsNotNone(found)
            self.assertGreaterEqual(len(found["charts"]), least_charts)
            self.assertLessEqual(found["wider"], 0, f"the page is wider than {width} pixels")
            self.assertNotRegex(found["text"], r"undefined|NaN|Infinity|\[object")
            for chart in found["charts"]:
                with self.subTest(width=width, chart=chart["title"]):
                    self.check_chart(chart)
        return found

    def check_chart(self, chart: dict) -> None:
        self.assertEqual(chart["role"], "img")
        self.assertGreater(len(chart["label"]), len(chart["title"]) + 10)
        self.assertNotRegex(chart["label"] + "".join(chart["told"]), r"undefined|NaN|Infinity|\[object")
        self.assertGreater(chart["width"], 200)
        self.assertGreater(chart["height"], 60)
        self.assertGreater(chart["ink"], 0.01)
        self.assertGreater(chart["rows"], 0)
        self.assertGreater(len(chart["sets"]), 0)
        self.assertTrue(any(v is not None for one in chart["sets"] for v in one["values"]))
        self.assertGreater(len(chart["told"]), 1)


class Runs(Browser):
    def three_jobs(self) -> str:
        """Two runs in one log; in the second one job is stalled for a while, one never starts, and one hands a device to another."""
        source = "".join(f'[[job]]\nname = "{name}"\ncommand = ["x"]\nat = "{at}s"\ntarget = {{ loss = {{ acceptable = 0.5, objective = 0.2 }} }}\n' for name, at in (("a", 0), ("b", 2), ("never", 90)))
        log = ""
        for policy, slow in (("none", 1), ("tradl", 2)):
            body, ends = [(0, logs.run(policy, source))], []
            for id_, (name, at) in enumerate((("a", 0), ("b", 2)), 1):
                start, reached = at * SECOND + 5, (at + 10 * slow) * SECOND
                body += [(start, logs.started(name, start, id_)), (reached, line("tier_reached", reached, job=name, tier=1, step=3, value=0.5, after=reached - at * SECOND))]
                body += [(start + i * SECOND, logs.progress(name, start + i * SECOND, i, 4 / (i + 1))) for i in range(30)]
                body.append((40 * SECOND, logs.ended(name, 40 * SECOND)))
                ends.append(logs.summary(name, at * SECOND, start, reached, None, 40 * SECOND))
            body += [(i * SECOND, logs.decision(i * SECOND, i, {"jobs/id": [1, 2], "jobs/used.cpu": [1000 + i, 500], "jobs/held.cpu": [1500, 2**63 - 1], "nodes/capacity.cpu": [4000]})) for i in range(3, 40)]
            body += [(9 * SECOND, line("condition", 9 * SECOND, job="a", now="stalled", why="no steps")), (12 * SECOND, line("condition", 12 * SECOND, job="a", now="running", why=""))]
            body += [(1 * SECOND, line("resize", 1 * SECOND, job="a", incarnation=1, what="starting", **{"from": 0, "to": 2}, devices="cpu-0,cpu-1", why="")),
                     (20 * SECOND, line("resize", 20 * SECOND, job="a", incarnation=2, what="starting", **{"from": 2, "to": 1}, devices="cpu-1", why="")),
                     (22 * SECOND, line("resize", 22 * SECOND, job="b", incarnation=1, what="starting", **{"from": 0, "to": 1}, devices="cpu-0", why=""))]
            body += [(13 * SECOND, line("change", 13 * SECOND, job="a", resource="cpu", subject="cpu.max", when="live", old="max", new="25000", took=5, reason="above its fair share")),
                     (14 * SECOND, line("devices_moved", 14 * SECOND, job="b"))]
            ends.append(logs.summary("never", 90 * SECOND, None, None, None, None, "waiting"))
            log += "".join(text for _, text in sorted(body, key=lambda e: e[0])) + logs.run_ended(41 * SECOND, ends, policy)
        return log

    def test_two_runs_of_three_jobs(self) -> None:
        page = self.page(self.three_jobs())
        found = self.check_page(page, 12)
        charts = {chart["title"]: chart for chart in found["charts"]}
        self.assertEqual(found["title"], "Runs under none, tradl")
        self.assertEqual([one["label"] for one in charts["Time to Acceptable"]["sets"]], ["none", "tradl"])
        self.assertEqual([one["values"] for one in charts["Time to Acceptable"]["sets"]], [[10, 10, None], [20, 20, None]])
        self.assertEqual(charts["CPU by job"]["sets"][0]["values"][1:4], [1.003, 1.004, 1.005])
        states = {one["label"]: one["values"] for one in charts["Jobs over time"]["sets"]}
        self.assertEqual(states["stalled"], [[9, 12]])
        devices = {one["label"]: one["values"] for one in charts["Devices over time"]["sets"]}
        self.assertEqual(devices, {"a": [[1, 20], [1, 40]], "b": [[22, 40]]})
        self.assertEqual((len(states["running"]), len(states["Acceptable reached"])), (3, 2))  # a, before it stalled and after, and b
        self.assertEqual(charts["b"]["sets"][0]["values"], data_of(page)["runs"][1]["curves"][1]["value"])
        self.assertEqual([one["values"] for one in charts["b"]["sets"][1:]], [[0.5, 0.5], [0.2, 0.2]])
        for words in ("above its fair share", "max \u2192 25000", "devices_moved (1)", "2 jobs that got there in every run", "+100.0 %"):
            self.assertIn(words, found["text"])

    def test_dark_on_the_screen_and_light_on_paper(self) -> None:
        page = self.page(self.three_jobs())
        light, dark = self.opened(page)[0]["colours"], self.opened(page, 1200, DARK)[0]["colours"]
        self.assertEqual(light, [light[0]] * 3)
        self.assertEqual(dark, [dark[0], light[0], dark[0]])
        self.assertNotEqual(dark[0], light[0])
        paper = self.folder / "page.pdf"
        self.chromium(page, DARK, f"--print-to-pdf={paper}")
        self.assertTrue(paper.read_bytes().startswith(b"%PDF"))
        self.assertGreater(paper.stat().st_size, 30_000)

    def test_ten_thousand_jobs(self) -> None:
        found = self.check_page(self.page(logs.many_jobs(10_000, "las", 1)), 8)
        titles = [chart["title"] for chart in found["charts"]]
        for title in ("Time to Acceptable: part of all jobs", "Time to Objective: histogram", "Jobs by state over time", "CPU by job", "Utilisation of the CPU"):
            self.assertIn(title, titles)
        self.assertNotIn("Jobs over time", titles)
        self.assertTrue(found["hit"].startswith("job-00042"), found["hit"])

    def test_a_hostile_log_runs_nothing(self) -> None:
        name = "</script><img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
        page = self.page(logs.run(name) + logs.started(name, 1) + logs.progress(name, 2, 1, 0.5) + logs.progress(name, SECOND, 2, 0.4) + line("warning", 2, subject=name, message=name) + logs.ended(name, SECOND, name))
        found = self.check_page(page, 2)
        self.assertTrue(found["title"].startswith("A run under"), found["title"])
        self.assertIn("onerror", found["text"])

    def test_a_run_in_which_nothing_happened_is_a_page(self) -> None:
        found, said = self.opened(self.page(logs.run(source="")))
        self.assertEqual((said, found["charts"]), ([], []))
        self.assertIn("before the run did", found["text"])

    def test_an_error_in_a_page_is_seen(self) -> None:
        found, said = self.opened(self.page(logs.run()).replace('<script type="application/json" id="data">', '<script type="application/json" id="lost">'))
        self.assertTrue(any("TypeError" in text for text in said), said)


class Simulations(Browser):
    def simulated(self, *words: str) -> str:
        self.ration("sim", "--quiet", "--report", "sim.html", *words)
        return (self.folder / "sim.html").read_text()

    def test_ten_thousand_jobs_on_devices(self) -> None:
        (self.folder / "tenants.toml").write_text('[[tenant]]\nname = "tenant-1"\nweight = 3\n')
        page = self.simulated("--generate", "rigid:jobs=10000,per_hour=60", "--cluster", "16x4", "--policy", "fifo,srtf,las", "--tenants", "tenants.toml")
        found = self.check_page(page, 11)
        charts = {chart["title"]: chart for chart in found["charts"]}
        for title in ("mean JCT", "makespan", "Job completion time: part of all jobs", "Job completion time: histogram", "Jobs that wait", *(f"Devices in use: {name}" for name in ("fifo", "srtf", "las"))):
            self.assertIn(title, charts)
        means = [one["figures"]["mean_jct"][0] for one in data_of(page, "simulations")[0]["policies"]]
        shown = charts["mean JCT"]["sets"][0]["values"]
        for one, other in zip(shown, means):
            self.assertAlmostEqual(one / shown[0], other / means[0])
        self.assertEqual([sum(one["values"]) for one in charts["Job completion time: histogram"]["sets"]], [10_000] * 3)
        self.assertIn("no schedule is better", found["text"])
        for one in data_of(page, "simulations")[0]["policies"]:
            first = one["tenants"][0]
            self.assertRegex(found["text"], rf"tenant-1\s+{one['policy']}\s+{first['jobs']:,.0f}\s[^\n]*{100 * first['weight']:.1f} %")
        self.check_found_job(found["looked"], data_of(page, "simulations")[0], 41)

    def check_found_job(self, looked: dict, data: dict, i: int) -> None:
        """What the box shows of a job is what the page's data has of it."""
        self.assertRegex(looked["text"], rf"Job {i + 1}\b")
        self.assertNotRegex(looked["text"], r"undefined|NaN|Infinity|\[object")
        self.assertEqual([one["label"] for one in looked["sets"]], [one["policy"] for one in data["policies"]])
        for shown, one in zip(looked["sets"], data["policies"]):
            jobs, points = one["jobs"], [p for p in shown["points"] if p["y"] > 0]
            holds = jobs["holds"][i]
            first = (jobs["started"][i], holds) if not isinstance(holds, list) else holds[:2]
            self.assertEqual(points[0]["y"], first[1])
            scale = jobs["finished"][i] / shown["points"][-1]["x"]
            self.assertAlmostEqual(points[0]["x"] * scale, first[0], delta=1e-3 * jobs["finished"][i])

    def test_jobs_on_processors(self) -> None:
        page = self.simulated("--generate", "cpu:jobs=300", "--models", FITS, "--cluster", "1x1core", "--seeds", "3", "--interval", "1", "--policy", "none,equal_share,flowcon,tradl")
        found = self.check_page(page, 15)
        titles = [chart["title"] for chart in found["charts"]]
        for title in ("mean to Acceptable", "Time to Acceptable: part of all jobs", "Jobs at a time", "Cores in use: tradl"):
            self.assertIn(title, titles)
        self.assertFalse([title for title in titles if "Devices" in title or title == "Jobs that wait"])


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: there is no chromium here; cmake/packages.sh browser installs it")
        sys.exit(SKIPPED)
    if not os.environ["RATION_CHART_JS"]:
        print("skipped: ration was built without Chart.js; cmake/packages.sh build installs it")
        sys.exit(SKIPPED)
    unittest.main()
