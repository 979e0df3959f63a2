# SPDX-License-Identifier: BSL-1.0
"""The report of `ration sim` in a browser: no error, data in every chart, and a page that fits on a desk and on a phone."""
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

RATION = os.environ["RATION_PROGRAM"]
FITS = os.environ["RATION_BENCH_DATA"] + "/loss/fits.csv"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
SKIPPED = 77

# Runs in the page after its own script: the pointer goes over every chart, a policy is switched off and on again, and what came of it is left as text.
PROBE = """
const visible = e => e !== null && !e.hidden && e.getBoundingClientRect().width > 0;
const drawn = svg => [...svg.querySelectorAll("path[class^=c]")].filter(p => !p.classList.contains("off"));
const found = {charts: [], bars: [], titles: [...document.querySelectorAll("h2")].map(h => h.textContent)};
document.querySelectorAll("svg.lines").forEach(svg => {
  const box = svg.getBoundingClientRect(), card = svg.closest(".card");
  const move = part => svg.onpointermove(new PointerEvent("pointermove", {clientX: box.left + box.width * part, clientY: box.top + 20}));
  move(0.5);
  const tips = [...card.querySelectorAll(".tip")].filter(visible), tip = tips.length === 1 ? tips[0] : null;
  found.charts.push({name: svg.dataset.chart, width: box.width, paths: drawn(svg).length,
    points: Math.min(...drawn(svg).map(p => p.getAttribute("d").split(/(?=[MLHV])/).length)), span: Math.min(...drawn(svg).map(p => p.getBBox().width)),
    rows: tip === null ? 0 : tip.querySelectorAll("b").length, values: tip === null ? [] : [...tip.querySelectorAll("b")].map(b => b.textContent)});
  svg.onpointerleave();
  found.charts.at(-1).gone = [...card.querySelectorAll(".tip")].filter(visible).length === 0;
});
document.querySelectorAll("svg:not(.lines)").forEach(svg => found.bars.push({rects: svg.querySelectorAll("rect").length, text: svg.textContent}));
const button = document.querySelector(".legend button"), first = document.querySelector("svg.lines");
button.click();
found.hidden = drawn(first).length;
button.click();
found.shown = drawn(first).length;
found.wider = document.documentElement.scrollWidth - document.documentElement.clientWidth;
const out = document.createElement("pre");
out.id = "found";
out.textContent = JSON.stringify(found);
document.body.append(out);
"""


class Report(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, *words: str) -> str:
        path = self.folder / "report.html"
        done = subprocess.run([RATION, "sim", "--quiet", "--report", str(path), *words], capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path.read_text()

    def opened(self, page: str, width: int = 1200) -> tuple[dict | None, list[str]]:
        """What the probe found, and what the console says."""
        path = self.folder / "probed.html"
        path.write_text(page.replace("</body>", f"<script>{PROBE}</script></body>"))
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={self.folder}/profile",
                               f"--window-size={width},1000", "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=100, check=False)
        said = re.findall(r"CONSOLE[^\n]*", done.stderr)
        found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
        return (json.loads(html.unescape(found[1])) if found else None), said

    def check_page(self, page: str, charts: set[str], policies: int) -> dict:
        for width in (1200, 390):
            found, said = self.opened(page, width)
            self.assertEqual(said, [])
            self.assertIsNotNone(found)
            self.assertEqual({c["name"] for c in found["charts"]}, charts)
            for c in found["charts"]:
                with self.subTest(width=width, chart=c["name"]):
                    of_one = re.search(r"-\d+$", c["name"]) is not None
                    self.assertEqual(c["paths"], 1 if of_one else policies)
                    self.assertEqual(c["rows"], 1 if of_one else policies)
                    self.assertGreater(c["points"], 20)
                    self.assertGreater(c["span"], 100)  # of 640
                    self.assertGreater(c["width"], 250)
                    self.assertTrue(all(re.match(r"[\d.]", v) for v in c["values"]), c["values"])
                    self.assertTrue(c["gone"])
            for bars in found["bars"]:
                self.assertEqual(bars["rects"], policies, bars["text"])
            self.assertEqual((found["hidden"], found["shown"]), (policies - 1, policies))
            self.assertLessEqual(found["wider"], 0, f"the page is wider than {width} pixels")
        return found

    def test_ten_thousand_jobs_on_devices(self) -> None:
        page = self.report("--generate", "rigid:jobs=10000,per_hour=60", "--cluster", "16x4", "--policy", "fifo,srtf,las")
        found = self.check_page(page, {"jct", "queue", "devices-0", "devices-1", "devices-2"}, 3)
        self.assertEqual(len(found["bars"]), 4)

    def test_jobs_on_processors(self) -> None:
        page = self.report("--generate", "cpu:jobs=300", "--models", FITS, "--cluster", "1x1core", "--seeds", "3", "--interval", "1", "--policy", "none,equal_share,flowcon,tradl")
        found = self.check_page(page, {"jct", "there", "acceptable", *(f"cores-{i}" for i in range(4))}, 4)
        self.assertEqual(len(found["bars"]), 6)
        self.assertIn("Jobs at Acceptable by time", found["titles"])

    def test_an_error_in_a_page_is_seen(self) -> None:
        page = self.report("--generate", "rigid:jobs=50", "--cluster", "16x4", "--policy", "fifo")
        found, said = self.opened(page.replace('<script type="application/json" id="data">', '<script type="application/json" id="lost">'))
        self.assertIsNone(found)
        self.assertTrue(any("TypeError" in line for line in said), said)


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: there is no chromium here; cmake/packages.sh browser installs it")
        sys.exit(SKIPPED)
    unittest.main()
