# SPDX-License-Identifier: BSL-1.0
"""Pages of the site in a browser, served on the loopback: no error on the console, no page wider than a phone or a desk, nothing asked of anybody else, a search that finds."""
import functools
import html
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from built import SKIPPED, build, skip_without_mkdocs

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
PAGES = ("index.html", "cookbook.html", "errors.html")

# Runs in the page once it is loaded: enters the word into the search, if one is given, and adds its results as text.
PROBE = r"""
addEventListener("load", async () => {
  const found = {wider: document.documentElement.scrollWidth - document.documentElement.clientWidth, hits: [], heading: document.querySelector("h1").innerText,
                 asked: performance.getEntriesByType("resource").map(one => new URL(one.name).host)};
  const word = new URLSearchParams(location.search).get("probe");
  if (word) {
    const box = document.querySelector("input.md-search__input");
    document.querySelector("#__search").checked = true;
    box.focus();
    for (let i = 0; i < 150 && !found.hits.length; ++i) {
      box.value = word; box.dispatchEvent(new Event("keyup")); box.dispatchEvent(new Event("input"));
      await fetch("/wait");  // the page's time is virtual and the search's worker is not: a request lets real time pass
      found.hits = [...document.querySelectorAll(".md-search-result__item a")].map(one => one.getAttribute("href"));
    }
  }
  const out = document.createElement("pre");
  out.id = "found"; out.textContent = JSON.stringify(found);
  document.body.append(out);
});
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path != "/wait":
            super().do_GET()
            return
        time.sleep(0.1)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.place = pathlib.Path(folder.name)
        done = build(cls.place / "site")
        if done.returncode:
            raise AssertionError(done.stderr)
        for page in (cls.place / "site").glob("*.html"):
            page.write_text(page.read_text(encoding="utf-8").replace("</body>", f"<script>{PROBE}</script></body>"), encoding="utf-8")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=cls.place / "site"))
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.host = f"127.0.0.1:{server.server_address[1]}"

    def opened(self, page: str, width: int, *words: str) -> tuple[dict, list[str]]:
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={self.place}/profile", f"--window-size={width},900",
                               "--virtual-time-budget=12000", *words, "--dump-dom", f"http://{self.host}/{page}"], capture_output=True, text=True, timeout=100, check=False)
        found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
        self.assertIsNotNone(found, done.stderr)
        return json.loads(html.unescape(found[1])), re.findall(r"CONSOLE[^\n]*", done.stderr)

    def test_pages_at_the_width_of_a_phone_and_of_a_desk(self) -> None:
        for page in PAGES:
            for width in (390, 1300):
                with self.subTest(page=page, width=width):
                    found, said = self.opened(page, width)
                    self.assertEqual(said, [])
                    self.assertLessEqual(found["wider"], 0)
                    self.assertTrue(found["heading"])
                    self.assertEqual(set(found["asked"]), {self.host})

    def test_a_search_finds_a_recipe(self) -> None:
        found, said = self.opened("index.html?probe=gangs", 1300)
        self.assertEqual(said, [])
        self.assertTrue(any(re.search(r"/cookbook\.html\b.*#whole-gangs$", one) for one in found["hits"]), found["hits"])

    def test_an_error_in_a_page_is_seen(self) -> None:
        path = self.place / "site" / "broken.html"
        path.write_text((self.place / "site" / "index.html").read_text(encoding="utf-8").replace("</body>", "<script>not.there()</script></body>"), encoding="utf-8")
        self.assertTrue(any("ReferenceError" in one for one in self.opened("broken.html", 1300)[1]))


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: there is no chromium here; cmake/packages.sh browser installs it")
        sys.exit(SKIPPED)
    skip_without_mkdocs()
    unittest.main()
